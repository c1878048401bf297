"""What was captured and how far it has come. The bytes and texts of strangers leave only as attachments and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, JSONResponse

from api.answers import Happening, ItemAnswer, ItemDetail, ItemText
from api.doorway import DeclaredRoute
from api.idempotency import answer_once
from api.paging import DEFAULT_LIMIT, Cursor, Limit, Listing, cursor_of, last_id
from api.schemas import Empty
from api.surface import Acting, Here, Surface
from pipelines import originals, process
from pipelines.model.actor import Actor
from pipelines.model.errors import NotFound
from pipelines.model.identity import check_id
from pipelines.model.lifecycle import ItemState
from pipelines.model.records import Artefact, Event, Item
from pipelines.model.values import Stage
from pipelines.premises import Premises
from pipelines.store import events, items, proposals

_SAME_NAME: Final = set(ItemAnswer.model_fields) - {"actor", "size", "digest", "details"}
_CONTENT: Final = {"Content-Security-Policy": "default-src 'none'; sandbox"}

router = APIRouter(route_class=DeclaredRoute, tags=["items"], prefix="/v1/items")


@router.get("", operation_id="list_items")
def list_items(
    here: Here, state: ItemState | None = None, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Listing[ItemAnswer]:
    """Items, newest first, optionally of one state."""
    with here.premises.database.read() as session:
        page = items.list_items(session, state=state, limit=limit, cursor=last_id(cursor, "itm"))
        made = {
            row.id: items.artefact(session, row.id, Stage.NORMALIZED)
            or items.artefact(session, row.id, Stage.EXTRACTED)
            for row in page.rows
        }
    entries = [item_answer(row, _details(made[row.id])) for row in page.rows]
    return Listing(items=entries, next_cursor=cursor_of(page.next_cursor))


@router.get("/{item_id}", operation_id="show_item")
def show_item(item_id: str, here: Here, reader: Acting) -> ItemDetail:
    """One item with its timeline and proposals. A capturing token sees what it captured itself."""
    check_id(item_id, "itm")
    with here.premises.database.read() as session:
        row = items.item(session, item_id)
        _check_may_see(row, reader)
        made = items.artefact(session, item_id, Stage.NORMALIZED) or items.artefact(session, item_id, Stage.EXTRACTED)
        proposed = [proposal.id for proposal in proposals.proposals_of_item(session, item_id)]
        happened = events.timeline(session, item_id)
    return ItemDetail(
        **dict(item_answer(row, _details(made))),
        proposals=proposed,
        timeline=_timeline(happened),
    )


@router.get("/{item_id}/text", operation_id="read_item_text")
def read_item_text(item_id: str, here: Here) -> ItemText:
    """The normalized text; 404 until there is one."""
    check_id(item_id, "itm")
    with here.premises.database.read() as session:
        items.item(session, item_id)
        made = items.artefact(session, item_id, Stage.NORMALIZED)
    if made is None:
        raise NotFound(f"there is no text of {item_id} yet")
    meta = {key: str(made.meta.get(key) or "") for key in ("title", "author", "published", "language")}
    return ItemText(markdown=made.text, words=int(made.meta.get("words") or 0), **meta)


@router.get("/{item_id}/original", operation_id="read_item_original", response_class=FileResponse)
def read_item_original(item_id: str, here: Here) -> FileResponse:
    """The captured bytes, to be saved: never shown by a browser, never of a type that it would run."""
    check_id(item_id, "itm")
    with here.premises.database.read() as session:
        row = items.item(session, item_id)
    originals.open_original(here.premises.home.originals, row.original_digest).close()
    path = originals.path_of(here.premises.home.originals, row.original_digest)
    return FileResponse(path, media_type="application/octet-stream", filename=row.name, headers=_CONTENT)


@router.post("/{item_id}/release", operation_id="release_item", response_model=ItemAnswer)
def release_item(item_id: str, here: Here, owner: Acting, request: Request, body: Empty | None = None) -> JSONResponse:
    """Sets a quarantined item going again."""
    return _moved(here, owner, request, check_id(item_id, "itm"), process.release)


@router.post("/{item_id}/discard", operation_id="discard_item", response_model=ItemAnswer)
def discard_item(item_id: str, here: Here, owner: Acting, request: Request, body: Empty | None = None) -> JSONResponse:
    """Takes an item out of the inbox; its original stays."""
    return _moved(here, owner, request, check_id(item_id, "itm"), process.discard)


def item_answer(row: Item, details: Sequence[str]) -> ItemAnswer:
    """The row as clients see it; ``details`` come from the step that made its text."""
    return ItemAnswer(
        **row.model_dump(include=_SAME_NAME),
        actor=row.actor_name,
        size=row.original_size,
        digest=row.original_digest,
        details=list(details),
    )


def _moved(
    here: Surface, owner: Actor, request: Request, item_id: str, use_case: Callable[[Premises, str, Actor], Item]
) -> JSONResponse:
    with here.premises.database.read() as session:
        items.item(session, item_id)  # one that is not there is not found, whatever its state would be

    def move() -> tuple[int, ItemAnswer]:
        row = use_case(here.premises, item_id, owner)
        here.daemon.wake()
        return 200, item_answer(row, ())

    return answer_once(here.premises, here.running, request, owner, move)


def _timeline(happened: Sequence[Event]) -> list[Happening]:
    before = [None, *(event.at for event in happened)]
    return [
        Happening(
            at=event.at,
            action=event.action,
            actor=event.actor_name,
            ms=None if since is None else round((event.at - since) / timedelta(milliseconds=1)),
        )
        for event, since in zip(happened, before, strict=False)
    ]


def _details(made: Artefact | None) -> list[str]:
    return [] if made is None else made.details


def _check_may_see(row: Item, reader: Actor) -> None:
    if not reader.is_owner and (row.actor_kind, row.actor_name) != (reader.kind, reader.name):
        raise NotFound(f"there is no item {row.id}")
