"""Credentials: makes, recognises and ends tokens and owner sessions. Stores digests of secrets, never a secret."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from starlette.datastructures import Headers

from api.access import Caller
from api.codes import RandomBytes
from api.ports import Listener
from api.tries import Tries
from pipelines import credentials
from pipelines.model.actor import Actor, ActorKind, Capability, Channel
from pipelines.model.errors import Busy, Transient, Unauthenticated
from pipelines.model.records import OwnerSession, Token
from pipelines.premises import Premises
from pipelines.store import tokens

OWNER_NAME: Final = "owner"
_TOKEN: Final = "nx_"
_SESSION: Final = "nxs_"
_SECRET_BYTES: Final = 32
_WRONG_A_MINUTE: Final = 120  # at one door; 256 bits are not guessed, but each guess costs a look into the database
_BEARER: Final = re.compile(r"[Bb]earer (nxs?_[A-Za-z0-9_-]{43})", re.ASCII)
_COOKIE_PAIR: Final = re.compile(r"(?:^|;)[ \t]*([^;=\s]+)=([^;]*)")


class Credentials:
    """Everything about who a caller is. The actor comes from the credential alone, never from a payload."""

    def __init__(self, premises: Premises, random: RandomBytes) -> None:
        self._premises = premises
        self._random = random
        self._tries = Tries(premises.clock, _WRONG_A_MINUTE)

    def recognise(self, headers: Headers, listener: Listener, *, cookie: str | None, request_id: str) -> Caller:
        """Who sends these headers; ``cookie`` names the one that counts, None where the host is not one it lives on.

        Raises ``Unauthenticated`` for a bearer that is malformed, unknown, expired, revoked, sent twice or of another
        home, and ``Busy`` instead where too many of those came in lately. A cookie that is no longer good counts as
        none: the page then shows the login.
        """
        sent = headers.getlist("authorization")
        if len(sent) > 1:
            raise Unauthenticated("two Authorization headers were sent")
        if sent:
            bearer = _BEARER.fullmatch(sent[0])
            caller = None if bearer is None else self._caller(bearer[1], listener, request_id, by_cookie=False)
            if caller is None:
                self._check_tries(listener)
                raise Unauthenticated(
                    "this credential is not valid here", hint="it may be expired, revoked, or of another home"
                )
            return caller
        pairs = _COOKIE_PAIR.findall("; ".join(headers.getlist("cookie")))
        secrets = [value for name, value in pairs if name == cookie]
        if len(secrets) == 1 and _BEARER.fullmatch(f"Bearer {secrets[0]}") and secrets[0].startswith(_SESSION):
            return self._caller(secrets[0], listener, request_id, by_cookie=True) or Caller(listener)
        return Caller(listener)

    def make_token(
        self,
        *,
        name: str,
        kind: ActorKind,
        capabilities: Collection[Capability],
        scope: str,
        lifetime: timedelta | None,
        owner: Actor,
    ) -> tuple[Token, str]:
        """A new token and its secret, which is nowhere afterwards. Raises like ``credentials.make_token``."""
        secret = self._secret(_TOKEN)
        token = credentials.make_token(
            self._premises,
            name=name,
            kind=kind,
            capabilities=capabilities,
            scope=scope,
            lifetime=lifetime,
            secret_digest=digest_secret(secret),
            owner=owner,
        )
        return token, secret

    def open_session(self, channel: Channel, request_id: str) -> tuple[str, datetime]:
        """A new owner session: its secret, and until when it is good unused. Call after a code was redeemed."""
        now = self._premises.clock()
        secret = self._secret(_SESSION)
        row = OwnerSession(
            id=self._premises.ids.new("ses"),
            secret_digest=digest_secret(secret),
            csrf_digest=digest_secret(csrf_of(secret)),
            channel=channel,
            created_at=now,
            last_used_at=now,
        )
        owner = Actor(ActorKind.OWNER, OWNER_NAME, channel, request_id=request_id)
        self._premises.database.write(lambda session: tokens.add_session(session, row, owner, now))
        return secret, now + self._premises.policy.session_idle

    def close_session(self, session_id: str, owner: Actor) -> None:
        """From the next request on the session is refused."""
        now = self._premises.clock()
        self._premises.database.write(lambda session: tokens.revoke_session(session, session_id, owner, now))

    def _check_tries(self, listener: Listener) -> None:
        # a wrong one is counted after the lookup: whatever others try, a right one is always let in
        if self._tries.spent(listener):
            raise Busy("too many wrong credentials came in", hint="wait a minute, then send the right one")
        self._tries.failed(listener)

    def _secret(self, prefix: str) -> str:
        return prefix + _base64(self._random(_SECRET_BYTES))

    def _caller(self, secret: str, listener: Listener, request_id: str, *, by_cookie: bool) -> Caller | None:
        # the lookup compares digests, so its timing tells nothing about the secret
        if secret.startswith(_SESSION):
            return self._session_caller(secret, listener, request_id, by_cookie=by_cookie)
        now = self._premises.clock()
        with self._premises.database.read() as session:
            row = tokens.token_by_secret(session, digest_secret(secret), now)
        if row is None or row.kind not in credentials.TOKEN_KINDS:
            return None
        token = row
        if tokens.wants_touch(token.last_used_at, now):
            with suppress(Transient):  # reading goes on when the disk takes no more
                self._premises.database.write(lambda session: tokens.touch_token(session, token.id, now))
        channel = Channel.CLI if listener is Listener.SOCKET else Channel.API
        actor = Actor(token.kind, token.name, channel, token.scope, request_id)
        return Caller(listener, actor, frozenset(Capability(name) for name in token.capabilities))

    def _session_caller(self, secret: str, listener: Listener, request_id: str, *, by_cookie: bool) -> Caller | None:
        now = self._premises.clock()
        idle = self._premises.policy.session_idle
        with self._premises.database.read() as session:
            row = tokens.session_by_secret(session, digest_secret(secret), now, idle)
        if row is None:
            return None
        found = row
        if tokens.wants_touch(found.last_used_at, now):
            with suppress(Transient):
                self._premises.database.write(lambda session: tokens.touch_session(session, found.id, now))
        actor = Actor(ActorKind.OWNER, OWNER_NAME, found.channel, request_id=request_id)
        return Caller(
            listener,
            actor,
            session_id=found.id,
            csrf_digest=found.csrf_digest if by_cookie else None,
            csrf=csrf_of(secret),
        )


def cookie_name(port: int) -> str:
    """Cookies know no ports: without it in the name, signing in to one narthex would sign out of another."""
    return f"__Host-narthex-{port}"


def digest_secret(secret: str) -> str:
    """What is stored of a secret. A plain SHA-256 is enough: there are 256 random bits to guess."""
    return hashlib.sha256(secret.encode()).hexdigest()


def csrf_of(secret: str) -> str:
    """What our page sends back with each write: derived from the session secret, which another site cannot read."""
    return _base64(hashlib.sha256(b"narthex csrf 1" + secret.encode()).digest())


def csrf_matches(caller: Caller, offered: str | None) -> bool:
    """Whether a caller by cookie proved that our page sent the request; callers by bearer need no proof."""
    if caller.csrf_digest is None:
        return True
    return offered is not None and hmac.compare_digest(digest_secret(offered), caller.csrf_digest)


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
