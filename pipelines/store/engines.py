"""Engines for the two databases, with the settings that durability rests on; runs no statement of a noun."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Engine, create_engine, event, make_url

from pipelines.model.errors import Broken, Refused

_SQLITE_FLOOR: Final = (3, 51, 3)  # below it two connections can corrupt a WAL (reset race, fixed March 2026)
_BUSY_MILLISECONDS: Final = 20_000


def sqlite_engine(path: Path) -> tuple[Engine, Engine]:
    """A writing engine with one connection that alone checkpoints, and a reading one that cannot write."""
    import pysqlite3.dbapi2 as driver

    if driver.sqlite_version_info < _SQLITE_FLOOR:
        raise Broken(
            f"SQLite {driver.sqlite_version} can corrupt a WAL database", hint="install pysqlite3 0.6 or newer"
        )
    url = URL.create("sqlite", database=str(path))
    writer = create_engine(url, module=driver, pool_size=1, max_overflow=0, connect_args={"check_same_thread": False})
    reader = create_engine(url, module=driver, pool_size=8, max_overflow=32, connect_args={"check_same_thread": False})
    _prepare(writer, "BEGIN IMMEDIATE", ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"))
    _prepare(reader, "BEGIN", ("query_only=ON", "wal_autocheckpoint=0"))
    return writer, reader


def _prepare(engine: Engine, begin: str, pragmas: tuple[str, ...]) -> None:
    def configure(connection: Any, record: object) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves: the driver's own comes too late to lock
        cursor = connection.cursor()
        for pragma in (f"busy_timeout={_BUSY_MILLISECONDS}", "foreign_keys=ON", *pragmas):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    event.listen(engine, "connect", configure)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))


def postgresql_engine(address: str) -> tuple[Engine, Engine]:
    """One pool for writing, one whose transactions are read-only; commits wait for the disk whatever the role says."""
    url = make_url(address)
    if url.get_backend_name() != "postgresql":
        raise Refused(f"database_url must be a postgresql:// address, not {url.get_backend_name()}://")
    url = url.set(drivername="postgresql+psycopg")
    writer = create_engine(url, pool_pre_ping=True)
    reader = create_engine(url, pool_pre_ping=True, isolation_level="REPEATABLE READ")  # one snapshot a session
    _set_on_connect(writer, "SET synchronous_commit = on")
    _set_on_connect(reader, "SET default_transaction_read_only = on")
    return writer, reader


def _set_on_connect(engine: Engine, statement: str) -> None:
    def configure(connection: Any, record: object) -> None:
        connection.execute(statement)
        connection.commit()

    event.listen(engine, "connect", configure)
