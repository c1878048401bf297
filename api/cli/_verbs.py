"""What a verb is, and which there are: the files of this folder. Imports a verb only when it is asked for."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NoReturn

import api.cli
from api.cli._session import Session, Usage
from pipelines.model.errors import Broken

_NOT_VERBS: Final = frozenset({"main"})


def _no_arguments(parser: argparse.ArgumentParser) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Verb:
    """One word of the command line: what it takes, and the function that does it and answers the exit status.

    ``examples`` are three real ones. ``run`` lets every ``NarthexError`` pass: ``main`` decides what follows.
    """

    name: str
    help: str
    examples: tuple[str, str, str]
    run: Callable[[argparse.Namespace, Session], int]
    arguments: Callable[[argparse.ArgumentParser], None] = _no_arguments


class Parser(argparse.ArgumentParser):
    """A parser that raises ``Usage`` where argparse would print and exit."""

    def error(self, message: str) -> NoReturn:
        """Called by argparse with a sentence that names the argument."""
        raise Usage(message, hint=f"{self.prog} --help")


def verb_names() -> list[str]:
    """Every verb, by the file that declares it."""
    names = (module.name for module in pkgutil.iter_modules(api.cli.__path__))
    return sorted(name for name in names if not name.startswith("_") and name not in _NOT_VERBS)


def load(name: str) -> Verb:
    """The verb of this name. Raises ``Usage`` when there is none, ``Broken`` when its file declares none or another."""
    if name not in verb_names():
        raise Usage(f"there is no verb {name[:40]!r}", hint=_nearest(name, verb_names()))
    module = importlib.import_module(f"api.cli.{name}")
    found = [value for value in vars(module).values() if isinstance(value, Verb)]
    if len(found) != 1 or found[0].name != name:
        raise Broken(f"{module.__name__} must declare exactly one Verb, named {name!r}")
    return found[0]


def parser_of(verb: Verb) -> Parser:
    """The parser of one verb, with the options that every verb has; those answer only when they were given."""
    parser = Parser(
        prog=f"narthex {verb.name}",
        description=verb.help,
        epilog="examples:\n" + "\n".join(f"  {line}" for line in verb.examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    verb.arguments(parser)
    add_shared_options(parser)
    return parser


def add_shared_options(parser: argparse.ArgumentParser) -> None:
    """What every verb takes, before or after its name."""
    shared = parser.add_argument_group("with every verb")
    absent = argparse.SUPPRESS
    shared.add_argument("--home", metavar="HOME", default=absent, help="which narthex: its name or its folder")
    shared.add_argument("--token", metavar="TOKEN", default=absent, help="a credential, better put into NARTHEX_TOKEN")
    shared.add_argument("--json", action="store_true", default=absent, help="one JSON document on standard output")
    shared.add_argument("-q", "--quiet", action="store_true", default=absent, help="only ids on standard output")


def _nearest(name: str, known: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"narthex {near[0]} --help" if near else "narthex --help"
