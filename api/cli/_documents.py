"""Reads what the daemon answered. A field that is missing or of another type reads as empty: a newer daemon must not
break an older command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from api.client import JsonObject


def text(document: JsonObject, field: str) -> str:
    """The field as text; numbers are written out, absent and null are empty."""
    value = document.get(field)
    return value if isinstance(value, str) else "" if value is None else str(value)


def number(document: JsonObject, field: str) -> int:
    """The field as a whole number, else 0."""
    value = document.get(field)
    return int(value) if isinstance(value, (int, float)) else 0


def words(document: JsonObject, field: str) -> list[str]:
    """The field as a list of texts."""
    value = document.get(field)
    return [str(one) for one in value] if isinstance(value, Sequence) and not isinstance(value, str) else []


def part(document: JsonObject, field: str) -> JsonObject:
    """The object in this field."""
    value = document.get(field)
    return value if isinstance(value, Mapping) else {}


def rows(document: JsonObject, field: str = "items") -> list[JsonObject]:
    """The objects in the list of this field."""
    value = document.get(field)
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [one for one in value if isinstance(one, Mapping)]
