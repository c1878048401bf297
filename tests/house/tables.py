"""What the generated tables say, read from the code that decides it; writes nothing."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipelines.model import errors as family_of_errors
from pipelines.model import lifecycle
from pipelines.model.lifecycle import Move


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Markdown lines; a bar in a cell is escaped."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") or "–" for cell in row) + " |"


def items() -> Iterator[str]:
    """The moves of an item."""
    yield from _moves(lifecycle.ITEM_MOVES, lifecycle.ItemState)


def proposals() -> Iterator[str]:
    """The moves of a proposal."""
    yield from _moves(lifecycle.PROPOSAL_MOVES, lifecycle.ProposalState)


def memories() -> Iterator[str]:
    """The moves of a memory."""
    yield from _moves(lifecycle.MEMORY_MOVES, lifecycle.MemoryState)


def verification() -> Iterator[str]:
    """The moves of the second axis."""
    yield from _moves(lifecycle.VERIFICATION_MOVES, lifecycle.Verification)


def _moves(moves: Mapping[str, Move[Any]], states: Iterable[str]) -> Iterator[str]:
    order = [str(state) for state in states]
    rows = []
    for move in moves.values():
        sources = sorted((str(state) for state in move.sources), key=order.index)
        actors = ", ".join(sorted(str(actor) for actor in move.actors))
        rows.append((move.event, ", ".join(sources), str(move.target), actors))
    yield from table(("event", "from", "to", "who"), rows)


def errors() -> Iterator[str]:
    """The error tree, families first."""
    rows = []
    for family in family_of_errors.NarthexError.__subclasses__():
        for kind in (family, *_below(family)):
            indent = "" if kind is family else "· "
            rows.append(
                (indent + kind.__name__, f"`{kind.code}`", str(kind.status), str(kind.exit_code), _first_line(kind))
            )
    yield from table(("error", "problem type", "HTTP", "exit", "meaning"), rows)


def _below(kind: type[family_of_errors.NarthexError]) -> Iterator[type[family_of_errors.NarthexError]]:
    for child in kind.__subclasses__():
        if child.__module__ == family_of_errors.__name__:  # others live beside what raises them
            yield child
            yield from _below(child)


def settings() -> Iterator[str]:
    """Every setting, its variable, its default and its meaning."""
    from daemon.settings import settings_rows

    rows = [(f"`{key}`", f"`{variable}`", default, meaning) for key, variable, default, meaning in settings_rows()]
    yield from table(("key", "variable", "default", "meaning"), rows)


def routes() -> Iterator[str]:
    """Every route and the power that it asks for."""
    from fastapi.routing import APIRoute

    from api.access import TABLE
    from api.routes import ROUTERS
    from api.web import pages

    rows = []
    for route in (route for router in (*ROUTERS, pages.router) for route in router.routes):
        assert isinstance(route, APIRoute)
        methods = ", ".join(sorted(route.methods or ()))
        about = _first_line(route.endpoint).partition(". ")[0]
        rows.append((methods, f"`{route.path}`", str(TABLE[route.operation_id or ""]), about))
    yield from table(("method", "path", "power", "what it does"), rows)


def verbs() -> Iterator[str]:
    """Every verb of the command line."""
    from api.cli._verbs import load, verb_names

    rows = [(f"`narthex {verb.name}`", verb.help) for verb in map(load, verb_names())]
    yield from table(("verb", "what it does"), rows)


def extractors() -> Iterator[str]:
    """Every format that is read."""
    from pipelines.extractors import EXTRACTORS

    rows = [
        (f"`{name}`", ", ".join(member.media_types), member.version, _about("pipelines.extractors", name))
        for name, member in EXTRACTORS.load().items()
    ]
    yield from table(("extractor", "media types", "version", "about"), rows)


def producers() -> Iterator[str]:
    """Every way to propose."""
    from pipelines.producers import producers as family

    rows = [
        (f"`{name}`", member.version, _about("pipelines.producers", name)) for name, member in family.load().items()
    ]
    yield from table(("producer", "version", "about"), rows)


def actions() -> Iterator[str]:
    """Every kind of change."""
    from pipelines.actions import actions as family

    rows = []
    for name, member in family.load().items():
        fields = ", ".join(f"`{field}`" for field in member.payload.model_fields)
        rows.append((f"`{name}`", fields, _about("pipelines.actions", name)))
    yield from table(("action", "payload", "about"), rows)


def _about(package: str, name: str) -> str:
    return _first_line(importlib.import_module(f"{package}.{name}"))


def _first_line(documented: object) -> str:
    text = inspect.getdoc(documented) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("``", "`")
