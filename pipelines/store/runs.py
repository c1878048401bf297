"""Queries about scheduled runs: the primary key (job, slot) decides who does the work, once."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from pipelines.model.records import ScheduledRun


def begin_run(session: Session, job: str, slot: str, now: datetime) -> bool:
    """Claims the slot for the caller; False when it was run or is being run already."""
    if session.get(ScheduledRun, (job, slot), with_for_update=True) is not None:
        return False
    session.add(ScheduledRun(job=job, slot=slot, started_at=now))
    session.flush()
    return True


def finish_run(session: Session, job: str, slot: str, now: datetime, problem: str = "") -> None:
    """Notes the end and, for a person, what went wrong."""
    statement = update(ScheduledRun).where(col(ScheduledRun.job) == job, col(ScheduledRun.slot) == slot)
    session.execute(statement.values(finished_at=now, problem=problem))


def forget_unfinished(session: Session) -> int:
    """Frees the slots of runs that a crash cut off, so that they are caught up; answers how many.

    Only for a process that is alone on its database: elsewhere the run may still be going on.
    """
    outcome = session.execute(delete(ScheduledRun).where(col(ScheduledRun.finished_at).is_(None)))
    return int(getattr(outcome, "rowcount", 0))


def forget_old(session: Session, before: datetime) -> int:
    """Deletes runs that began before ``before``; answers how many."""
    outcome = session.execute(delete(ScheduledRun).where(col(ScheduledRun.started_at) < before))
    return int(getattr(outcome, "rowcount", 0))


def list_runs(session: Session, limit: int = 20) -> list[ScheduledRun]:
    """The latest runs, newest first."""
    return list(session.exec(select(ScheduledRun).order_by(col(ScheduledRun.started_at).desc()).limit(limit)))
