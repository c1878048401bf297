"""Reading a long list in pieces, newest first; a cursor stays valid while rows are added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlmodel import Session, col
from sqlmodel.sql.expression import SelectOfScalar

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """``next_cursor`` is None on the last page; otherwise it is the id to go on below."""

    rows: list[Row]
    next_cursor: str | None


def page(session: Session, query: SelectOfScalar[Row], key: Any, limit: int, cursor: str | None) -> Page[Row]:
    """At most ``limit`` rows of ``query`` with an id below ``cursor``, by descending id (ids sort by time)."""
    identity = col(key)
    if cursor is not None:
        query = query.where(identity < cursor)
    rows = list(session.exec(query.order_by(identity.desc()).limit(limit + 1)))
    more = len(rows) > limit
    rows = rows[:limit]
    return Page(rows, _id_of(rows[-1]) if more else None)


def _id_of(row: object) -> str:
    return str(vars(row)["id"])
