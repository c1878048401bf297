"""Reads what the daemon answered. A field that is missing or of another type reads as empty: a newer daemon must not
break an older command."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from api.cli._visible import visible
from api.client import JsonObject


def json_text(document: object, encoding: str | None) -> str:
    """One JSON document for a stream of this encoding (None: UTF-8), with real characters, so that people read it too.

    Escaped is what ``visible`` would show as a code, and all that is not ASCII where the stream is not UTF-8.
    """
    utf8 = encoding is None or encoding.lower().replace("-", "") == "utf8"
    text = json.dumps(document, indent=2, ensure_ascii=not utf8)
    # all structure of JSON is ASCII: such a character stands inside a string, where its escape means the same
    return text.translate({ord(one): json.dumps(one)[1:-1] for one in set(text) if visible(one) != one})


def text(document: JsonObject, field: str) -> str:
    """The field as text; numbers are written out, absent, null and what is no single value are empty."""
    value = document.get(field)
    if isinstance(value, str):
        return value
    return "" if value is None or isinstance(value, (Sequence, Mapping)) else str(value)


def number(document: JsonObject, field: str) -> int:
    """The field as a whole number, else 0."""
    value = document.get(field)
    return int(value) if isinstance(value, (int, float)) else 0


def counted(count: int, noun: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


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
