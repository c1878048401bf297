"""Finds what is declared and not lived: enum members, columns, fields and events without a writer or without a reader.

Works on syntax trees and names, so it errs on the side of silence: a common name counts as used. What it names
is loose.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from tests.house.source_tree import Source

_ROW_CALLS = ("values", "replace", "_replace", "model_copy")


@dataclass
class Uses:
    """All that the code does with names, gathered in one pass."""

    loaded: set[str] = field(default_factory=set)
    """``x.name`` in a value."""
    stored: set[str] = field(default_factory=set)
    """``x.name = …``"""
    built: set[tuple[str, str]] = field(default_factory=set)
    """``Called(name=…)``"""
    compared: set[tuple[str, str]] = field(default_factory=set)
    """``Enum.MEMBER`` beside ``==``, ``is``, ``in``, in a ``case``, as a key or in a set."""
    given: set[tuple[str, str]] = field(default_factory=set)
    """``Enum.MEMBER`` anywhere else."""
    called: set[str] = field(default_factory=set)
    """``Name(…)``: an enum that is called parses a value from outside."""
    annotated: set[str] = field(default_factory=set)
    """Names in the annotations of class fields."""
    fields: set[str] = field(default_factory=set)
    """Names of annotated class fields: in an answer of the API they are filled by name."""
    checked: set[str] = field(default_factory=set)
    """Columns named in a CHECK of the database, which reads them itself."""
    texts: set[str] = field(default_factory=set)
    """String constants."""


def gather(sources: Iterable[Source]) -> Uses:
    """Reads every file once."""
    uses = Uses()
    for source in sources:
        _visit(source.tree, uses, compared=False)
    return uses


def _visit(node: ast.AST, uses: Uses, *, compared: bool) -> None:
    if isinstance(node, ast.Attribute):
        (uses.stored if isinstance(node.ctx, ast.Store) else uses.loaded).add(node.attr)
        if isinstance(node.value, ast.Name):
            (uses.compared if compared else uses.given).add((node.value.id, node.attr))
    elif isinstance(node, ast.Call):
        called = _called_name(node)
        uses.called.add(called)
        uses.built.update((called, keyword.arg) for keyword in node.keywords if keyword.arg)
        if called == "only_owner":
            uses.checked.update(str(text.value) for text in node.args if isinstance(text, ast.Constant))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        uses.texts.add(node.value)
    elif isinstance(node, ast.AnnAssign):
        uses.fields.update(name.id for name in ast.walk(node.target) if isinstance(name, ast.Name))
        uses.annotated.update(name.id for name in ast.walk(node.annotation) if isinstance(name, ast.Name))
    if isinstance(node, ast.Dict):
        for key in filter(None, node.keys):
            _visit(key, uses, compared=True)
        for value in node.values:
            _visit(value, uses, compared=False)
        return
    inside = compared or isinstance(node, ast.Compare | ast.Set | ast.MatchValue | ast.Subscript)
    for child in ast.iter_child_nodes(node):
        _visit(child, uses, compared=inside and not isinstance(node, ast.Call))


def _called_name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def loose_members(enum: str, members: Iterable[str], uses: Uses, shown: bool) -> Iterator[str]:
    """Members that nobody writes, or nobody reads; ``shown``: a surface shows whatever the value is."""
    parsed = enum in uses.called
    for member in members:
        name = (enum, member)
        if name not in uses.given and name not in uses.compared and not parsed:
            yield f"{enum}.{member} is never written"
        if name not in uses.compared and not shown:
            yield f"{enum}.{member} is never read"


def loose_columns(row: str, columns: Iterable[str], uses: Uses, read: Collection[str] = ()) -> Iterator[str]:
    """Columns that no code fills, and columns that no code looks at; ``read``: those that are, without being named."""
    for column in columns:
        by_call = any(
            name == column and (called in (row, *_ROW_CALLS) or called.startswith("move_"))
            for called, name in uses.built
        )
        if not by_call and column not in uses.stored and column not in uses.texts:
            yield f"{row}.{column} is never written"
        if column not in uses.loaded and column not in read:
            yield f"{row}.{column} is never read"


def loose_fields(kind: str, fields: Iterable[str], uses: Uses, read: Collection[str] = ()) -> Iterator[str]:
    """Fields of a value that no code looks at."""
    for name in fields:
        if name not in uses.loaded and name not in read:
            yield f"{kind}.{name} is never read"


def unused_events(table: str, events: Iterable[str], uses: Uses) -> Iterator[str]:
    """Moves that no code makes."""
    for event in events:
        if event not in uses.texts:
            yield f"{table}: nothing ever makes the move '{event}'"
