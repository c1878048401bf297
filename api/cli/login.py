"""``narthex login``: exchanges the one-time code that the daemon shows for an owner session, kept for this user."""

from __future__ import annotations

import argparse

from api.cli._documents import text
from api.cli._session import Session, Usage
from api.cli._verbs import Verb


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", default="", metavar="CODE", help="left out: the daemon shows a fresh one")


def _run(args: argparse.Namespace, session: Session) -> int:
    code: str = args.code or _asked_for(session)
    opened = session.client.anonymous(socket_only=False).call(
        "POST", "/v1/session", {"code": code, "client": "narthex"}
    )
    stored = session.bearers.store(session.home, text(opened, "token"))
    shown = {"home": str(session.home.root), "expires_at": text(opened, "expires_at"), "stored": str(stored)}
    if not session.answered(shown):
        session.line(f"logged in to {session.home.root} until {text(opened, 'expires_at')}")
    return 0


def _asked_for(session: Session) -> str:
    if not session.around.terminal.interactive():
        raise Usage("the one-time CODE is missing, and nobody is here to type it", hint="narthex login CODE")
    printed = session.client.anonymous().call("POST", "/v1/session/code", {})
    place = text(printed, "printed_on") or "the daemon's terminal or journal"
    code = session.around.terminal.ask(f"A one-time code stands on {place}. Code: ").strip()
    if not code:
        raise Usage("no code was typed", hint="narthex login CODE")
    return code


LOGIN = Verb(
    name="login",
    help="become the owner here, with the one-time code that the daemon shows",
    examples=("narthex login", "narthex login 7K2M-Q9XA", "narthex --home ~/Work login"),
    arguments=_arguments,
    run=_run,
)
