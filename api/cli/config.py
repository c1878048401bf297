"""``narthex config``: where the settings are, what holds, and whether the daemon takes them. Never writes settings."""

from __future__ import annotations

import argparse
import stat
import subprocess
import sys

from api.cli._documents import rows, text
from api.cli._session import Session
from api.cli._verbs import Verb
from api.client import JsonObject, port_of
from pipelines.model.errors import Broken, Refused

_OPEN_TO_OTHERS = 1


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("show", "path", "check"), default="show", help="the default is show"
    )


def _run(args: argparse.Namespace, session: Session) -> int:
    if args.action == "path":
        path = str(session.home.settings)
        if not session.answered({"home": str(session.home.root), "path": path}, [path]):
            session.line(path)
        return 0
    return _check(session) if args.action == "check" else _show(session)


def _show(session: Session) -> int:
    settings = session.client.call("GET", "/v1/settings")
    found = rows(settings)
    if not session.answered(settings, [text(row, "key") for row in found]):
        session.table([[text(row, "key"), text(row, "value"), text(row, "source")] for row in found])
    return 0


def _check(session: Session) -> int:
    """Has the daemon's own reader judge, with the variables of this command: what it refuses is wrong, and no more.

    The exit status is the one that ``narthexd`` would end with, or 1 when only the rights of the file are wrong.
    """
    path = session.home.settings
    status, wrong = _judged(session)
    if path.exists() and path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        wrong.append(f"{path} can be changed by other users: chmod 600 {path}")
        status = status or _OPEN_TO_OTHERS
    port = None if status else port_of(session.home, session.around.variables)
    document: JsonObject = {"path": str(path), "ok": not status, "problems": wrong, "port": port}
    if not session.answered(document, wrong):
        for problem in wrong:
            session.line(f"wrong  {problem}")
        if not status:
            session.line(f"ok     {path}{'' if path.exists() else ' (not there: the defaults hold)'}, port {port}")
    return status


def _judged(session: Session) -> tuple[int, list[str]]:
    """What ``narthexd --check-config`` ends with, and what it says. Raises ``Broken`` when it cannot say anything."""
    # -P: what lies in the folder where the command was typed must not be taken for the daemon
    program = [sys.executable, "-P", "-m", "daemon.main", "--check-config", "--home", str(session.home.root)]
    variables = {**session.around.variables}
    done = subprocess.run(program, env=variables, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    said = " ".join(done.stderr.decode("utf-8", "replace").removeprefix("narthexd: ").split())
    if done.returncode not in {0, Refused.exit_code}:
        raise Broken(f"narthexd --check-config ended with {done.returncode}: {said[-300:]}", hint="narthex doctor")
    return done.returncode, [said] if done.returncode else []


CONFIG = Verb(
    name="config",
    help="where the settings are, what holds, whether they are right",
    examples=("narthex config", "narthex config path", "narthex config check"),
    arguments=_arguments,
    run=_run,
)
