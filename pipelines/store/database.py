"""One narthex's database: a single writer with group commit on SQLite, plain transactions on PostgreSQL.

Opens, commits and classifies database errors; contains no query of a noun.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session

from pipelines.model.errors import Broken, NarthexError, Transient
from pipelines.store import events
from pipelines.store.engines import postgresql_engine, sqlite_engine
from pipelines.store.faults import RETRYABLE, classified
from pipelines.store.migrate import migrate

Answer = TypeVar("Answer")
Work = Callable[[Session], Answer]
_Order = tuple[Callable[[Session], object], Future[object]]

_BATCH: Final = 256  # callers that may share one fsync; more would let the first wait too long for the last
_POSTGRESQL_TRIES: Final = 5


class Database:
    """``write`` and ``read`` are the only ways in. Safe to share between threads."""

    def __init__(self, writer: Engine, reader: Engine, on_broken: Callable[[Exception], None] | None) -> None:
        self.dialect: str = writer.dialect.name
        self._writer = writer
        self._reader = reader
        self._on_broken = on_broken
        self._queue: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._refusal: NarthexError | None = None
        self._door = threading.Lock()
        self.commits = 0
        """Counts the commits of this process: who waits for news compares it, and asks the database only then."""
        if self.dialect == "sqlite":
            self._thread = threading.Thread(target=self._write_batches, name="writer", daemon=True)
            self._thread.start()

    def write(self, work: Work[Answer]) -> Answer:
        """Runs ``work`` in a transaction and returns after COMMIT has reached the disk.

        Whatever ``work`` raises is raised here and leaves nothing behind. Its events are sealed into the chain in the
        same transaction. Rows that it returns are detached and stay readable. Never call it from within ``work``.
        """
        future: Future[Answer] = Future()
        with self._door:  # nothing is put behind the order to stop
            if self._refusal is not None:
                raise self._refusal
            if self._thread is not None:
                self._queue.put((work, future))  # type: ignore[arg-type]
        return self._write_alone(work) if self._thread is None else future.result()

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that cannot write; everything read in it is one consistent snapshot."""
        with Session(self._reader, expire_on_commit=False) as session:
            try:
                yield session
            except DBAPIError as error:
                raise classified(error) from error

    def halt(self, error: NarthexError) -> None:
        """Refuses every further write with ``error``: after a failed fsync or COMMIT nothing may be acknowledged."""
        with self._door:
            self._refusal = self._refusal or error

    @property
    def waiting(self) -> int:
        """How many writes wait for the one writer; 0 where every caller writes by itself."""
        return self._queue.qsize()

    def close(self) -> None:
        """Finishes what is queued, then closes every connection. Further writes raise ``Transient``."""
        self.halt(Transient("the database is closed: narthex is stopping"))
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        self._writer.dispose()
        self._reader.dispose()

    def _write_batches(self) -> None:
        while (first := self._queue.get()) is not None:
            batch = [first]
            stop = False
            while len(batch) < _BATCH and not self._queue.empty():
                if (more := self._queue.get()) is None:
                    stop = True
                    break
                batch.append(more)
            if isinstance(self._refusal, Broken):
                _fail(batch, self._refusal)
            else:
                self._write_batch(batch)
            if stop:
                return

    def _write_batch(self, batch: list[_Order]) -> None:
        done: list[tuple[Future[object], object]] = []
        try:
            with Session(self._writer, expire_on_commit=False) as session:
                for work, future in batch:
                    try:
                        done.append((future, _in_savepoint(session, work)))
                    except _TransactionLost:
                        raise
                    except DBAPIError as error:
                        future.set_exception(classified(error))
                    except Exception as error:  # noqa: BLE001 - carried to the caller that waits
                        future.set_exception(error)
                session.commit()
            self.commits += 1
        except Exception as error:  # noqa: BLE001 - carried to every caller of the batch
            cause = error.__cause__ if isinstance(error, _TransactionLost) else error
            raised = classified(cause) if isinstance(cause, DBAPIError) else Broken(f"a commit failed: {cause}")
            if isinstance(raised, Broken):
                self.halt(raised)
                if self._on_broken is not None:
                    self._on_broken(raised)
            _fail(batch, raised)
            return
        for future, answer in done:
            future.set_result(answer)

    def _write_alone(self, work: Work[Answer]) -> Answer:
        for attempt in range(_POSTGRESQL_TRIES):
            try:
                with Session(self._writer, expire_on_commit=False) as session:
                    answer = work(session)
                    events.seal(session)
                    session.commit()
                    self.commits += 1
                    return answer
            except DBAPIError as error:
                retryable = getattr(error.orig, "sqlstate", None) in RETRYABLE
                if not retryable or attempt == _POSTGRESQL_TRIES - 1:
                    raise classified(error) from error
        raise Transient("the database stayed busy")


def open_database(location: Path | str, on_broken: Callable[[Exception], None] | None = None) -> Database:
    """Opens and migrates: a ``Path`` is SQLite, a text a PostgreSQL URL.

    ``on_broken`` is told when a commit failed for a reason that a retry cannot mend. Raises ``SchemaTooNew`` when a
    newer narthex wrote the database, and ``Transient`` when it cannot be reached.
    """
    writer, reader = sqlite_engine(location) if isinstance(location, Path) else postgresql_engine(location)
    try:
        migrate(writer)
    except BaseException as error:
        writer.dispose()
        reader.dispose()
        if isinstance(error, DBAPIError):
            raise classified(error) from error
        raise
    return Database(writer, reader, on_broken)


class _TransactionLost(Exception):
    """SQLite gave the whole transaction up (a full disk, an I/O error): nobody of the batch has written anything."""


def _fail(batch: list[_Order], error: NarthexError) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)


def _in_savepoint(session: Session, work: Work[object]) -> object:
    connection = session.connection().connection.dbapi_connection
    first: BaseException | None = None
    try:
        with session.begin_nested():
            try:
                answer = work(session)
                events.seal(session)
                session.flush()
            except BaseException as error:
                first = error  # the way out of the block may fail as well, and would hide it
                raise
    except BaseException:
        events.forget(session)
        session.expunge_all()
        if not getattr(connection, "in_transaction", True):  # the savepoint went with the whole transaction
            raise _TransactionLost from first
        raise
    session.expunge_all()  # the next caller must not see this one's objects
    return answer
