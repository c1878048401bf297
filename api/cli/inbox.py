"""``narthex inbox``: what was captured and awaits narthex or the person; releases and discards what got stuck."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from api.cli._documents import rows, text
from api.cli._ids import remember, resolve
from api.cli._problems import each, failed
from api.cli._session import Session, Usage
from api.cli._terminal import confirmed
from api.cli._verbs import Verb
from api.cli.show import show_one
from api.cli.status import progress_line
from api.client import JsonObject
from pipelines.model.lifecycle import ITEM_OPEN, ItemState

_MOST = 200
_DONE = {"release": "released", "discard": "discarded"}


def _arguments(parser: argparse.ArgumentParser) -> None:
    actions = ("list", "show", "release", "discard")
    parser.add_argument("action", nargs="?", choices=actions, default="list", help="the default is list")
    parser.add_argument("ids", nargs="*", metavar="ID", default=[], help="for all but list")
    states = [state.value for state in ItemState]
    parser.add_argument("--state", choices=states, default="", help="the default is all that is not finished")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="1 to 200")
    parser.add_argument("--yes", action="store_true", default=False, help="discard without asking")


def _run(args: argparse.Namespace, session: Session) -> int:
    typed: list[str] = args.ids
    if args.action == "list":
        if typed:
            raise Usage("list takes no ID", hint=f"narthex inbox show {typed[0]}")
        return _list(session, args.state, args.limit)
    if not typed:
        raise Usage(f"say which item to {args.action}", hint=f"narthex inbox {args.action} ID")
    if args.action == "show":
        if len(typed) > 1:
            raise Usage("show takes one ID", hint=f"narthex inbox show {typed[0]}")
        return show_one(session, resolve(session, typed[0], ("itm",)))
    return _move(session, args.action, typed, sure=args.yes)


def _list(session: Session, state: str, limit: int) -> int:
    if state:
        page = session.client.call("GET", "/v1/items", query={"state": state, "limit": str(limit)})
    else:
        page = _unfinished(session, limit)
    found = rows(page)
    remember(session, [text(row, "id") for row in found])
    if session.answered(page, [text(row, "id") for row in found]):
        return 0
    session.table(
        [
            [str(place), text(row, "id"), text(row, "state"), text(row, "kind"), _title(row), _trouble(row)]
            for place, row in enumerate(found, 1)
        ]
    )
    _say_more(session, page, limit)
    _say_progress(session)
    if not found:
        session.hint(f"nothing is {state}" if state else "the inbox is empty")
    elif any(text(row, "state") == ItemState.QUARANTINED for row in found):
        session.hint("narthex inbox release N tries again   ·   narthex inbox discard N gives up")
    return 0


def _say_progress(session: Session) -> None:
    progress = progress_line(session.client.call("GET", "/v1/status"))
    if progress:
        session.hint(progress)


def _unfinished(session: Session, limit: int) -> JsonObject:
    """The newest of every state that leaves somebody something to do, and whether there are ``more``; never the whole
    past."""
    found: list[JsonObject] = []
    more = False
    for state in sorted({*ITEM_OPEN, ItemState.QUARANTINED}):
        page = session.client.call("GET", "/v1/items", query={"state": state.value, "limit": str(limit)})
        found += rows(page)
        more = more or bool(page.get("next_cursor"))
    newest = sorted(found, key=lambda row: text(row, "captured_at"), reverse=True)[:limit]
    return {"items": newest, "next_cursor": None, "more": more or len(found) > limit}


def _say_more(session: Session, page: JsonObject, limit: int) -> None:
    if page.get("more") or page.get("next_cursor"):
        way = "narthex inbox --limit 200" if limit < _MOST else "narthex inbox --state STATE"
        session.hint(f"there are more; these are the newest {limit}: {way}")


def _move(session: Session, action: str, typed: Sequence[str], *, sure: bool) -> int:
    ids = [resolve(session, word, ("itm",)) for word in typed]
    if action == "discard" and not sure:
        if not session.around.terminal.interactive():
            raise Usage("nobody is here to confirm that this is discarded", hint="Add --yes.")
        if not confirmed(session.around.terminal, f"Discard {', '.join(ids)}?"):
            return 1
    items, status = each(session, ids, lambda one: session.client.call("POST", f"/v1/items/{one}/{action}", {}))
    moved = [item for item in items if not failed(item)]
    if not session.answered({"items": items}, [text(item, "id") for item in moved]):
        for item in moved:
            session.line(f"{text(item, 'id')}  {_DONE[action]}  {_title(item)}")
    return status


def _title(item: JsonObject) -> str:
    return text(item, "name") or text(item, "url") or text(item, "note")


def _trouble(item: JsonObject) -> str:
    return "  ".join(filter(None, (text(item, "quarantine_reason"), text(item, "problem"))))


INBOX = Verb(
    name="inbox",
    help="list what was captured; release or discard what got stuck",
    examples=("narthex inbox", "narthex inbox release 2", "narthex inbox discard 8v2m --yes"),
    arguments=_arguments,
    run=_run,
)
