"""``narthex search``: the approved memories that answer a question, best first."""

from __future__ import annotations

import argparse

from api.cli._documents import rows, text
from api.cli._ids import remember
from api.cli._session import Session
from api.cli._verbs import Verb

_NOTHING_FOUND = 1


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="WORD", help="what to look for")
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="1 to 100")
    parser.add_argument("--fail-empty", action="store_true", default=False, help="exit with 1 when nothing is found")


def _run(args: argparse.Namespace, session: Session) -> int:
    query = {"q": " ".join(args.query), "limit": str(args.limit)}
    found = session.client.call("GET", "/v1/search", query=query)
    hits = rows(found, "hits")
    ids = [text(hit, "memory_id") for hit in hits]
    remember(session, ids)
    if not session.answered(found, ids):
        for place, hit in enumerate(hits, 1):
            mark = "" if text(hit, "verification") == "verified" else f"  ({text(hit, 'verification')})"
            session.line(f"{place}  {text(hit, 'memory_id')}  {text(hit, 'title')}{mark}")
            session.line(f"   {text(hit, 'path')}")
            session.line(f"   {text(hit, 'snippet')}")
        if not hits:
            session.hint("no approved memory answers that")
    return _NOTHING_FOUND if args.fail_empty and not hits else 0


SEARCH = Verb(
    name="search",
    help="search the approved memories",
    examples=("narthex search seed storage", 'narthex search "cold storage" --limit 3', "narthex search seeds --json"),
    arguments=_arguments,
    run=_run,
)
