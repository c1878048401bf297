"""The index file: which approved revision holds which words. Derived from state.db, believed by nobody, deletable."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pipelines.index.tokens import QueryPlan, indexable
from pipelines.model.errors import StorageFull, Transient

if TYPE_CHECKING:
    import sqlite3  # the same interface, with types
else:
    from pysqlite3 import dbapi2 as sqlite3

_VERSION: Final = 1
_BUSY_SECONDS: Final = 10.0
_FULL: Final = 13
_BUSY: Final = (5, 6)  # SQLITE_BUSY, SQLITE_LOCKED

# With its content, although nothing is read from it: without, FTS5 cannot take a deleted text out of its averages, and
# the ranking of an index that grew would differ from a rebuilt one.
_SCHEMA: Final = f"""
CREATE TABLE entry (
    number INTEGER PRIMARY KEY,
    memory_id TEXT NOT NULL UNIQUE,
    revision_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    scope TEXT NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5(
    title, l0, l1, l2, tags,
    tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);
PRAGMA user_version = {_VERSION};
"""
_FIND: Final = """
SELECT memory_id, revision_id, digest, scope, -bm25(words, 6.0, 3.0, 1.5, 1.0, 4.0) AS score
FROM words JOIN entry ON number = words.rowid
WHERE words MATCH :match {scopes}
ORDER BY score DESC, memory_id LIMIT :limit
"""


class IndexGone(Transient):
    """The index file was deleted, replaced or damaged: revive it and fill it anew from state.db."""

    code = "index-gone"
    title = "The search index is being rebuilt"


@dataclass(frozen=True, slots=True)
class IndexedRevision:
    """The current revision of an active memory, as far as it is searched."""

    memory_id: str
    revision_id: str
    digest: str
    scope: str
    title: str
    l0: str
    l1: str
    l2: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which version of a memory the index holds."""

    revision_id: str
    digest: str
    scope: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that seems to match; to be checked against state.db. A higher ``score`` is better."""

    memory_id: str
    stamp: Stamp
    score: float


class SearchIndex:
    """One connection, shared by all threads under a lock. Every method raises ``IndexGone`` once the file is gone."""

    def __init__(self, path: Path) -> None:
        """Opens the file; where it is missing, damaged or of another version, makes an empty one.

        Raises ``Transient`` when another process has it open.
        """
        self._path = path
        self._lock = threading.RLock()
        self._connection = _opened(path)
        self._file = _identity(path)
        self._gone = False

    def put(self, revision: IndexedRevision) -> None:
        """Adds a memory or replaces its entry."""
        with self._transaction() as connection:
            _put(connection, revision)

    def drop(self, memory_id: str) -> None:
        """Forgets a memory; that it is not there is no error."""
        with self._transaction() as connection:
            _drop(connection, memory_id)

    def rebuild(self, revisions: Iterable[IndexedRevision]) -> None:
        """Replaces everything by ``revisions``, in one transaction."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM entry")
            connection.execute("DELETE FROM words")
            for revision in revisions:
                _put(connection, revision)

    def find(self, plan: QueryPlan, scopes: tuple[str, ...] | None, limit: int) -> list[Candidate]:
        """The best ``limit`` candidates within ``scopes`` (None: all), best first; none for an empty plan."""
        if not plan.match or scopes == ():
            return []
        names = {f"scope{number}": scope for number, scope in enumerate(scopes or ())}
        condition = "" if scopes is None else f"AND scope IN ({', '.join(f':{name}' for name in names)})"
        with self._using() as connection:
            rows = connection.execute(
                _FIND.format(scopes=condition), {"match": plan.match, "limit": limit, **names}
            ).fetchall()
        return [
            Candidate(memory_id, Stamp(revision, digest, scope), score)
            for memory_id, revision, digest, scope, score in rows
        ]

    def stamps(self) -> dict[str, Stamp]:
        """What is indexed, by memory id."""
        with self._using() as connection:
            rows = connection.execute("SELECT memory_id, revision_id, digest, scope FROM entry").fetchall()
        return {memory_id: Stamp(revision, digest, scope) for memory_id, revision, digest, scope in rows}

    def extent(self) -> tuple[int, str]:
        """How many memories are indexed, and the greatest revision id among them: tells cheaply if one is missing."""
        with self._using() as connection:
            count, newest = connection.execute("SELECT count(*), max(revision_id) FROM entry").fetchone()
        return count, newest or ""

    def revive(self) -> None:
        """Opens a new, empty file where the old one is gone or damaged; does nothing when all is well."""
        with self._lock:
            if not self._gone and _identity(self._path) == self._file:
                return
            self._connection.close()
            _discard(self._path)
            self._connection = _opened(self._path)
            self._file = _identity(self._path)
            self._gone = False

    def close(self) -> None:
        """Closes the connection; nothing may be called afterwards."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._check()
            try:
                yield self._connection
            except sqlite3.DatabaseError as error:
                raise self._classified(error) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._using() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            self._check()  # deleted meanwhile, the file took the change with it

    def _check(self) -> None:
        if self._gone or _identity(self._path) != self._file:
            self._gone = True
            raise IndexGone("the search index is gone", hint="It is rebuilt by itself.")

    def _classified(self, error: sqlite3.DatabaseError) -> Transient:
        if passing := _passing(error):
            return passing
        # whatever else is wrong with it: it is derived, and a new one costs seconds
        self._gone = True
        return IndexGone(f"the search index is damaged: {error}", hint="It is rebuilt by itself.")


def _put(connection: sqlite3.Connection, revision: IndexedRevision) -> None:
    _drop(connection, revision.memory_id)
    number = connection.execute(
        "INSERT INTO entry (memory_id, revision_id, digest, scope) VALUES (?, ?, ?, ?)",
        (revision.memory_id, revision.revision_id, revision.digest, revision.scope),
    ).lastrowid
    texts = (revision.title, revision.l0, revision.l1, revision.l2, " ".join(revision.tags))
    connection.execute(
        "INSERT INTO words (rowid, title, l0, l1, l2, tags) VALUES (?, ?, ?, ?, ?, ?)",
        (number, *(indexable(text) for text in texts)),
    )


def _drop(connection: sqlite3.Connection, memory_id: str) -> None:
    row = connection.execute("DELETE FROM entry WHERE memory_id = ? RETURNING number", (memory_id,)).fetchone()
    if row is not None:
        connection.execute("DELETE FROM words WHERE rowid = ?", row)


def _opened(path: Path) -> sqlite3.Connection:
    try:
        return _connected(path)
    except sqlite3.DatabaseError as error:
        if passing := _passing(error):
            raise passing from error
        _discard(path)  # damaged, or of another version
        return _connected(path)


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        # exclusive: no shared-memory file, whose truncation would kill the process (SIGBUS)
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # a power cut may cost the last changes, never the file
        with closing(connection.execute("PRAGMA user_version")) as cursor:
            (version,) = cursor.fetchone()
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if version == 0 and tables == (0,):
            connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        elif version != _VERSION:
            raise sqlite3.DatabaseError(f"the index has version {version}")
        connection.execute("SELECT count(*) FROM words WHERE words MATCH '\"x\"'")
    except BaseException:
        connection.close()
        raise
    return connection


def _passing(error: sqlite3.DatabaseError) -> Transient | None:
    """The error to raise if the file itself is all right."""
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if code == _FULL:
        return StorageFull("the search index has no more space", hint="Free some space; nothing is lost.")
    return Transient("the search index is in use by another program") if code in _BUSY else None


def _discard(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
