"""The chain of events finds every change made behind its back, and is written with what it tells or not at all."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlmodel import Session

from pipelines.model.errors import Broken
from pipelines.model.identity import Ids
from pipelines.model.plan import digest_fields
from pipelines.store import events, items, moves
from pipelines.store.database import Database
from tests.clock import SettableClock
from tests.pipelines.rows import DAEMON, an_item

COUNT = 12
COLUMNS = ["actor_kind", "actor_name", "channel", "subject", "action", "after", "reason", "request_id", "hash"]


@pytest.fixture
def chained(database: Database, ids: Ids, clock: SettableClock) -> Database:
    """A store with a dozen events whose guards against change are taken away."""
    for _ in range(COUNT):
        item = an_item(ids, clock.advance(seconds=1))
        database.write(lambda session, item=item: moves.create_item(session, item, DAEMON, clock()))  # type: ignore[misc]
    with database.read() as session:
        assert events.verify_chain(session).seq == COUNT
    if database.dialect == "sqlite":
        run(database, "DROP TRIGGER event_no_update", "DROP TRIGGER event_no_delete")
    else:
        run(database, "DROP TRIGGER event_no_change ON event")
    return database


def run(database: Database, *statements: str) -> None:
    """Raw SQL, as a forger writes it."""

    def execute(session: Session) -> None:
        for statement in statements:
            session.execute(text(statement))

    database.write(execute)


def problem(database: Database) -> str:
    """What verification says."""
    with database.read() as session:
        return events.verify_chain(session).problem


def test_an_altered_event_is_named(chained: Database) -> None:  # F-045, S-069
    for seq in (1, 7, COUNT):
        for column in COLUMNS:
            forged = {"actor_kind": "owner", "channel": "page"}.get(column, "forged")
            with chained.read() as session:
                true = session.execute(text(f"SELECT {column} FROM event WHERE seq = {seq}")).scalar_one()
            run(chained, f"UPDATE event SET {column} = '{forged}' WHERE seq = {seq}")
            assert problem(chained) == f"event {seq} was altered", (column, seq)
            run(chained, f"UPDATE event SET {column} = '{true}' WHERE seq = {seq}")
    assert problem(chained) == ""


@pytest.mark.parametrize(
    ("forgery", "found"),
    [
        (["DELETE FROM event WHERE seq = 5"], "event 5 is missing"),
        (["DELETE FROM event WHERE seq = 1"], "event 1 is missing"),
        ([f"DELETE FROM event WHERE seq = {COUNT}"], f"the head names event {COUNT}, the chain ends at {COUNT - 1}"),
        (
            [
                "UPDATE event SET seq = 100 WHERE seq = 3",
                "UPDATE event SET seq = 3 WHERE seq = 4",
                "UPDATE event SET seq = 4 WHERE seq = 100",
            ],
            "event 3 was altered",
        ),
        (["UPDATE event SET at = (SELECT at FROM event WHERE seq = 2) WHERE seq = 6"], "event 6 was altered"),
    ],
)
def test_a_missing_moved_or_cut_event_is_named(chained: Database, forgery: list[str], found: str) -> None:  # S-069
    run(chained, *forgery)
    assert problem(chained) == found


def test_concatenation_twins_hash_differently() -> None:  # S-069
    assert digest_fields(b"d", ("ab", "c")) != digest_fields(b"d", ("a", "bc"))
    assert digest_fields(b"d", (None,)) != digest_fields(b"d", ("",))
    assert digest_fields(b"d", ()) != digest_fields(b"d", ("",))


@pytest.mark.parametrize("statement", ["UPDATE event SET reason = 'x'", "DELETE FROM event"])
def test_events_are_append_only(database: Database, ids: Ids, clock: SettableClock, statement: str) -> None:
    item = an_item(ids, clock())
    database.write(lambda session: moves.create_item(session, item, DAEMON, clock()))
    with pytest.raises(Broken, match="append-only"):
        run(database, statement)
    assert problem(database) == ""


def test_a_failure_after_the_move_leaves_neither_row_nor_event(
    database: Database, ids: Ids, clock: SettableClock
) -> None:  # F-045, L-045
    item = an_item(ids, clock())

    def fail(session: Session) -> None:
        moves.create_item(session, item, DAEMON, clock())
        raise RuntimeError("the power goes here")

    with pytest.raises(RuntimeError):
        database.write(fail)
    with database.read() as session:
        assert items.count_items(session) == {}
        assert events.verify_chain(session).seq == 0


def test_a_failure_while_sealing_leaves_neither_row_nor_event(
    database: Database, ids: Ids, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_hash(told: object) -> str:
        raise RuntimeError("hashing fails")

    item = an_item(ids, clock())
    with monkeypatch.context() as patched:
        patched.setattr(events, "_hash_of", broken_hash)
        with pytest.raises(RuntimeError):
            database.write(lambda session: moves.create_item(session, item, DAEMON, clock()))
    with database.read() as session:
        assert items.count_items(session) == {}
        assert events.verify_chain(session).seq == 0
