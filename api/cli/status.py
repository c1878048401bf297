"""``narthex status``: one screen that says whether narthex is well and what waits for whom."""

from __future__ import annotations

import argparse
import time
from datetime import datetime
from typing import Final

from api.cli._documents import counted, number, part, rows, text
from api.cli._queue import waiting
from api.cli._session import Session, Usage
from api.cli._verbs import Verb
from api.client import JsonObject, Unreachable

_NOT_WELL = 1
_EVERY: Final = 1.0  # seconds
_ANEW: Final = "\x1b[H\x1b[2J"  # the top of a cleared screen
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", default=False, help="exit with 1 when a check fails")
    parser.add_argument("--watch", action="store_true", default=False, help="go on showing it, until Ctrl-C")


def _run(args: argparse.Namespace, session: Session) -> int:
    if args.watch:
        return _watch(session)
    status = _ask(session)
    failing = [name for name, check in _checks(status) if not check.get("ok")]
    if not session.answered(status, failing):
        for line in _screen(status, session.around.clock()):
            session.line(line)
    return _NOT_WELL if args.check and failing else 0


def _watch(session: Session) -> int:
    """Draws the screen anew each second, on a terminal alone."""
    if session.as_json or session.quiet or not session.around.output.isatty():
        raise Usage("--watch draws on a terminal", hint="narthex status --json   ·   narthex events --follow")
    try:
        while True:
            lines = _screen(_ask(session), session.around.clock())
            session.around.output.write(_ANEW)  # one write of ours; what the lines say is made visible as ever
            for line in lines:
                session.line(line)
            session.around.output.flush()
            time.sleep(_EVERY)
    except KeyboardInterrupt:
        return 0


def _ask(session: Session) -> JsonObject:
    try:
        return session.client.call("GET", "/v1/status")
    except Unreachable as error:
        queued = waiting(session.home)
        saved = f"; in the local queue: {counted(queued, 'capture')}" if queued else ""
        raise Unreachable(
            f"{error.message}{saved}", hint=f"{session.starting}   ·   narthex service start   ·   narthex doctor"
        ) from error


def _screen(status: JsonObject, now: datetime) -> list[str]:
    inbox, review = part(status, "inbox"), part(status, "review")
    head = ["narthex " + text(status, "version"), "up " + _span(number(status, "uptime_s"))]
    lines = [
        "   ".join([*head, "vault " + text(status, "vault"), text(status, "address")]),
        f"  drop       {text(status, 'drop')}",
        f"  inbox      {progress_line(status) or '0 working'} · {_help(number(inbox, 'needs_help'))}",
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


def progress_line(status: JsonObject) -> str:
    """How the work gets on, as far as the daemon can tell; empty when there is none."""
    progress = part(status, "progress")
    working = number(progress, "working") or number(part(status, "inbox"), "working")
    if not working:
        return ""
    words = [f"{working} working"]
    if number(progress, "rate_per_minute"):
        words.append(f"{number(progress, 'rate_per_minute')} a minute")
    if progress.get("seconds_left") is not None:
        words.append(f"about {_span(number(progress, 'seconds_left'))} left")
    return ", ".join(words)


def _checks(status: JsonObject) -> list[tuple[str, JsonObject]]:
    checks = part(status, "checks")
    return [(name, part(checks, name)) for name in checks]


def _help(count: int) -> str:
    return f"{count} {'needs' if count == 1 else 'need'} help{'   → narthex inbox' if count else ''}"


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
