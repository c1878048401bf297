"""The owner's answers, as they were recorded; makes none."""

from __future__ import annotations

from fastapi import APIRouter

from api.answers import DecisionAnswer
from api.doorway import DeclaredRoute
from api.paging import DEFAULT_LIMIT, Cursor, Limit, Listing, cursor_of, last_id
from api.surface import Here
from pipelines.model.identity import check_id
from pipelines.model.records import Decision
from pipelines.store import memories, proposals

router = APIRouter(route_class=DeclaredRoute, tags=["decisions"], prefix="/v1/decisions")


@router.get("", operation_id="list_decisions")
def list_decisions(here: Here, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Listing[DecisionAnswer]:
    """All decisions, newest first."""
    with here.premises.database.read() as session:
        page = proposals.list_decisions(session, limit=limit, cursor=last_id(cursor, "dec"))
        paths = {row.id: proposals.proposal(session, row.proposal_id).path for row in page.rows}
    entries = [decision_answer(row, paths[row.id]) for row in page.rows]
    return Listing(items=entries, next_cursor=cursor_of(page.next_cursor))


@router.get("/{decision_id}", operation_id="show_decision")
def show_decision(decision_id: str, here: Here) -> DecisionAnswer:
    """One decision; ``path`` is where the memory's file is now."""
    check_id(decision_id, "dec")
    with here.premises.database.read() as session:
        row = proposals.decision(session, decision_id)
        memory = None if row.memory_id is None else memories.find_memory(session, row.memory_id)
        path = proposals.proposal(session, row.proposal_id).path if memory is None else memory.path
    return decision_answer(row, path)


def decision_answer(row: Decision, path: str) -> DecisionAnswer:
    """The row as clients see it."""
    same_name = set(DecisionAnswer.model_fields) - {"action", "path"}
    return DecisionAnswer(**row.model_dump(include=same_name), action=row.verdict, path=path)
