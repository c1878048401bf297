"""Column types and constraints shared by the row declarations; holds no rows."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, DateTime, String, Text, TextClause
from sqlalchemy import text as sql
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator


class UtcTime(TypeDecorator[datetime]):
    """An aware time in UTC, stored alike by both databases; a zone-less value is a bug and raises."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To UTC."""
        if value is not None and value.tzinfo is None:
            raise ValueError("a stored time needs its zone")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """SQLite gives the zone up; it was UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Closed(TypeDecorator[StrEnum]):
    """Exactly the members of one enum, stored by value as text: a new member needs no migration."""

    impl = String
    cache_ok = True

    def __init__(self, members: type[StrEnum]) -> None:
        super().__init__()
        self.members = members

    def process_bind_param(self, value: StrEnum | None, dialect: Dialect) -> str | None:
        """Raises ``ValueError`` for what is no member."""
        return None if value is None else str(self.members(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> StrEnum | None:
        """The member; ``ValueError`` for a value that a newer version wrote."""
        return None if value is None else self.members(value)


def closed(members: type[StrEnum]) -> Closed:
    """The column type for one enum."""
    return Closed(members)


def text(*, nullable: bool = False) -> Column[Any]:
    """A text column without a length."""
    return Column(Text, nullable=nullable)


def only_owner(column: str) -> str:
    """The CHECK that keeps everyone but the owner from approving (the third of the four locks)."""
    # IS NOT DISTINCT FROM: a plain "=" is NULL for a missing actor, and CHECK lets NULL through
    return f"{column} IS NOT DISTINCT FROM 'owner'"


def active() -> TextClause:
    """The condition of indexes that hold for active rows only."""
    return sql("state = 'active'")
