"""The declared table: which power each operation needs, and who holds that power. Knows no request and no path.

A route without a row here stops the start-up. Four independent locks keep everyone but the owner from approving; this
table is the first that a request meets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from api.ports import Listener
from pipelines.model.actor import Actor, ActorKind, Capability, Channel
from pipelines.model.errors import NotPermitted, Unauthenticated


class Power(StrEnum):
    """What an operation asks of its caller."""

    OPEN = "open"
    """Anyone at either door."""
    KNOWN = "known"
    """Any valid credential."""
    LOCAL = "local"
    """Only over the Unix socket, there without a credential."""
    CAPTURE = "capture"
    """The capability, or the Unix socket without a credential."""
    OWN_ITEM = "own item"
    """The owner, or the capturing token for what it captured itself."""
    READ = "read"
    PROPOSE = "propose"
    OWN_PROPOSAL = "own proposal"
    """The owner, or the proposing token for what it submitted itself."""
    OBSERVE = "observe"
    """Anyone at the Unix socket, the owner elsewhere."""
    OWNER = "owner"
    """An owner session. No token is one."""
    PAGE = "page"
    """An owner session, asked for by a page: without one the answer is the way to the login."""


TABLE: Final = MappingProxyType(
    {
        "check_alive": Power.OPEN,
        "check_ready": Power.OPEN,
        "read_metrics": Power.OBSERVE,
        "read_openapi": Power.KNOWN,
        "open_session": Power.OPEN,
        "announce_code": Power.LOCAL,
        "make_login_link": Power.OWNER,
        "close_session": Power.OWNER,
        "capture_item": Power.CAPTURE,
        "capture_file": Power.CAPTURE,
        "list_items": Power.OWNER,
        "show_item": Power.OWN_ITEM,
        "read_item_text": Power.OWNER,
        "read_item_original": Power.OWNER,
        "release_item": Power.OWNER,
        "discard_item": Power.OWNER,
        "submit_proposal": Power.PROPOSE,
        "list_proposals": Power.OWN_PROPOSAL,
        "show_proposal": Power.OWN_PROPOSAL,
        "decide_proposal": Power.OWNER,
        "withdraw_proposal": Power.OWN_PROPOSAL,
        "list_decisions": Power.OWNER,
        "show_decision": Power.OWNER,
        "list_memories": Power.READ,
        "show_memory": Power.READ,
        "list_revisions": Power.READ,
        "search_memories": Power.READ,
        "show_status": Power.READ,
        "follow_events": Power.OWNER,
        "list_settings": Power.OWNER,
        "list_tokens": Power.OWNER,
        "make_token": Power.OWNER,
        "revoke_token": Power.OWNER,
        "report_refused_approval": Power.LOCAL,
        "open_start": Power.OPEN,
        "open_login": Power.OPEN,
        "enter_code": Power.OPEN,
        "read_style": Power.OPEN,
        "read_script": Power.OPEN,
        "read_icon": Power.OPEN,
        "leave_session": Power.PAGE,
        "open_review": Power.PAGE,
        "open_proposal": Power.PAGE,
        "approve_on_page": Power.PAGE,
        "reject_on_page": Power.PAGE,
        "open_inbox": Power.PAGE,
        "release_on_page": Power.PAGE,
        "discard_on_page": Power.PAGE,
    }
)

_CAPABILITY: Final = MappingProxyType(
    {
        Power.CAPTURE: Capability.CAPTURE,
        Power.OWN_ITEM: Capability.CAPTURE,
        Power.READ: Capability.READ,
        Power.PROPOSE: Capability.PROPOSE,
        Power.OWN_PROPOSAL: Capability.PROPOSE,
    }
)
_NO_TOKEN_EVER: Final = frozenset({Power.OWNER, Power.PAGE, Power.OBSERVE})
_SOCKET_WITHOUT: Final = frozenset({Power.LOCAL, Power.CAPTURE, Power.OBSERVE})

LOCAL_NAME: Final = "socket"
"""Actor name of a caller without a credential at the Unix socket: same user, nothing more is known."""


_WHO_MAY: Final = {
    True: "no token can have it: the owner does this, after 'narthex login' or on the review page",
    False: "the owner can make a token that has it: 'narthex token new'",
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as the credential says; ``actor`` None means that no credential was sent.

    ``csrf_digest`` is set when the credential came by cookie: such a caller must prove that our page sent it.
    ``csrf`` is what our page shows back.
    """

    listener: Listener
    actor: Actor | None = None
    capabilities: frozenset[Capability] = frozenset()
    session_id: str | None = None
    csrf_digest: str | None = None
    csrf: str = field(default="", repr=False)


def authorise(operation: str, caller: Caller, local_scope: str, request_id: str) -> Actor | None:
    """The actor that the operation runs as; None where nobody in particular acts.

    Raises ``Unauthenticated`` when a credential is missing and ``NotPermitted`` when it lacks the power.
    """
    power = TABLE[operation]
    if power is Power.OPEN:
        return caller.actor
    if caller.actor is None:
        if power in _SOCKET_WITHOUT and caller.listener is Listener.SOCKET:
            return Actor(ActorKind.CLIENT, LOCAL_NAME, Channel.CLI, local_scope, request_id)
        raise Unauthenticated(
            "this needs a credential",
            hint="run 'narthex login'; a program sends its token as 'Authorization: Bearer …'",
        )
    if not _holds(power, caller, caller.actor):
        raise NotPermitted(
            f"'{caller.actor.name}' may not do this: it needs the power '{power}'",
            hint=_WHO_MAY[power in _NO_TOKEN_EVER],
        )
    return caller.actor


def _holds(power: Power, caller: Caller, actor: Actor) -> bool:
    if power is Power.KNOWN:
        return True
    if power is Power.LOCAL or (power is Power.OBSERVE and caller.listener is Listener.SOCKET):
        return caller.listener is Listener.SOCKET
    if actor.is_owner and caller.session_id is not None:
        return True
    return power not in _NO_TOKEN_EVER and _CAPABILITY[power] in caller.capabilities
