"""``narthex config``: where the settings are, what holds, and whether the file can be read. Never writes settings."""

from __future__ import annotations

import argparse
import stat
import tomllib

from api.cli._documents import rows, text
from api.cli._session import Session
from api.cli._verbs import Verb
from api.client import JsonObject, port_of
from pipelines.model.errors import Refused, Transient

_WRONG = 1


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
    """What can be known from outside; which keys there are, only a running daemon can say."""
    wrong, unchecked = _wrong_in_file(session)
    port = port_of(session.home, session.around.variables) if not wrong else None
    document: JsonObject = {"path": str(session.home.settings), "ok": not wrong, "problems": wrong, "port": port}
    if not session.answered(document, wrong):
        for problem in wrong:
            session.line(f"wrong  {problem}")
        if not wrong:
            session.line(f"ok     {session.home.settings}, port {port}")
        if unchecked:
            session.hint("the names of the keys were not checked: only a daemon that answers its owner knows them")
    return _WRONG if wrong else 0


def _wrong_in_file(session: Session) -> tuple[list[str], bool]:
    path = session.home.settings
    if not path.exists():
        return [], False
    wrong = []
    if path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        wrong.append(f"{path} can be changed by other users: chmod 600 {path}")
    try:
        keys = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return [*wrong, f"{path} is not valid TOML: {error}"], False
    try:
        known = {text(row, "key") for row in rows(session.client.call("GET", "/v1/settings"))}
    except (Transient, Refused):
        return wrong, True
    return [*wrong, *(f"no setting is called {key!r}" for key in keys if key not in known)], False


CONFIG = Verb(
    name="config",
    help="where the settings are, what holds, whether they are right",
    examples=("narthex config", "narthex config path", "narthex config check"),
    arguments=_arguments,
    run=_run,
)
