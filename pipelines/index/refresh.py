"""Brings the index to what state.db says, one memory or all; nothing else fills it. Changes only the index."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from sqlmodel import Session, col, func, select

from pipelines.index.search_index import IndexedRevision, IndexGone, SearchIndex, Stamp
from pipelines.model.lifecycle import MemoryState
from pipelines.model.records import Memory, MemoryRevision
from pipelines.store.database import Database
from pipelines.store.memories import current_revision
from pipelines.vault.memory_file import parse

# reading state.db and writing the index are one step: else an older reading could replace a newer one
_lock = threading.Lock()


def refresh(database: Database, index: SearchIndex, memory_id: str) -> None:
    """Indexes the current revision of a memory, or drops the memory when it is not active.

    Call it after the commit. Raises ``StorageFull`` or ``Transient`` when the index cannot be written; the next
    ``catch_up`` makes up for it.
    """
    with _lock:
        try:
            _refresh(database, index, memory_id)
        except IndexGone:
            _catch_up(database, index)


def catch_up(database: Database, index: SearchIndex) -> int:
    """Makes the index hold exactly the active memories, in a new file if the old one is gone; says how many changed."""
    with _lock:
        try:
            return _catch_up(database, index)
        except IndexGone:  # deleted once more, or found damaged only now
            return _catch_up(database, index)


def is_behind(session: Session, index: SearchIndex) -> bool:
    """Whether a memory is missing in the index, as far as its count and newest revision tell."""
    query = select(func.count(), func.max(Memory.revision_id)).where(col(Memory.state) == MemoryState.ACTIVE)
    count, newest = session.exec(query).one()
    return (count, newest or "") != index.extent()


def _refresh(database: Database, index: SearchIndex, memory_id: str) -> None:
    with database.read() as session:
        found = current_revision(session, memory_id)
    if found is None or found[0].state is not MemoryState.ACTIVE:
        index.drop(memory_id)
    else:
        index.put(_indexed(*found))


def _catch_up(database: Database, index: SearchIndex) -> int:
    index.revive()
    with database.read() as session:
        wanted, present = _wanted(session), index.stamps()
        if not present:
            index.rebuild(_revisions(session, sorted(wanted)))
            return len(wanted)
        gone = present.keys() - wanted.keys()
        for memory_id in sorted(gone):
            index.drop(memory_id)
        changed = sorted(memory_id for memory_id, stamp in wanted.items() if present.get(memory_id) != stamp)
        for revision in _revisions(session, changed):
            index.put(revision)
    return len(gone) + len(changed)


def _wanted(session: Session) -> dict[str, Stamp]:
    query = select(Memory.id, MemoryRevision.id, MemoryRevision.digest, Memory.scope).where(
        col(Memory.revision_id) == col(MemoryRevision.id), col(Memory.state) == MemoryState.ACTIVE
    )
    return {
        memory_id: Stamp(revision_id, digest or "", scope)
        for memory_id, revision_id, digest, scope in session.exec(query)
    }


def _revisions(session: Session, memory_ids: list[str]) -> Iterator[IndexedRevision]:
    for memory_id in memory_ids:
        found = current_revision(session, memory_id)
        if found is not None:
            yield _indexed(*found)
            session.expunge_all()  # the texts of all memories at once could be too much


def _indexed(memory: Memory, revision: MemoryRevision) -> IndexedRevision:
    text = parse(revision.content or "", revision.title)
    return IndexedRevision(
        memory_id=memory.id,
        revision_id=revision.id,
        digest=revision.digest or "",
        scope=memory.scope,
        title=revision.title,
        l0=text.l0,
        l1=text.l1,
        l2=text.l2,
        tags=text.tags,
    )
