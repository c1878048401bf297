"""Queries about first answers to requests with an Idempotency-Key."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import delete
from sqlmodel import Session, col

from pipelines.model.errors import Invalid
from pipelines.model.records import IdempotentAnswer

_KEPT: Final = timedelta(days=30)


def recall(session: Session, actor_name: str, key: str, request_digest: str, now: datetime) -> IdempotentAnswer | None:
    """The first answer to this key; raises ``Invalid`` when the key was used for another request."""
    found = session.get(IdempotentAnswer, (actor_name, key))
    if found is None or now - found.answered_at > _KEPT:
        return None
    if found.request_digest != request_digest:
        raise Invalid("this Idempotency-Key was used for another request", hint="make a new key for a new request")
    return found


def keep(
    session: Session, actor_name: str, key: str, request_digest: str, status: int, body: dict[str, Any], now: datetime
) -> None:
    """Remembers the first answer for thirty days."""
    session.merge(
        IdempotentAnswer(
            actor_name=actor_name, key=key, request_digest=request_digest, status=status, body=body, answered_at=now
        )
    )
    session.flush()


def forget_old(session: Session, now: datetime) -> int:
    """Deletes answers past their thirty days; answers how many."""
    outcome = session.execute(delete(IdempotentAnswer).where(col(IdempotentAnswer.answered_at) < now - _KEPT))
    return int(getattr(outcome, "rowcount", 0))
