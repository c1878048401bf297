"""``narthex open``: a link that works once and opens the review page as the owner."""

from __future__ import annotations

import argparse

from api.cli._documents import text
from api.cli._session import Session, Usage
from api.cli._verbs import Verb


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--browser", action="store_true", default=False, help="open it in your browser too")


def _run(args: argparse.Namespace, session: Session) -> int:
    if args.browser and not session.around.terminal.interactive():
        raise Usage("--browser needs a person at a terminal", hint="narthex open prints the link")
    link = session.client.call("POST", "/v1/session/link", {})
    if not session.answered(link, [text(link, "url")]):
        session.line(text(link, "url"))
        session.hint("it works once; open it in the browser of this machine")
    if args.browser:
        import webbrowser

        if not webbrowser.open(text(link, "url")):
            session.hint("no browser could be started")
    return 0


OPEN = Verb(
    name="open",
    help="print a one-time link to the review page",
    examples=("narthex open", "narthex open --browser", "narthex open --json"),
    arguments=_arguments,
    run=_run,
)
