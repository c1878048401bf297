"""Queries about credentials: tokens of devices and agents, and the owner's sessions. Secrets are never here."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from pipelines.model.actor import Actor
from pipelines.model.errors import NotFound
from pipelines.model.records import OwnerSession, Token
from pipelines.store import events

_TOUCH_EVERY: Final = timedelta(minutes=1)  # writing at every request would make reading cost a commit


def add_token(session: Session, token: Token, actor: Actor, now: datetime) -> None:
    """Adds a credential and its event."""
    session.add(token)
    session.flush()
    events.append(session, actor, "token_made", token.id, now=now, after=token.kind)


def token_by_secret(session: Session, digest: str, now: datetime) -> Token | None:
    """The token with this secret, unless it is expired or revoked."""
    found = session.exec(select(Token).where(col(Token.secret_digest) == digest)).one_or_none()
    if found is None or found.revoked_at is not None:
        return None
    return None if found.expires_at is not None and found.expires_at <= now else found


def list_tokens(session: Session) -> list[Token]:
    """All tokens, also revoked ones, newest first."""
    return list(session.exec(select(Token).order_by(col(Token.id).desc())))


def revoke_token(session: Session, token_id: str, actor: Actor, now: datetime) -> Token:
    """From the next request on it is refused. Revoking twice changes nothing. Raises ``NotFound``."""
    found = session.get(Token, token_id)
    if found is None:
        raise NotFound(f"there is no token {token_id}")
    if found.revoked_at is None:
        found.revoked_at = now
        session.add(found)
        session.flush()
        events.append(session, actor, "token_revoked", token_id, now=now)
    return found


def wants_touch(last_used_at: datetime | None, now: datetime) -> bool:
    """Whether the last use is old enough to be worth a write."""
    return last_used_at is None or now - last_used_at >= _TOUCH_EVERY


def touch_token(session: Session, token_id: str, now: datetime) -> None:
    """Notes the last use."""
    session.execute(update(Token).where(col(Token.id) == token_id).values(last_used_at=now))


def add_session(session: Session, row: OwnerSession, actor: Actor, now: datetime) -> None:
    """Adds an owner session and its event."""
    session.add(row)
    session.flush()
    events.append(session, actor, "session_opened", row.id, now=now, after=row.channel)


def session_by_secret(session: Session, digest: str, now: datetime, idle: timedelta) -> OwnerSession | None:
    """The session with this secret, unless it was closed or has been idle for longer than ``idle``."""
    found = session.exec(select(OwnerSession).where(col(OwnerSession.secret_digest) == digest)).one_or_none()
    if found is None or found.revoked_at is not None or now - found.last_used_at > idle:
        return None
    return found


def session_stands(session: Session, session_id: str, now: datetime, idle: timedelta) -> bool:
    """Whether this session was neither closed nor idle for longer than ``idle``."""
    found = session.get(OwnerSession, session_id)
    return found is not None and found.revoked_at is None and now - found.last_used_at <= idle


def touch_session(session: Session, session_id: str, now: datetime) -> None:
    """Notes the last use."""
    session.execute(update(OwnerSession).where(col(OwnerSession.id) == session_id).values(last_used_at=now))


def revoke_session(session: Session, session_id: str, actor: Actor, now: datetime) -> None:
    """From the next request on it is refused."""
    session.execute(update(OwnerSession).where(col(OwnerSession.id) == session_id).values(revoked_at=now))
    events.append(session, actor, "session_closed", session_id, now=now)


def forget_idle_sessions(session: Session, before: datetime) -> int:
    """Deletes sessions that were last used before ``before``; answers how many."""
    outcome = session.execute(delete(OwnerSession).where(col(OwnerSession.last_used_at) < before))
    return int(getattr(outcome, "rowcount", 0))
