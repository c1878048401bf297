"""Scheduled care of the store itself: old answers and sessions go, leftovers are swept, the chain is witnessed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlmodel import Session

from pipelines import originals
from pipelines.model.errors import Broken
from pipelines.premises import Premises
from pipelines.store import answers, events, items, runs, tokens

_RUNS_KEPT: Final = timedelta(days=90)
_GRACE: Final = timedelta(days=1)  # a capture that is under way has bytes and no row yet


@dataclass(frozen=True, slots=True)
class SweepReport:
    """How many rows and files went."""

    answers: int
    sessions: int
    originals: int


def witness(p: Premises) -> tuple[int, str]:
    """Number and hash of the last event, to be written down where the database cannot be reached (the system's log).

    Raises ``Broken`` when the chain does not verify.
    """
    with p.database.read() as session:
        check = events.verify_chain(session)
    if not check.ok:
        raise Broken(f"the event chain is damaged: {check.problem}", hint="restore the last backup that verifies")
    return check.seq, check.head


def sweep(p: Premises) -> SweepReport:
    """Removes what nothing refers to any more; running it twice changes nothing."""
    now = p.clock()

    def rows(session: Session) -> tuple[int, int]:
        runs.forget_old(session, now - _RUNS_KEPT)
        return answers.forget_old(session, now), tokens.forget_idle_sessions(session, now - p.policy.session_idle)

    forgotten, sessions = p.database.write(rows)
    with p.database.read() as session:
        used = items.used_originals(session)
    swept = originals.sweep(p.home.originals, used, (now - _GRACE).timestamp())
    return SweepReport(forgotten, sessions, swept)
