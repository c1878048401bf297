"""``narthex homes``: names for several narthexes of one user, and which one is meant when none is said. Never touches
what is inside a home."""

from __future__ import annotations

import argparse

from api.cli._homes import Homes, home_at, is_home
from api.cli._session import Session, Usage
from api.cli._verbs import Verb
from api.client import JsonObject
from pipelines.model.errors import NotFound
from pipelines.model.values import Home

_TAKES = {"list": (), "add": ("NAME", "DIR"), "use": ("NAME",), "rename": ("OLD", "NEW"), "remove": ("NAME",)}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=list(_TAKES), default="list", help="the default is list")
    parser.add_argument("words", nargs="*", metavar="NAME|DIR", default=[], help="add NAME DIR · rename OLD NEW")


def _run(args: argparse.Namespace, session: Session) -> int:
    words: list[str] = args.words
    wanted = _TAKES[args.action]
    if len(words) != len(wanted):
        raise Usage(f"{args.action} takes {' and '.join(wanted) or 'nothing'}", hint="narthex homes --help")
    homes = session.registry.read() if args.action == "list" else _changed(session, args.action, words)
    document = _document(homes)
    if not session.answered(document, homes.paths):
        for name, path in homes.paths.items():
            missing = "" if is_home(Home(homes.path_of(name))) else "  (no narthex there)"
            session.line(f"{'*' if name == homes.current else ' '} {name:<12} {path}{missing}")
        if homes.paths and not homes.current:
            session.hint("none is the current one: narthex homes use NAME")
        if not homes.paths:
            session.hint("none is named; without a name it is ~/Narthex: narthex homes add NAME DIR")
    return 0


def _changed(session: Session, action: str, words: list[str]) -> Homes:
    first = words[0]
    if action == "add":
        home = home_at(words[1], session.around.variables)
        if not is_home(home):
            raise NotFound(f"{home.root} is no narthex", hint=f"narthex init --home {home.root}")
        return _added(session, first, home)
    if action == "use":
        return session.registry.change(lambda homes: homes.using(first))
    if action == "rename":
        return session.registry.change(lambda homes: homes.renamed(first, words[1]))
    root = session.registry.read().path_of(first)
    homes = session.registry.change(lambda homes: homes.without(first))
    session.bearers.forget(Home(root))
    session.hint(f"{root} is as it was; only its name and your login are gone")
    return homes


def _added(session: Session, name: str, home: Home) -> Homes:
    variables = session.around.variables
    homes = session.registry.change(lambda homes: homes.keeping(variables, home.root).with_home(name, home.root))
    if homes.current != name:
        session.hint(f"{homes.current} stays the current one; narthex homes use {name} changes that")
    return homes


def _document(homes: Homes) -> JsonObject:
    items: list[JsonObject] = [
        {"name": name, "path": path, "current": name == homes.current, "exists": is_home(Home(homes.path_of(name)))}
        for name, path in homes.paths.items()
    ]
    return {"current": homes.current or None, "items": items}


HOMES = Verb(
    name="homes",
    help="name several narthexes and choose between them",
    examples=("narthex homes", "narthex homes add work ~/Work/Narthex", "narthex homes use work"),
    arguments=_arguments,
    run=_run,
)
