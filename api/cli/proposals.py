"""``narthex proposals``: what waits for the person's decision, or what became of it."""

from __future__ import annotations

import argparse

from api.cli._documents import rows, text, words
from api.cli._ids import remember, resolve
from api.cli._session import Session
from api.cli._verbs import Verb
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
    lines = [
        [
            str(place),
            text(row, "id"),
            text(row, "action"),
            text(row, "title"),
            text(row, "path"),
            _flags(words(row, "flags")),
        ]
        for place, row in enumerate(found, 1)
    ]
    session.table(lines)
    session.hint(
        "narthex approve N   ·   narthex reject N   ·   narthex show N" if found else f"nothing is {args.state}"
    )
    if page.get("next_cursor"):
        session.hint(f"there is more: --cursor {text(page, 'next_cursor')}")
    return 0


def _flags(flags: list[str]) -> str:
    return f"! {', '.join(flags)}" if flags else ""


PROPOSALS = Verb(
    name="proposals",
    help="list what waits for your decision",
    examples=("narthex proposals", "narthex proposals --state stale", "narthex proposals --json --limit 200"),
    arguments=_arguments,
    run=_run,
)
