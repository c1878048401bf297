"""One line of the table: what was measured, what was aimed at, and whether it is met. Measures nothing itself."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from tests.bench.machine import Facts

_HEADINGS: Final = ("what", "measured", "aim", "met", "runs and their spread")


@dataclass(frozen=True)
class Aim:
    """A bound in the unit of the row."""

    bound: float
    direction: Literal["<", "≤", "≥"]

    def met_by(self, value: float) -> bool:
        """Whether the value is on the right side; on the bound counts for ≤ and ≥."""
        if self.direction == "<":
            return value < self.bound
        return value <= self.bound if self.direction == "≤" else value >= self.bound


@dataclass(frozen=True)
class Row:
    """``values`` are the single runs; their median is what is quoted. Without an aim it is only there to be read."""

    name: str
    unit: str
    values: Sequence[float]
    aim: Aim | None = None
    note: str = ""
    parts: dict[str, float] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """Of the runs."""
        return statistics.median(self.values)

    @property
    def met(self) -> bool | None:
        """None: nothing was aimed at."""
        return None if self.aim is None else self.aim.met_by(self.median)

    def cells(self) -> tuple[str, ...]:
        """As the table prints them."""
        aim = "" if self.aim is None else f"{self.aim.direction} {_number(self.aim.bound)} {self.unit}".rstrip()
        met = {None: "", True: "yes", False: "NO"}[self.met]
        spread = f"{len(self.values)}: {_number(min(self.values))}…{_number(max(self.values))}"
        return (
            self.name,
            f"{_number(self.median)} {self.unit}".rstrip(),
            aim,
            met,
            "; ".join(filter(None, (spread, self.note))),
        )

    def document(self) -> dict[str, object]:
        """For ``--json``."""
        aim = None if self.aim is None else f"{self.aim.direction} {self.aim.bound:g}"
        return {
            "name": self.name,
            "unit": self.unit,
            "median": self.median,
            "values": list(self.values),
            "aim": aim,
            "met": self.met,
            "note": self.note,
            "parts": self.parts,
        }


def printed(rows: Sequence[Row], before: Facts, after: Facts) -> str:
    """The one table, with the machine above it."""
    lines = [_HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    table.insert(1, "  ".join("-" * width for width in widths))
    aimed = [row for row in rows if row.aim is not None]
    met = sum(row.met is True for row in aimed)
    ends = [f"{met} of {len(aimed)} aims met", f"load before {before.load}, after {after.load}"]
    return "\n".join([*before.lines(), "", *table, "", *ends, ""])


def _number(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
