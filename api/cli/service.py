"""``narthex service``: narthexd as a user service of systemd, shown before it is written; touches no home."""

from __future__ import annotations

import argparse
import re

from api.cli import _systemd
from api.cli._homes import is_home, write_private
from api.cli._session import Session, Usage
from api.cli._systemd import UserManager
from api.cli._terminal import confirmed
from api.cli._verbs import Verb
from api.client import JsonObject, socket_path
from pipelines.model.errors import Conflict, NotFound

_ACTIONS = ("install", "start", "stop", "restart", "status", "logs", "uninstall")
_NOT_RUNNING = 1
_UNIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="status", help="the default is status")
    parser.add_argument("--unit", default="narthexd", metavar="NAME", help="another name, for a second home")
    parser.add_argument("--yes", action="store_true", default=False, help="install and uninstall without asking")
    parser.add_argument("-n", "--lines", type=int, default=50, metavar="N", help="of logs: how many, at first")
    parser.add_argument("-f", "--follow", action="store_true", default=False, help="of logs: go on as they come")


def _run(args: argparse.Namespace, session: Session) -> int:
    unit = args.unit.removesuffix(".service")
    if not _UNIT.fullmatch(unit):
        raise Usage("--unit is a name of letters, digits, - and _", hint="narthex service install --unit narthexd-work")
    manager = UserManager(session.around.variables, unit)
    if args.action == "install":
        return _install(session, manager, sure=args.yes)
    if not manager.path.exists():
        raise NotFound(f"there is no unit {manager.path}", hint="narthex service install")
    if args.action == "uninstall":
        return _uninstall(session, manager, sure=args.yes)
    if args.action == "logs":
        return _logs(session, manager, args.lines, follow=args.follow)
    if args.action != "status":
        manager.do(args.action, f"{unit}.service")
    return _status(session, manager, asked=args.action == "status")


def _install(session: Session, manager: UserManager, *, sure: bool) -> int:
    home = session.home
    if not is_home(home):
        raise NotFound(f"there is no narthex at {home.root} that a service could run", hint="narthex init")
    program = _systemd.program(session.around.variables)
    socket = socket_path(home, session.around.variables)
    text = _systemd.filled(_systemd.template(), home, program, socket)
    before = manager.path.read_text("utf-8") if manager.path.exists() else ""
    if before and _systemd.home_line(before) != _systemd.home_line(text):
        raise Conflict(
            f"{manager.path} runs another home", hint="narthex service install --unit narthexd-NAME  makes a second one"
        )
    manager.check()
    steps = (f"write {manager.path}", *(f"systemctl --user {' '.join(step)}" for step in manager.enabling()))
    if before != text and not sure:
        session.around.terminal.show("\n".join([text, *(f"  {step}" for step in steps), ""]))
        if not session.around.terminal.interactive():
            raise Usage("nobody is here to look at this unit", hint="Add --yes.")
        if not confirmed(session.around.terminal, "Do this?"):
            return 1
    if before != text:
        write_private(manager.path, text)
    for step in manager.enabling():
        manager.do(*step)
    document: JsonObject = {"unit": manager.unit, "path": str(manager.path), "home": str(home.root), "text": text}
    if not session.answered(document, [str(manager.path)]):
        session.line(f"{manager.path} is {'as it was' if before == text else 'written'}; it starts with your login")
        session.hint(f"next: {manager.verb('start')}   ·   without a login: loginctl enable-linger")
    return 0


def _uninstall(session: Session, manager: UserManager, *, sure: bool) -> int:
    if not sure:
        if not session.around.terminal.interactive():
            raise Usage("nobody is here to confirm that the service goes", hint="Add --yes.")
        question = f"Stop {manager.unit} and remove {manager.path}? Your home stays as it is."
        if not confirmed(session.around.terminal, question):
            return 1
    manager.do("disable", "--now", f"{manager.unit}.service")
    manager.path.unlink()
    manager.do("daemon-reload")
    if not session.answered({"unit": manager.unit, "removed": str(manager.path)}, [str(manager.path)]):
        session.line(f"{manager.path} is removed; nothing else was touched")
    return 0


def _status(session: Session, manager: UserManager, *, asked: bool) -> int:
    stated = manager.properties()
    running = stated.get("ActiveState") == "active"
    document: JsonObject = {"unit": manager.unit, "path": str(manager.path), "running": running, **stated}
    if not session.answered(document, [manager.unit]):
        state = " ".join(filter(None, (stated.get("ActiveState"), stated.get("SubState"))))
        session.line(f"{manager.unit}  {state or 'unknown'}  {stated.get('StatusText', '')}".rstrip())
        if stated.get("Result", "success") != "success":
            status = stated.get("ExecMainStatus", "?")
            session.line(f"  it ended: {stated['Result']}, exit status {status}   → {manager.verb('logs')}")
        elif not running and asked:
            session.hint(f"next: {manager.verb('start')}")
    return _NOT_RUNNING if asked and not running else 0


def _logs(session: Session, manager: UserManager, lines: int, *, follow: bool) -> int:
    if follow and session.as_json:
        raise Usage("logs that go on are no one JSON document", hint="leave --json or --follow out")
    found = manager.journal(lines, follow=follow)
    if session.as_json:
        session.answered({"unit": manager.unit, "lines": list(found)})
        return 0
    for line in found:
        session.line(line)
    return 0


SERVICE = Verb(
    name="service",
    help="run narthexd as a service that starts with your login",
    examples=("narthex service install", "narthex service restart", "narthex service logs --follow"),
    arguments=_arguments,
    run=_run,
)
