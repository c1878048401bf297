"""The append-only chain of what happened: every line carries the hash of the one before. Never holds a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlmodel import Session, SQLModel, col, select

from pipelines.model.actor import Actor
from pipelines.model.errors import Broken
from pipelines.model.plan import digest_fields
from pipelines.model.records import ChainHead, Event

_DOMAIN: Final = b"narthex event 1"
_GENESIS: Final = "0" * 64
_HASHED: Final = (
    *("seq", "at", "actor_kind", "actor_name", "channel", "subject"),
    *("action", "before", "after", "reason", "request_id", "previous_hash"),
)
_EVENTS: Final = SQLModel.metadata.tables["event"]
_HEADS: Final = SQLModel.metadata.tables["chain_head"]
_HEAD: Final = select(_HEADS.c.seq, _HEADS.c.hash).where(_HEADS.c.id == 1).with_for_update()
_APPEND: Final = _EVENTS.insert()
_ADVANCE: Final = _HEADS.update().where(_HEADS.c.id == 1)


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """``problem`` is empty when the chain is whole; ``seq`` and ``head`` are then those of its last event."""

    ok: bool
    seq: int
    head: str
    problem: str = ""


def append(
    session: Session,
    actor: Actor,
    action: str,
    subject: str,
    *,
    now: datetime,
    before: str | None = None,
    after: str | None = None,
    reason: str = "",
) -> None:
    """Notes an event for the transaction of ``session``; it gets its number and hash when that is sealed.

    ``subject`` is an id; ``before`` and ``after`` are digests or state names.
    """
    told: dict[str, Any] = {
        "at": now,
        "actor_kind": actor.kind,
        "actor_name": actor.name,
        "channel": actor.channel,
        "subject": subject,
        "action": action,
        "before": before,
        "after": after,
        "reason": reason,
        "request_id": actor.request_id,
    }
    session.info.setdefault("events", []).append(told)


def seal(session: Session) -> None:
    """Chains the noted events; called by ``Database.write`` last, so that the head is locked as briefly as possible."""
    noted: list[dict[str, Any]] = session.info.pop("events", [])
    if not noted:
        return
    session.flush()
    connection = session.connection()  # tables, not rows: every write pays this, and the ORM costs a millisecond here
    head = connection.execute(_HEAD).one_or_none()
    if head is None:
        raise Broken("the event chain has no head row")
    seq, last = head
    for told in noted:
        seq += 1
        told |= {"seq": seq, "previous_hash": last}
        last = told["hash"] = _hash_of(told)
    connection.execute(_APPEND, noted)
    connection.execute(_ADVANCE.values(seq=seq, hash=last))


def forget(session: Session) -> None:
    """Drops noted events of a transaction that is rolled back."""
    session.info.pop("events", None)


def _hash_of(told: Mapping[str, Any]) -> str:
    """SHA-256 over all columns but the hash itself, length-prefixed under a domain tag."""
    values = {**told, "seq": str(told["seq"]), "at": told["at"].astimezone(UTC).isoformat(timespec="microseconds")}
    return digest_fields(_DOMAIN, tuple(values[name] for name in _HASHED))


def chain_head(session: Session) -> tuple[int, str]:
    """Number and hash of the last event, for a witness outside."""
    head = session.exec(select(ChainHead)).one()
    return head.seq, head.hash


def verify_chain(session: Session) -> ChainCheck:
    """Recomputes the whole chain; names the first event that is altered, missing, moved or beyond the head."""
    previous, expected = _GENESIS, 1
    with session.exec(select(Event).order_by(col(Event.seq)).execution_options(yield_per=500)) as chain:
        for event in chain:
            if event.seq != expected:
                return ChainCheck(False, expected, previous, f"event {expected} is missing")
            if event.previous_hash != previous or event.hash != _hash_of(vars(event)):
                return ChainCheck(False, expected, previous, f"event {expected} was altered")
            previous, expected = event.hash, expected + 1
    seq, head = chain_head(session)
    if (seq, head) != (expected - 1, previous):
        return ChainCheck(
            False, expected - 1, previous, f"the head names event {seq}, the chain ends at {expected - 1}"
        )
    return ChainCheck(True, seq, head)


def timeline(session: Session, subject: str) -> list[Event]:
    """Everything that happened to one thing, oldest first."""
    return list(session.exec(select(Event).where(col(Event.subject) == subject).order_by(col(Event.seq))))


def after(session: Session, seq: int, limit: int) -> list[Event]:
    """The events that follow the one numbered ``seq``, oldest first, at most ``limit``."""
    return list(session.exec(select(Event).where(col(Event.seq) > seq).order_by(col(Event.seq)).limit(limit)))


def latest(session: Session, limit: int) -> list[tuple[datetime, str]]:
    """Time and action of the last ``limit`` events, newest first."""
    query = select(Event.at, Event.action).order_by(col(Event.seq).desc()).limit(limit)
    return [(at, action) for at, action in session.exec(query)]
