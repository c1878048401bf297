"""``narthex proposals``: what waits for the person's decision, or what became of it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import suppress

from api.cli._documents import part, rows, text, words
from api.cli._ids import PLACES, remember, resolve
from api.cli._session import Session
from api.cli._verbs import Verb
from api.client import JsonObject
from pipelines.model.errors import Refused
from pipelines.model.lifecycle import ProposalState


def _arguments(parser: argparse.ArgumentParser) -> None:
    states = [state.value for state in ProposalState]
    parser.add_argument("--state", choices=states, default=ProposalState.PENDING.value, help="the default is pending")
    parser.add_argument("--item", default="", metavar="ID", help="only those made from this item")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="1 to 200")
    parser.add_argument("--cursor", default="", help="next_cursor of the page before")


def _run(args: argparse.Namespace, session: Session) -> int:
    query = {"state": args.state, "limit": str(args.limit)}
    if args.cursor:
        query["cursor"] = args.cursor
    if args.item:
        query["item_id"] = resolve(session, args.item, ("itm",))
    page = session.client.call("GET", "/v1/proposals", query=query)
    found = rows(page)
    remember(session, [text(row, "id") for row in found])
    if session.answered(page, [text(row, "id") for row in found]):
        return 0
    sources = _sources(session, found)
    lines = [
        [
            str(place),
            text(row, "id"),
            text(row, "action"),
            text(row, "title"),
            text(row, "path"),
            sources[text(row, "item_id")],
            _flags(words(row, "flags")),
        ]
        for place, row in enumerate(found, 1)
    ]
    session.table(lines)
    session.hint(
        "narthex approve N   ·   narthex reject N   ·   narthex show N" if found else f"nothing is {args.state}"
    )
    if page.get("next_cursor"):
        session.hint(f"there are more: narthex proposals --limit 200, or --cursor {text(page, 'next_cursor')}")
    return 0


def _sources(session: Session, found: Sequence[JsonObject]) -> Mapping[str, str]:
    """What each item is called from which one of these was made; a daemon that does not say so is asked for each."""
    names = {text(row, "item_id"): text(part(row, "source"), "name") for row in found}
    for identifier, name in names.items():
        if identifier and not name:
            with suppress(Refused):  # a name is a help: what may not be read has none
                item = session.client.call("GET", f"{PLACES['itm']}/{identifier}")
                names[identifier] = text(item, "name") or text(item, "url")
    return {identifier: f"from {name}" if name else "" for identifier, name in names.items()}


def _flags(flags: list[str]) -> str:
    return f"! {', '.join(flags)}" if flags else ""


PROPOSALS = Verb(
    name="proposals",
    help="list what waits for your decision",
    examples=("narthex proposals", "narthex proposals --state stale", "narthex proposals --json --limit 200"),
    arguments=_arguments,
    run=_run,
)
