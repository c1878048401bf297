"""One writer, many callers: all or nothing for each, one unforked chain for all; and the schema goes only forward."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlmodel import SQLModel

from pipelines.model.errors import Broken, Conflict, Transient
from pipelines.model.identity import Ids
from pipelines.model.values import Home
from pipelines.store import events, items, moves
from pipelines.store.database import Database, open_database
from pipelines.store.engines import postgresql_engine, sqlite_engine
from pipelines.store.migrate import SchemaTooNew, known_versions, migrate, stored_version
from tests.clock import SettableClock
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
    from sqlmodel import Session

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
    from pipelines.model.errors import Refused

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
