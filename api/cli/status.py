"""``narthex status``: one screen that says whether narthex is well and what waits for whom."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import Final

from api.cli._documents import number, part, rows, text
from api.cli._queue import waiting
from api.cli._session import Session
from api.cli._verbs import Verb
from api.client import JsonObject, Unreachable

_NOT_WELL = 1
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", default=False, help="exit with 1 when a check fails")


def _run(args: argparse.Namespace, session: Session) -> int:
    try:
        status = session.client.call("GET", "/v1/status")
    except Unreachable as error:
        queued = waiting(session.home)
        saved = f"; {queued} captures wait in the local queue" if queued else ""
        raise Unreachable(f"{error.message}{saved}", hint="narthexd   ·   systemctl --user start narthexd") from error
    failing = [name for name, check in _checks(status) if not check.get("ok")]
    if not session.answered(status, failing):
        for line in _screen(status, session.around.clock()):
            session.line(line)
    return _NOT_WELL if args.check and failing else 0


def _screen(status: JsonObject, now: datetime) -> list[str]:
    inbox, review = part(status, "inbox"), part(status, "review")
    head = ["narthex " + text(status, "version"), "up " + _span(number(status, "uptime_s"))]
    lines = [
        "   ".join([*head, "vault " + text(status, "vault"), text(status, "address")]),
        f"  drop       {text(status, 'drop')}",
        f"  inbox      {number(inbox, 'working')} working · {_help(number(inbox, 'needs_help'))}",
        f"  review     {number(review, 'pending')} pending{_oldest(review, now)}{_next(review)}",
    ]
    if number(review, "stale"):
        lines.append(f"  stale      {number(review, 'stale')}   → narthex proposals --state stale")
    lines.append(f"  memories   {number(status, 'memories')}")
    lines += [
        f"  {'ok' if check.get('ok') else 'FAILS':<11}{': '.join(filter(None, (name, text(check, 'detail'))))}"
        for name, check in _checks(status)
    ]
    lines += [
        f"  run        {text(run, 'job')}: {text(run, 'problem')}" for run in rows(status, "runs") if run.get("problem")
    ]
    return lines


def _checks(status: JsonObject) -> list[tuple[str, JsonObject]]:
    checks = part(status, "checks")
    return [(name, part(checks, name)) for name in checks]


def _help(count: int) -> str:
    return f"{count} needs help   → narthex inbox" if count else "0 needs help"


def _next(review: JsonObject) -> str:
    return "   → narthex proposals" if number(review, "pending") else ""


def _oldest(review: JsonObject, now: datetime) -> str:
    stated = text(review, "oldest_submitted_at")
    try:
        since = datetime.fromisoformat(stated)
    except ValueError:
        return ""
    return f" · oldest {_span(int((now - since).total_seconds()))}" if since.tzinfo else ""


def _span(seconds: int) -> str:
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), (1, "s"))
    return f"{max(seconds, 0) // size} {unit}"


STATUS = Verb(
    name="status",
    help="whether narthex is well, and what waits",
    examples=("narthex status", "narthex status --check", "narthex status --json"),
    arguments=_arguments,
    run=_run,
)
