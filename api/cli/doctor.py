"""``narthex doctor``: everything that can be wrong with this narthex, with and without its daemon; mends nothing."""

from __future__ import annotations

import argparse
import socket
import stat
from collections.abc import Iterator

from api.cli._checkup import Finding, outside
from api.cli._documents import part, rows, text
from api.cli._homes import config_folder
from api.cli._session import Session
from api.cli._verbs import Verb
from api.client import LOOPBACK, JsonObject, port_of, socket_path
from pipelines.model.errors import NarthexError, Refused, Unauthenticated

_WRONG = 1
_SECONDS = 2.0


def _run(args: argparse.Namespace, session: Session) -> int:
    findings = [*outside(session.home, session.around.clock()), *_login_file(session)]
    if session.home.root.is_dir():
        findings += _with_daemon(session)
    wrong = [finding for finding in findings if not finding.ok]
    document: JsonObject = {
        "home": str(session.home.root),
        "ok": not wrong,
        "checks": [one.document() for one in findings],
    }
    if not session.answered(document, [finding.check for finding in wrong]):
        for finding in findings:
            session.line(f"{'ok' if finding.ok else 'WRONG':<7}{finding.check:<16}{finding.what}")
            if not finding.ok:
                session.line(f"{'':<7}{'why':<16}{finding.why}")
                session.line(f"{'':<7}{'next':<16}{finding.next}")
    return _WRONG if wrong else 0


def _login_file(session: Session) -> Iterator[Finding]:
    folder = config_folder(session.around.variables) / "sessions"
    for path in folder.iterdir() if folder.is_dir() else ():
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            why = "whoever reads it acts as you"
            yield Finding("login", False, f"{path} is open to other users", why, f"chmod 600 '{path}'; narthex login")


def _with_daemon(session: Session) -> Iterator[Finding]:
    place = socket_path(session.home, session.around.variables)
    try:
        session.client.anonymous().call("GET", "/livez")
    except NarthexError as error:
        left = "a socket of an earlier one is there" if place.exists() else "there is no socket"
        next_step = "narthex service start   ·   narthexd"
        yield Finding("daemon", False, f"narthexd does not answer: {left}", error.message, next_step)
        yield _port(session, running=False)
        return
    yield Finding("daemon", True, f"answers on {place}")
    yield _port(session, running=True)
    yield from _own_checks(session)


def _port(session: Session, *, running: bool) -> Finding:
    try:
        port = port_of(session.home, session.around.variables)
    except Refused as error:
        return Finding("port", False, error.message, "narthexd does not start with it", error.hint)
    if port == 0:
        return Finding("port", True, "any free one, as the settings say")
    with socket.socket() as channel:
        channel.settimeout(_SECONDS)
        open_now = channel.connect_ex((LOOPBACK, port)) == 0
    if running and not open_now:
        why = "the settings name another port than the one it was started with"
        return Finding("port", False, f"nothing answers on port {port}", why, "narthex service restart")
    if open_now and not running:
        why = "narthexd cannot start while another program has it"
        return Finding(
            "port", False, f"port {port} is taken", why, "stop that program, or set another port in narthex.toml"
        )
    return Finding("port", True, f"{port} is {'answered' if open_now else 'free'}")


def _own_checks(session: Session) -> Iterator[Finding]:
    """What the daemon says of itself: its owner hears all of it, anybody else only whether it is ready."""
    try:
        status = session.client.call("GET", "/v1/status")
    except Unauthenticated:
        yield _ready(session)
        return
    except NarthexError as error:
        yield Finding("status", False, error.message, "its checks could not be read", error.hint or "narthex login")
        return
    checks = part(status, "checks")
    for name in checks:
        check = part(checks, name)
        if check.get("ok"):
            yield Finding(name, True, text(check, "detail") or "ok")
        else:
            yield Finding(
                name, False, text(check, "detail") or "fails", "the daemon's own check", "narthex service logs"
            )
    for run in rows(status, "runs"):
        if text(run, "problem"):
            yield Finding(
                text(run, "job"),
                False,
                text(run, "problem"),
                f"its run of {text(run, 'slot')} failed",
                "narthex service logs",
            )


def _ready(session: Session) -> Finding:
    try:
        session.client.anonymous().call("GET", "/readyz")
    except NarthexError as error:
        return Finding(
            "ready", False, "the daemon says that a check fails", error.message, "narthex login, then narthex doctor"
        )
    return Finding("ready", True, "every check of the daemon holds; log in to see them")


DOCTOR = Verb(
    name="doctor",
    help="look for everything that can be wrong, and say what to do",
    examples=("narthex doctor", "narthex doctor --json", "narthex --home ~/Work doctor"),
    run=_run,
)
