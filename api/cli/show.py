"""``narthex show``: one item, proposal, decision or memory, with everything that is known about it."""

from __future__ import annotations

import argparse

from api.cli._decide import shown_proposal
from api.cli._documents import number, rows, text, words
from api.cli._ids import PLACES, resolve
from api.cli._session import Session, Usage
from api.cli._verbs import Verb
from api.client import JsonObject

_LONG = frozenset({"content", "markdown", "timeline", "proposals"})


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="an id, its last four characters or more, or a row number")
    parser.add_argument("--text", action="store_true", default=False, help="of an item: what was read from it")
    parser.add_argument("--history", action="store_true", default=False, help="of a memory: its approved revisions")


def _run(args: argparse.Namespace, session: Session) -> int:
    kinds = ("itm",) if args.text else ("mem",) if args.history else ("prp", "itm", "mem", "dec")
    if args.text and args.history:
        raise Usage("--text is for items, --history for memories", hint="narthex show --help")
    identifier = resolve(session, args.id, kinds)
    if args.text:
        return show_text(session, identifier)
    return show_history(session, identifier) if args.history else show_one(session, identifier)


def show_one(session: Session, identifier: str) -> int:
    """Prints what has this id; the daemon refuses what the credential may not know of."""
    kind = identifier.partition("_")[0]
    document = session.client.call("GET", f"{PLACES[kind]}/{identifier}")
    if session.answered(document, [identifier]):
        return 0
    if kind == "prp":
        session.text(shown_proposal(document).strip("\n"))
    else:
        _show_fields(session, document)
    return 0


def show_text(session: Session, identifier: str) -> int:
    """Prints the Markdown that was made of an item."""
    document = session.client.call("GET", f"{PLACES['itm']}/{identifier}/text")
    if not session.answered(document, [identifier]):
        session.text(text(document, "markdown"))
    return 0


def show_history(session: Session, identifier: str) -> int:
    """Prints the revisions of a memory as the daemon lists them."""
    document = session.client.call("GET", f"{PLACES['mem']}/{identifier}/history")
    revisions = rows(document)
    if not session.answered(document, [text(row, "revision_id") or text(row, "id") for row in revisions]):
        for revision in revisions:
            _show_fields(session, {key: value for key, value in revision.items() if key != "content"})
            session.line()
    return 0


def _show_fields(session: Session, document: JsonObject) -> None:
    for field in document:
        if field not in _LONG and (words(document, field) or text(document, field)):
            value = ", ".join(words(document, field)) or text(document, field)
            session.line(f"{field:<20}{value}")
    if words(document, "proposals"):
        session.line(f"{'proposals':<20}{', '.join(words(document, 'proposals'))}")
    for event in rows(document, "timeline"):
        after = "" if event.get("ms") is None else f"+{number(event, 'ms')} ms"
        session.line(f"{text(event, 'at'):<28}{after:>11}  {text(event, 'action'):<14}{text(event, 'actor')}")
    if text(document, "content"):
        session.line()
        session.text(text(document, "content"), "| ")


SHOW = Verb(
    name="show",
    help="show one item, proposal, decision or memory",
    examples=("narthex show 1", "narthex show itm_01jq7r3k8v2m --text", "narthex show mem_01jq7r3k8v2m --history"),
    arguments=_arguments,
    run=_run,
)
