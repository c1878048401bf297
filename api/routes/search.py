"""Ranked search over what is approved, within the scope of the credential."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from api.answers import Found, HitAnswer
from api.doorway import DeclaredRoute
from api.surface import Acting, Here
from pipelines import search

router = APIRouter(route_class=DeclaredRoute, tags=["search"], prefix="/v1/search")


@router.get("", operation_id="search_memories")
def search_memories(
    here: Here,
    reader: Acting,
    q: Annotated[str, Query(max_length=1000, description="words; there is no syntax to get wrong")],
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> Found:
    """Memories that match, best first."""
    answer = search.search(here.premises, q, reader, limit=limit)
    return Found(query=answer.query, hits=[HitAnswer.model_validate(hit) for hit in answer.hits])
