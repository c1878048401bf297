"""``narthex events``: what happened, from the chain of events, and what happens; one line an event."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator

from api.cli._documents import number, text
from api.cli._session import Session, Usage
from api.cli._verbs import Verb
from api.client import JsonObject, Unreachable


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--follow", action="store_true", default=False, help="go on as they happen")
    parser.add_argument("--since", type=int, default=None, metavar="ID", help="only what came after this event")


def _run(args: argparse.Namespace, session: Session) -> int:
    since: int | None = args.since
    if since is not None and since < 0:
        raise Usage("an event is numbered from 1", hint="narthex events --since 0")
    query = [] if args.follow else ["follow=false"]
    if since is not None or not args.follow:
        query.append(f"since={since or 0}")
    seen = since or 0
    for event in told(session.client.lines("/v1/events" + ("?" + "&".join(query) if query else ""))):
        seen = number(event, "seq")
        _show(session, event)
    if args.follow:
        why = "the daemon ended the stream: it stops, or this session is over"
        raise Unreachable(why, hint=f"narthex events --follow --since {seen}")
    return 0


def told(lines: Iterable[bytes]) -> Iterator[JsonObject]:
    """The events of a stream; a line that carries none is a sign of life."""
    for line in lines:
        if line.startswith(b"data: "):
            event: object = json.loads(line.removeprefix(b"data: "))
            if isinstance(event, dict):
                yield event


def _show(session: Session, event: JsonObject) -> None:
    if session.as_json:  # a document a line: a stream has no end at which a list could be closed
        print(json.dumps(event), file=session.around.output, flush=True)
    elif session.quiet:
        session.line(text(event, "seq"))
    else:
        about = [text(event, name) for name in ("subject", "actor", "channel")]
        session.line(
            f"{text(event, 'seq'):>7}  {text(event, 'at')[:19]}  {text(event, 'action'):<16}" + "  ".join(about)
        )
    session.around.output.flush()


EVENTS = Verb(
    name="events",
    help="what happened and what happens, one line each",
    examples=("narthex events --since 120", "narthex events --follow", "narthex events --follow --json"),
    arguments=_arguments,
    run=_run,
)
