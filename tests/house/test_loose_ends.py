"""Nothing is declared that is not lived: every state, event, column, field and setting has a writer and a reader."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import Final

from sqlmodel import SQLModel

import pipelines.model
from daemon.settings import Settings
from pipelines.model import lifecycle, records
from tests.house import loose_ends
from tests.house.loose_ends import Uses, gather
from tests.house.source_tree import CODE, Source, assert_none, sources

DECLARATIONS: Final = ("pipelines/store/migrations/",)
"""Not uses: they name every column there is."""
TABLES: Final = ("ITEM_MOVES", "PROPOSAL_MOVES", "MEMORY_MOVES", "VERIFICATION_MOVES")


def uses_outside(*declarations: str) -> Uses:
    """What all code but these files does."""
    return gather(source for source in sources(*CODE) if not source.path.startswith((*DECLARATIONS, *declarations)))


def model_modules() -> Iterator[ModuleType]:
    """Every module of ``pipelines.model``."""
    for found in pkgutil.iter_modules(pipelines.model.__path__):
        yield importlib.import_module(f"pipelines.model.{found.name}")


def declared(kind: type) -> Iterator[type]:
    """The classes of ``kind`` that the model declares."""
    for module in model_modules():
        for _, value in inspect.getmembers(module, inspect.isclass):
            if value.__module__ == module.__name__ and issubclass(value, kind) and value is not kind:
                yield value


def rows() -> Iterator[type[SQLModel]]:
    """The tables."""
    for row in declared(SQLModel):
        if hasattr(row, "__table__"):
            yield row


def test_every_member_of_every_enum_is_written_and_read() -> None:
    uses = uses_outside()
    schemas = gather(source for source in sources("api"))
    columns = {annotation for source in sources("pipelines/model") for annotation in _column_enums(source)}
    problems: list[str] = []
    for enum in declared(Enum):
        shown = enum.__name__ in columns or enum.__name__ in schemas.annotated
        problems += loose_ends.loose_members(enum.__name__, enum.__members__, uses, shown)  # type: ignore[attr-defined]
    assert_none(problems)


def test_every_move_is_made() -> None:
    uses = uses_outside("pipelines/model/lifecycle.py")
    problems = [line for name in TABLES for line in loose_ends.unused_events(name, getattr(lifecycle, name), uses)]
    assert_none(problems)


def test_every_state_can_be_reached() -> None:
    for name, states in {
        "ITEM_MOVES": lifecycle.ItemState,
        "PROPOSAL_MOVES": lifecycle.ProposalState,
        "MEMORY_MOVES": lifecycle.MemoryState,
    }.items():
        moves = getattr(lifecycle, name).values()
        reached = {move.target for move in moves if not move.sources}
        while more := {move.target for move in moves if move.sources & reached} - reached:
            reached |= more
        assert reached == set(states), f"{name} does not lead to {set(states) - reached}"


def test_every_column_is_written_and_read() -> None:
    uses = uses_outside("pipelines/model/records.py")
    answered = gather(sources("api")).fields | gather(sources("pipelines/model")).checked
    problems: list[str] = []
    for row in rows():
        keys = {column.name for column in row.__table__.primary_key}  # type: ignore[attr-defined]  # looked up by
        problems += loose_ends.loose_columns(row.__name__, row.model_fields, uses, answered | keys)
    assert len(list(rows())) > 5
    assert_none(problems)


def test_every_field_of_a_value_is_read() -> None:
    uses = uses_outside()
    answered = gather(sources("api")).fields
    problems: list[str] = []
    for value in declared(object):
        if dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value)]
            problems += loose_ends.loose_fields(value.__name__, names, uses, answered)
    assert_none(problems)


def test_every_setting_is_read() -> None:
    assert_none(loose_ends.loose_fields("Settings", Settings.model_fields, uses_outside()))


def test_the_rules_catch_what_they_forbid() -> None:  # the seeded loose ends
    code = "row = Row(kept=1)\nprint(row.kept)\nif colour is Colour.RED:\n    paint(Colour.RED)\nmove('opened')\n"
    uses = gather([Source("x.py", code)])
    assert list(loose_ends.loose_columns("Row", ["kept", "lost"], uses)) == [
        "Row.lost is never written",
        "Row.lost is never read",
    ]
    assert list(loose_ends.loose_members("Colour", ["RED", "BLUE"], uses, shown=False)) == [
        "Colour.BLUE is never written",
        "Colour.BLUE is never read",
    ]
    assert list(loose_ends.unused_events("MOVES", ["opened", "closed"], uses)) == [
        "MOVES: nothing ever makes the move 'closed'"
    ]
    assert records.__name__ in {module.__name__ for module in model_modules()}


def _column_enums(source: Source) -> set[str]:
    """Enums that are a column: whatever is stored there is shown by the surfaces."""
    return gather([source]).annotated if source.path.endswith("records.py") else set()
