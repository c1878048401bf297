"""Taking things in. An answer of 201 comes after the bytes and the row are on the disk, never before."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse

from api.answers import ItemAnswer
from api.doorway import DeclaredRoute
from api.idempotency import answer_once, source_key
from api.received_file import Received
from api.routes.items import item_answer
from api.schemas import CaptureItem
from api.surface import Acting, Here, Surface
from pipelines import capture
from pipelines.capture import Captured

router = APIRouter(route_class=DeclaredRoute, tags=["captures"], prefix="/v1/captures")

_KNOWN: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": ItemAnswer, "description": "Known already, or its bytes are (``duplicate_of``)"}
}
_FORM = {
    "type": "object",
    "required": ["file"],
    "additionalProperties": False,
    "properties": {
        "file": {"type": "string", "contentMediaType": "application/octet-stream"},
        "note": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "scope": {"type": "string"},
    },
    "example": {"file": "…", "note": "from the seed bank", "tags": ["garden"]},
}


@router.post("", operation_id="capture_item", status_code=201, response_model=ItemAnswer, responses=_KNOWN)
def capture_item(body: CaptureItem, here: Here, actor: Acting, request: Request) -> JSONResponse:
    """Captures a text or a link (its address; nothing is fetched)."""
    shared = {"title": body.title, "note": body.note}
    key = source_key(request, actor)

    def take() -> tuple[int, ItemAnswer]:
        if body.text is not None:
            captured = capture.capture_text(
                here.premises, body.text, actor, tags=body.tags, scope=body.scope, source_key=key, **shared
            )
        else:
            captured = capture.capture_link(
                here.premises, body.url or "", actor, tags=body.tags, scope=body.scope, source_key=key, **shared
            )
        return _taken(here, captured)

    return answer_once(here.premises, here.running, request, actor, take)


@router.post(
    "/file",
    operation_id="capture_file",
    status_code=201,
    response_model=ItemAnswer,
    responses=_KNOWN,
    openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}},
)
def capture_file(received: Received, here: Here, actor: Acting, request: Request) -> JSONResponse:
    """Captures one file; its name is only what people call it."""

    def take() -> tuple[int, ItemAnswer]:
        captured = capture.capture_file(
            here.premises,
            received.path,
            actor,
            name=received.name,
            note=received.note,
            tags=received.tags,
            scope=received.scope,
            source_key=source_key(request, actor),
        )
        return _taken(here, captured)

    return answer_once(here.premises, here.running, request, actor, take, content=received.digest)


def _taken(here: Surface, captured: Captured) -> tuple[int, ItemAnswer]:
    here.daemon.wake()
    new = not (captured.known or captured.released or captured.duplicate_of)
    return 201 if new else 200, item_answer(captured.item, ())
