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

from pipelines.model.errors import Broken, Conflict, NarthexError, StorageFull, Transient
from pipelines.store import events
from pipelines.store.engines import postgresql_engine, sqlite_engine
from pipelines.store.migrate import migrate

Answer = TypeVar("Answer")
Work = Callable[[Session], Answer]

_BATCH: Final = 256  # callers that may share one fsync; more would let the first wait too long for the last
_POSTGRESQL_TRIES: Final = 5
_RETRYABLE: Final = ("40001", "40P01")  # serialization failure, deadlock


class Database:
    """``write`` and ``read`` are the only ways in. Safe to share between threads."""

    def __init__(self, writer: Engine, reader: Engine, on_broken: Callable[[Exception], None] | None) -> None:
        self.dialect: str = writer.dialect.name
        self._writer = writer
        self._reader = reader
        self._on_broken = on_broken
        self._queue: queue.SimpleQueue[tuple[Work[object], Future[object]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        if self.dialect == "sqlite":
            self._thread = threading.Thread(target=self._write_batches, name="writer", daemon=True)
            self._thread.start()

    def write(self, work: Work[Answer]) -> Answer:
        """Runs ``work`` in a transaction and returns after COMMIT has reached the disk.

        Whatever ``work`` raises is raised here and leaves nothing behind. Its events are sealed into the chain in the
        same transaction. Rows that it returns are detached and stay readable. Never call it from within ``work``.
        """
        if self._closed:
            raise Transient("the database is closed: narthex is stopping")
        if self._thread is None:
            return self._write_alone(work)
        future: Future[Answer] = Future()
        self._queue.put((work, future))  # type: ignore[arg-type]
        return future.result()

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that cannot write; everything read in it is one consistent snapshot."""
        with Session(self._reader, expire_on_commit=False) as session:
            try:
                yield session
            except DBAPIError as error:
                raise _classified(error) from error

    def close(self) -> None:
        """Finishes what is queued, then closes every connection. Further writes raise ``Transient``."""
        self._closed = True
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
            self._write_batch(batch)
            if stop:
                return

    def _write_batch(self, batch: list[tuple[Work[object], Future[object]]]) -> None:
        done: list[tuple[Future[object], object]] = []
        try:
            with Session(self._writer, expire_on_commit=False) as session:
                for work, future in batch:
                    try:
                        done.append((future, _in_savepoint(session, work)))
                    except DBAPIError as error:
                        future.set_exception(_classified(error))
                    except Exception as error:  # noqa: BLE001 - carried to the caller that waits
                        future.set_exception(error)
                session.commit()
        except Exception as error:  # noqa: BLE001 - carried to every caller of the batch
            self._fail(error, [future for _, future in batch if not future.done()])
            return
        for future, answer in done:
            future.set_result(answer)

    def _fail(self, error: Exception, waiting: list[Future[object]]) -> None:
        raised = _classified(error) if isinstance(error, DBAPIError) else Broken(f"a commit failed: {error}")
        if isinstance(raised, Broken) and self._on_broken is not None:
            self._on_broken(raised)
        for future in waiting:
            future.set_exception(raised)

    def _write_alone(self, work: Work[Answer]) -> Answer:
        for attempt in range(_POSTGRESQL_TRIES):
            try:
                with Session(self._writer, expire_on_commit=False) as session:
                    answer = work(session)
                    events.seal(session)
                    session.commit()
                    return answer
            except DBAPIError as error:
                retryable = getattr(error.orig, "sqlstate", None) in _RETRYABLE
                if not retryable or attempt == _POSTGRESQL_TRIES - 1:
                    raise _classified(error) from error
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
            raise _classified(error) from error
        raise
    return Database(writer, reader, on_broken)


def _in_savepoint(session: Session, work: Work[object]) -> object:
    try:
        with session.begin_nested():
            answer = work(session)
            events.seal(session)
            session.flush()
    except BaseException:
        events.forget(session)
        session.expunge_all()
        raise
    session.expunge_all()  # the next caller must not see this one's objects
    return answer


def _classified(error: DBAPIError) -> NarthexError:
    text = str(error.orig)
    sqlstate = getattr(error.orig, "sqlstate", None) or ""
    if "disk is full" in text or sqlstate == "53100":
        return StorageFull("the disk of the database is full", hint="free some space; nothing was changed")
    if "UNIQUE constraint" in text or sqlstate == "23505":
        return Conflict("the same thing was stored meanwhile", hint="look again")
    if "locked" in text or "busy" in text or sqlstate in _RETRYABLE or sqlstate.startswith(("08", "57")):
        return Transient(f"the database is not available: {text}")
    if error.connection_invalidated or "connection" in text:
        return Transient(f"the database cannot be reached: {text}")
    return Broken(f"the database refused a statement: {text}")
