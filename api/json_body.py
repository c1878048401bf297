"""Reads a JSON body strictly, so that nothing odd reaches the product: refuses, never repairs."""

from __future__ import annotations

import json
import math
from typing import Final, NoReturn

from pipelines.model.errors import Invalid, Refused

_DEPTH: Final = 32
_INTEGER_DIGITS: Final = 19
_INTEGER_LIMIT: Final = 2**63

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class NotJson(Refused):
    """The bytes are not JSON in UTF-8."""

    code = "not-json"
    title = "The body is not JSON"
    status = 400


def read_json(body: bytes) -> Json:
    """The value. Raises ``NotJson`` for bytes that are not UTF-8 or not JSON, and ``Invalid`` for values that not every
    reader understands alike: repeated keys, NaN, numbers beyond 64 bits, unpaired surrogates, NUL, deep nesting.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"the body is not UTF-8 (byte {error.start})") from error
    try:
        value: Json = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_real,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as error:
        raise NotJson(f"the body is not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise Invalid(f"the JSON is nested deeper than {_DEPTH} levels") from error
    _check(value)
    return value


def check_text(text: str, where: str) -> str:
    """``text`` if it can be stored and sent as UTF-8; raises ``Invalid`` for NUL and unpaired surrogates."""
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise Invalid(f"{where} holds a NUL or half of a surrogate pair, which cannot be stored")
    return text


def _check(value: Json) -> None:
    level = [value]
    for _ in range(_DEPTH + 1):
        deeper: list[Json] = []
        for member in level:
            if isinstance(member, str):
                check_text(member, "a text")
            elif isinstance(member, list):
                deeper.extend(member)
            elif isinstance(member, dict):
                deeper.extend(member)
                deeper.extend(member.values())
        level = deeper
        if not level:
            return
    raise Invalid(f"the JSON is nested deeper than {_DEPTH} levels")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Invalid("a key is given twice in one object")
    return members


def _integer(digits: str) -> int:
    if len(digits) > _INTEGER_DIGITS + 1 or not -_INTEGER_LIMIT <= int(digits) < _INTEGER_LIMIT:
        raise Invalid("an integer does not fit in 64 bits")
    return int(digits)


def _real(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Invalid("a number is too large")
    return number


def _constant(name: str) -> NoReturn:
    raise Invalid(f"{name} is not a number of JSON")
