"""``narthex add``: takes something in. When no daemon answers it waits in the local queue, and nothing is lost."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from typing import Final

from api.cli._captures import Capture, Labels, as_text, from_stream, guessed, send
from api.cli._documents import counted, text
from api.cli._documents import words as words_of
from api.cli._problems import each, failed
from api.cli._queue import put, waiting
from api.cli._session import Session
from api.cli._verbs import Verb
from api.client import JsonObject, Unreachable
from pipelines.model.errors import Busy, Refused, StorageFull, Transient, Unauthenticated, Unreadable
from pipelines.model.lifecycle import ItemState

_WAIT_SECONDS: Final = 120.0
_PAUSE_SECONDS: Final = 0.2
_WORKING: Final = frozenset({ItemState.FETCHED, ItemState.EXTRACTED, ItemState.NORMALIZED})


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="TEXT|URL|FILE|-", default=[], help="- reads standard input")
    parser.add_argument(
        "--text", action="store_true", default=False, help="the words are text, whatever they look like"
    )
    parser.add_argument("-t", "--tag", action="append", default=[], metavar="TAG", help="again for each tag")
    parser.add_argument("-s", "--scope", default="", help="whose it is; the default is a setting")
    parser.add_argument("-n", "--note", default="", help="why you keep it")
    parser.add_argument("--title", default="", help="of a text or link; a file has its name")
    parser.add_argument("--wait", action="store_true", default=False, help="until it is proposed or put aside")


def _run(args: argparse.Namespace, session: Session) -> int:
    captures = _meant(args)
    items, status = each(session, captures, lambda capture: _take_in(session, capture))
    problem = None
    if args.wait:
        try:
            items = [_settled(session, item) for item in items]
        except (Refused, Transient) as error:
            problem = error  # the captures are safe: what they are comes out before the reason why waiting failed
    taken = [item for item in items if not failed(item)]
    if not session.answered({"items": items}, [text(item, "id") or text(item, "key") for item in taken]):
        for item in taken:
            _show(session, item)
    if problem is not None:
        session.hint(f"narthex: it is taken in, but waiting for it failed: {problem.message}")
        session.hint(f"  next: {problem.hint or 'narthex inbox'}")
        return problem.exit_code
    unreadable = args.wait and any(text(item, "state") == ItemState.QUARANTINED for item in taken)
    return status or (Unreadable.exit_code if unreadable else 0)


def _meant(args: argparse.Namespace) -> list[Capture]:
    labels = Labels(args.title, args.note, tuple(args.tag), args.scope)
    words: list[str] = args.words
    if args.text:
        return [as_text(words, labels)]
    return [from_stream(sys.stdin.buffer.read(), labels)] if words == ["-"] else guessed(words, labels)


def _take_in(session: Session, capture: Capture) -> JsonObject:
    key = session.around.new_key()
    try:
        return _sent(session, capture, key)
    except (StorageFull, Busy):
        raise
    except Transient as error:
        path = put(session.home, capture, key, session.around.clock())
        session.hint(f"narthex: {error.message}")
        session.hint(
            f"  it is saved in the local queue ({waiting(session.home)} waiting); narthexd takes it when it runs"
        )
        session.hint(f"  next: {session.starting}   ·   narthex status")
        return {"queued": True, "key": key, "kind": capture.kind.value, "name": str(capture), "path": str(path)}


def _sent(session: Session, capture: Capture, key: str) -> JsonObject:
    try:
        return send(session.client, capture, key)
    except Unauthenticated:
        if session.stated_bearer:
            raise
        # a login that has ended must not cost a capture: the socket takes it from the same user without one
        item = send(session.client.anonymous(), capture, key)
        session.hint("your login has ended; narthex login starts another")
        return item


def _settled(session: Session, item: JsonObject) -> JsonObject:
    """The item as it is when the daemon has done its part. Raises ``Transient`` after two minutes."""
    deadline = time.monotonic() + _WAIT_SECONDS
    pause = threading.Event()
    while not failed(item):
        if item.get("queued"):
            raise Unreachable("no daemon works on it yet", hint=session.starting)
        item = session.client.call("GET", f"/v1/items/{text(item, 'id')}")
        if text(item, "state") not in _WORKING:
            break
        if time.monotonic() > deadline:
            raise Transient(f"{text(item, 'id')} is still being read", hint=f"narthex show {text(item, 'id')}")
        pause.wait(_PAUSE_SECONDS)
    return item


def _show(session: Session, item: JsonObject) -> None:
    if item.get("queued"):
        session.line(f"queued  {text(item, 'kind')}  {text(item, 'name')}  {Path(text(item, 'path')).name}")
        return
    proposals = len(words_of(item, "proposals"))
    facts = [text(item, "id"), text(item, "kind"), text(item, "name") or text(item, "url"), text(item, "state")]
    if text(item, "duplicate_of"):
        facts.append(f"the same as {text(item, 'duplicate_of')}")
    if text(item, "quarantine_reason"):
        facts.append(text(item, "quarantine_reason"))
    if proposals:
        facts.append(counted(proposals, "proposal"))
    session.line("  ".join(fact for fact in facts if fact))


ADD = Verb(
    name="add",
    help="take in a text, a link, a file or standard input",
    examples=(
        'narthex add "Seeds keep longest at 4 °C, dry." -t garden',
        'narthex add https://example.org/seeds -n "storage temperature"',
        "narthex add --wait scan.pdf letter.docx",
    ),
    arguments=_arguments,
    run=_run,
)
