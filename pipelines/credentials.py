"""Tokens of devices and agents: made, listed and revoked by the owner. Never sees a secret, only its digest."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Final

from sqlmodel import Session

from pipelines.model.actor import Actor, ActorKind, Capability
from pipelines.model.errors import Duplicate, Invalid
from pipelines.model.records import Token
from pipelines.premises import Premises
from pipelines.store import tokens

TOKEN_KINDS: Final = frozenset({ActorKind.CLIENT, ActorKind.AGENT})
_RESERVED: Final = frozenset({"owner", "socket", "narthexd"})  # who acts without a token


def make_token(
    p: Premises,
    *,
    name: str,
    kind: ActorKind,
    capabilities: Collection[Capability],
    scope: str,
    lifetime: timedelta | None,
    secret_digest: str,
    owner: Actor,
) -> Token:
    """A new token.

    Raises ``Invalid`` for the owner's or the daemon's kind (a token never approves), for no capability and for an
    undeclared scope; ``Duplicate`` for a name that was used before, because the name is how its work is told apart.
    """
    _check(p, name, kind, capabilities, scope)
    now = p.clock()
    token = Token(
        id=p.ids.new("tok"),
        name=name,
        secret_digest=secret_digest,
        kind=kind,
        capabilities=sorted(capabilities),
        scope=scope,
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
    )

    def add(session: Session) -> None:
        if any(other.name == name for other in tokens.list_tokens(session)):
            raise Duplicate(f"there is or was a token called '{name}'", hint="choose another name")
        tokens.add_token(session, token, owner, now)

    p.database.write(add)
    return token


def _check(p: Premises, name: str, kind: ActorKind, capabilities: Collection[Capability], scope: str) -> None:
    if kind not in TOKEN_KINDS:
        raise Invalid(f"a token cannot be of kind '{kind}': only an owner session has the owner's powers")
    if not capabilities:
        raise Invalid("a token needs at least one capability")
    if scope not in p.policy.scopes:
        raise Invalid(f"there is no scope '{scope}'; declared are {', '.join(p.policy.scopes)}")
    if name in _RESERVED:
        raise Invalid(f"the name '{name}' is taken by narthex itself")


def list_tokens(p: Premises) -> list[Token]:
    """All of them, revoked ones too, newest first."""
    with p.database.read() as session:
        return tokens.list_tokens(session)


def revoke_token(p: Premises, token_id: str, owner: Actor) -> None:
    """From the next request on it is refused; revoking twice changes nothing. Raises ``NotFound``."""
    now = p.clock()
    p.database.write(lambda session: tokens.revoke_token(session, token_id, owner, now))
