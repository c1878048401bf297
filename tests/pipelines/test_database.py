"""One writer, many callers: all or nothing for each, one unforked chain for all; and the schema goes only forward."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import inspect, text
from sqlmodel import Session, SQLModel

from pipelines.model.errors import Broken, Conflict, Invalid, NarthexError, Refused, StorageFull, Transient
from pipelines.model.identity import Ids
from pipelines.model.values import Home
from pipelines.store import events, items, moves
from pipelines.store.database import Database, open_database
from pipelines.store.engines import postgresql_engine, sqlite_engine
from pipelines.store.migrate import SchemaTooNew, known_versions, migrate, stored_version
from tests.clock import SettableClock
from tests.need import need
from tests.pipelines.rows import DAEMON, an_item

THREADS, EACH = 8, 25


def test_concurrent_writers_make_one_unforked_chain(database: Database, ids: Ids, clock: SettableClock) -> None:
    def capture_many() -> None:
        for _ in range(EACH):
            item = an_item(ids, clock())
            database.write(lambda session, item=item: moves.create_item(session, item, DAEMON, clock()))  # type: ignore[misc]

    threads = [threading.Thread(target=capture_many) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as session:
        check = events.verify_chain(session)
        assert (check.ok, check.seq) == (True, THREADS * EACH)
        assert sum(items.count_items(session).values()) == THREADS * EACH


def test_one_failing_caller_does_not_disturb_the_others(database: Database, ids: Ids, clock: SettableClock) -> None:
    failures: list[Exception] = []

    def work(number: int) -> None:
        item = an_item(ids, clock())
        try:
            if number % 3 == 0:
                item.source_key = "the same"
            database.write(lambda session: moves.create_item(session, item, DAEMON, clock()))
        except Conflict as conflict:
            failures.append(conflict)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failures) == 9  # ten want the same key, one gets it
    with database.read() as session:
        assert sum(items.count_items(session).values()) == 21
        assert events.verify_chain(session).seq == 21


def test_a_reading_session_cannot_write(database: Database) -> None:
    with pytest.raises(Broken), database.read() as session:  # the database itself refuses
        session.execute(text("UPDATE chain_head SET seq = 7"))


def test_a_closed_database_refuses_writes(home: Home) -> None:
    database = open_database(home.database)
    database.close()
    with pytest.raises(Transient):
        database.write(lambda session: None)


def test_a_commit_that_fails_fails_its_callers_and_says_so(
    home: Home, ids: Ids, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Exception] = []
    database = open_database(home.database, on_broken=told.append)
    item = an_item(ids, clock())

    def no_commit(session: Session) -> None:
        raise OSError("fsync failed")

    with monkeypatch.context() as patched:
        patched.setattr(Session, "commit", no_commit)
        with pytest.raises(Broken):
            database.write(lambda session: moves.create_item(session, item, DAEMON, clock()))
    assert len(told) == 1
    with database.read() as session:
        assert items.count_items(session) == {}
    database.close()


def test_the_migrated_schema_is_the_declared_one(location: Path | str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    engine = (sqlite_engine(location) if isinstance(location, Path) else postgresql_engine(location))[0]
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, SQLModel.metadata) == []
    assert stored_version(engine) == known_versions()[-1]
    engine.dispose()


def test_a_newer_schema_is_refused(location: Path | str) -> None:
    open_database(location).close()
    engine = (sqlite_engine(location) if isinstance(location, Path) else postgresql_engine(location))[0]
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(SchemaTooNew, match="9999"):
        open_database(location)


def test_only_postgresql_addresses_are_taken() -> None:
    with pytest.raises(Refused, match="mysql"):
        open_database("mysql://localhost/x")


def test_sqlite_is_new_enough_and_durable(home: Home) -> None:
    database = open_database(home.database)
    with database.read() as session:
        assert session.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert session.execute(text("SELECT sqlite_version()")).scalar_one() >= "3.51.3"
    modes = database.write(lambda session: session.execute(text("PRAGMA synchronous")).scalar())
    assert modes == 2  # FULL
    database.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Six mebibytes of disk, which the test may fill."""
    need("root")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(tmp_path)], check=True)
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_full_disk_fails_everybody_who_was_not_committed(small_disk: Path, ids: Ids, clock: SettableClock) -> None:
    database = open_database(small_disk / "state.db")  # S-066: SQLite gives up the whole transaction, not a savepoint
    acknowledged: list[str] = []
    refused: list[Exception] = []

    def capture(size: int) -> None:
        item = an_item(ids, clock())
        item.note = "x" * size
        try:
            database.write(lambda session: moves.create_item(session, item, DAEMON, clock()))
            acknowledged.append(item.id)
        except NarthexError as error:
            refused.append(error)

    for size in [1000, *[400_000] * 24]:
        threads = [threading.Thread(target=capture, args=(amount,)) for amount in (100, size, 100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert refused
    assert {type(error) for error in refused} == {StorageFull}
    with database.read() as session:
        assert events.verify_chain(session).ok
        assert set(acknowledged) == {
            row.id for row in items.list_items(session, state=None, limit=200, cursor=None).rows
        }
    database.close()


def test_after_a_failed_commit_nothing_is_acknowledged(
    home: Home, ids: Ids, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:  # S-065
    database = open_database(home.database)

    def no_commit(session: Session) -> None:
        raise OSError("fsync failed")

    with monkeypatch.context() as patched:
        patched.setattr(Session, "commit", no_commit)
        with pytest.raises(Broken):
            database.write(lambda session: None)
    with pytest.raises(Broken, match="fsync failed"):
        database.write(lambda session: None)
    database.close()


def test_verifying_under_writers_sees_one_snapshot(database: Database, ids: Ids, clock: SettableClock) -> None:
    stop = threading.Event()

    def write_on() -> None:
        while not stop.is_set():
            item = an_item(ids, clock())
            database.write(lambda session, item=item: moves.create_item(session, item, DAEMON, clock()))  # type: ignore[misc]

    threads = [threading.Thread(target=write_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(25):
            with database.read() as session:
                check = events.verify_chain(session)
            assert check.ok, check.problem
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_content_that_postgresql_cannot_store_is_refused_not_broken(
    database: Database, ids: Ids, clock: SettableClock
) -> None:
    item = an_item(ids, clock())
    item.note = "a\0b"
    if database.dialect == "sqlite":
        database.write(lambda session: moves.create_item(session, item, DAEMON, clock()))
        return
    with pytest.raises(Invalid):
        database.write(lambda session: moves.create_item(session, item, DAEMON, clock()))


@pytest.mark.parametrize("table", ["decision", "memory_revision"])
def test_the_owner_alone_stands_behind_decisions_and_revisions(database: Database, table: str) -> None:  # F-031
    columns = {"decision": "actor_kind", "memory_revision": "approved_by"}[table]
    with database.read() as session:
        checks = inspect(session.connection()).get_check_constraints(table)
    assert any(columns in str(check["sqltext"]) and "owner" in str(check["sqltext"]) for check in checks)
