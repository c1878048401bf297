"""The events of this narthex as they happen, for the owner alone: ids, names and actions, never a text."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from api.doorway import DeclaredRoute
from api.event_stream import EventStream
from api.surface import Asking, Here
from pipelines.model.errors import Broken
from pipelines.store import events

router = APIRouter(route_class=DeclaredRoute, tags=["events"], prefix="/v1/events")

_LAST: Final = 2**63 - 1
_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "Until the reader goes", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
Seq = Annotated[int | None, Query(ge=0, le=_LAST, description="the last event that was seen; 0: from the beginning")]
LastEventId = Annotated[int | None, Header(ge=0, le=_LAST, description="as browsers send it; wins over since")]


@router.get("", operation_id="follow_events", response_class=Response, responses=_STREAM)
def follow_events(
    here: Here, caller: Asking, since: Seq = None, follow: bool = True, last_event_id: LastEventId = None
) -> EventStream:
    """Server-sent events: what came after ``since`` (else what happens from now on), then all that comes."""
    if caller.session_id is None:
        raise Broken("a reader without a session reached the events")
    here.streams.check_room()
    seen = since if last_event_id is None else last_event_id
    with here.premises.database.read() as session:
        head, _ = events.chain_head(session)
    seq = head if seen is None else min(seen, head)
    return EventStream(here.premises, here.streams, seq=seq, session_id=caller.session_id, follow=follow)
