"""Queries about memories, their revisions and the projections that are still to be written."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func, update
from sqlmodel import Session, col, select

from pipelines.model.errors import NotFound
from pipelines.model.lifecycle import MemoryState
from pipelines.model.records import Memory, MemoryRevision, Projection
from pipelines.store.pages import Page, page


def memory(session: Session, memory_id: str) -> Memory:
    """Raises ``NotFound``."""
    found = session.get(Memory, memory_id)
    if found is None:
        raise NotFound(f"there is no memory {memory_id}")
    return found


def find_memory(session: Session, memory_id: str) -> Memory | None:
    """Like ``memory``, for ids that come from files and may be anybody's."""
    return session.get(Memory, memory_id)


def memory_at(session: Session, path: str) -> Memory | None:
    """The active memory whose file is at this path of the vault."""
    query = select(Memory).where(col(Memory.path) == path, col(Memory.state) == MemoryState.ACTIVE)
    return session.exec(query).one_or_none()


def all_memories(session: Session) -> list[Memory]:
    """Every memory, by id."""
    return list(session.exec(select(Memory).order_by(col(Memory.id))))


def current_revision(session: Session, memory_id: str) -> tuple[Memory, MemoryRevision] | None:
    """A memory and the revision that is current; None when there is no such memory."""
    found = session.get(Memory, memory_id)
    if found is None:
        return None
    revision_row = session.get(MemoryRevision, found.revision_id)
    return None if revision_row is None else (found, revision_row)


def current_revisions(session: Session) -> list[tuple[Memory, MemoryRevision]]:
    """Every memory with its current revision, by id."""
    query = select(Memory, MemoryRevision).where(col(Memory.revision_id) == col(MemoryRevision.id))
    return list(session.exec(query.order_by(col(Memory.id))))


def revision(session: Session, revision_id: str) -> MemoryRevision:
    """Raises ``NotFound``."""
    found = session.get(MemoryRevision, revision_id)
    if found is None:
        raise NotFound(f"there is no revision {revision_id}")
    return found


def history(session: Session, memory_id: str) -> list[MemoryRevision]:
    """All revisions of one memory, newest first."""
    query = select(MemoryRevision).where(col(MemoryRevision.memory_id) == memory_id)
    return list(session.exec(query.order_by(col(MemoryRevision.number).desc())))


def list_memories(
    session: Session, *, state: MemoryState | None, scope: str | None, limit: int, cursor: str | None
) -> Page[Memory]:
    """Newest first; ``scope`` None means all scopes, which only the owner may ask for."""
    query = select(Memory)
    if state is not None:
        query = query.where(col(Memory.state) == state)
    if scope is not None:
        query = query.where(col(Memory.scope) == scope)
    return page(session, query, Memory.id, limit, cursor)


def count_active(session: Session, scope: str | None) -> int:
    """How many active memories a reader of ``scope`` may see."""
    query = select(func.count()).where(col(Memory.state) == MemoryState.ACTIVE)
    if scope is not None:
        query = query.where(col(Memory.scope) == scope)
    return session.exec(query).one()


def add_revision(session: Session, new: MemoryRevision) -> None:
    """Adds the new current revision and closes the interval of the one before at the same instant."""
    session.execute(
        update(MemoryRevision)
        .where(col(MemoryRevision.memory_id) == new.memory_id, col(MemoryRevision.retired_at).is_(None))
        .values(retired_at=new.recorded_at)
    )
    session.add(new)
    session.flush()


def want_projection(session: Session, memory_id: str, revision_id: str, now: datetime) -> None:
    """Notes, in the approval's transaction, that the vault is to follow."""
    session.merge(Projection(memory_id=memory_id, revision_id=revision_id, requested_at=now))
    session.flush()


def want_file_again(session: Session, memory_id: str, revision_id: str, now: datetime) -> bool:
    """A memory whose file was deleted is to stay: asks for its file anew, if that revision is still the current one."""
    found = session.get(Memory, memory_id)
    if found is None or found.revision_id != revision_id or found.state is not MemoryState.ACTIVE:
        return False
    note_file(session, memory_id, found.path, None)
    want_projection(session, memory_id, revision_id, now)
    return True


def wanted_projections(session: Session) -> list[Projection]:
    """What the vault does not show yet, oldest first."""
    return list(session.exec(select(Projection).order_by(col(Projection.requested_at))))


def projected(session: Session, memory_id: str, revision_id: str, path: str, digest: str | None) -> bool:
    """The vault shows this revision: clears the wish, notes what was written. False if a newer one is wanted by now."""
    wish = session.get(Projection, memory_id)
    if wish is None or wish.revision_id != revision_id:
        return False
    session.delete(wish)
    note_file(session, memory_id, path, digest)
    return True


def note_file(session: Session, memory_id: str, path: str, digest: str | None) -> None:
    """Where the file of a memory is and the digest that narthex wrote or accepted there; None: there is no file."""
    session.execute(update(Memory).where(col(Memory.id) == memory_id).values(path=path, written_digest=digest))
    session.flush()
