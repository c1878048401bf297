"""The estimate for people: silent without work, of the last minute only, unknown rather than wrong."""

from __future__ import annotations

from pipelines.model.actor import daemon_actor
from pipelines.model.lifecycle import ItemState
from pipelines.store import events
from pipelines.store.database import Database
from pipelines.store.progress import Progress, progress
from tests.clock import SettableClock

STATES = {ItemState.FETCHED: 6, ItemState.NORMALIZED: 4, ItemState.PROPOSED: 30, ItemState.QUARANTINED: 2}


def happened(database: Database, clock: SettableClock, action: str, count: int) -> None:
    """``count`` events, now."""

    def append(session: object) -> None:
        for _ in range(count):
            events.append(session, daemon_actor(), action, "itm_1", now=clock())  # type: ignore[arg-type]

    database.write(append)


def estimate(database: Database, clock: SettableClock, states: dict[ItemState, int]) -> Progress:
    with database.read() as session:
        return progress(session, states, clock())


def test_the_rate_is_that_of_the_last_minute(database: Database, clock: SettableClock) -> None:
    happened(database, clock, "proposed", 500)
    clock.advance(minutes=10)
    happened(database, clock, "captured", 10)
    clock.advance(seconds=15)
    happened(database, clock, "proposed", 3)
    happened(database, clock, "quarantined", 2)
    clock.advance(seconds=15)
    assert estimate(database, clock, STATES) == Progress(42, 10, 10.0, 60)


def test_without_work_nothing_is_estimated(database: Database, clock: SettableClock) -> None:
    happened(database, clock, "proposed", 5)
    assert estimate(database, clock, {ItemState.PROPOSED: 5}) == Progress(5, 0, 0.0, 0)


def test_what_nobody_can_know_is_left_open(database: Database, clock: SettableClock) -> None:
    assert estimate(database, clock, {ItemState.FETCHED: 1}) == Progress(1, 1, 0.0, None)
    happened(database, clock, "captured", 1)
    assert estimate(database, clock, {ItemState.FETCHED: 1}) == Progress(1, 1, 0.0, None)
