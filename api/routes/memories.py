"""What is known: approved revisions only, within the scope of the credential."""

from __future__ import annotations

from fastapi import APIRouter

from api.answers import MemoryAnswer, RevisionAnswer
from api.doorway import DeclaredRoute
from api.paging import DEFAULT_LIMIT, Cursor, Limit, Listing, cursor_of, last_id
from api.surface import Acting, Here
from pipelines.model.actor import Actor
from pipelines.model.errors import NotFound
from pipelines.model.identity import check_id
from pipelines.model.lifecycle import MemoryState
from pipelines.model.records import Memory, MemoryRevision
from pipelines.store import memories

router = APIRouter(route_class=DeclaredRoute, tags=["memories"], prefix="/v1/memories")

_OF_MEMORY = {"id", "scope", "state", "verification", "path", "revision_id"}
_OF_REVISION = set(MemoryAnswer.model_fields) - _OF_MEMORY


@router.get("", operation_id="list_memories")
def list_memories(
    here: Here,
    reader: Acting,
    state: MemoryState | None = MemoryState.ACTIVE,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Listing[MemoryAnswer]:
    """Memories, newest first, without their content; only the owner sees other than active ones."""
    with here.premises.database.read() as session:
        page = memories.list_memories(
            session,
            state=state if reader.is_owner else MemoryState.ACTIVE,
            scope=reader.scope,
            limit=limit,
            cursor=last_id(cursor, "mem"),
        )
        current = {row.id: memories.revision(session, row.revision_id) for row in page.rows}
    entries = [_memory_answer(row, current[row.id], content=False) for row in page.rows]
    return Listing(items=entries, next_cursor=cursor_of(page.next_cursor))


@router.get("/{memory_id}", operation_id="show_memory")
def show_memory(memory_id: str, here: Here, reader: Acting) -> MemoryAnswer:
    """One memory at its current revision."""
    check_id(memory_id, "mem")
    with here.premises.database.read() as session:
        row = _visible(memories.memory(session, memory_id), reader)
        revision = memories.revision(session, row.revision_id)
    return _memory_answer(row, revision, content=True)


@router.get("/{memory_id}/history", operation_id="list_revisions")
def list_revisions(memory_id: str, here: Here, reader: Acting) -> Listing[RevisionAnswer]:
    """All revisions of one memory, newest first, in one piece."""
    check_id(memory_id, "mem")
    with here.premises.database.read() as session:
        _visible(memories.memory(session, memory_id), reader)
        revisions = memories.history(session, memory_id)
    return Listing(items=[RevisionAnswer.model_validate(row) for row in revisions])


def _visible(row: Memory, reader: Actor) -> Memory:
    """Raises ``NotFound`` as for a memory that does not exist: its existence is not the reader's to know."""
    in_scope = reader.scope is None or reader.scope == row.scope
    if not reader.is_owner and (not in_scope or row.state is not MemoryState.ACTIVE):
        raise NotFound(f"there is no memory {row.id}")
    return row


def _memory_answer(row: Memory, revision: MemoryRevision, *, content: bool) -> MemoryAnswer:
    fields = row.model_dump(include=_OF_MEMORY) | revision.model_dump(include=_OF_REVISION)
    return MemoryAnswer(**(fields if content else fields | {"content": None}))
