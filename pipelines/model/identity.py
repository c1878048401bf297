"""Identifiers: a prefix and twelve time-sortable base-32 characters; never derived from a title."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Final

from pipelines.model.errors import Invalid

Clock = Callable[[], datetime]
"""Answers the current time, aware, in UTC."""

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
_PATTERN: Final = re.compile(r"(itm|prp|dec|mem|rev|tok|ses|req)_[0-9abcdefghjkmnpqrstvwxyz]{12}")
_RANDOM_BITS: Final = 18  # 42 bits of milliseconds last until 2109 and leave 18 of the 60 for chance


class Ids:
    """Makes ids that sort by time; strictly increasing within one process, safe to share between threads."""

    def __init__(self, clock: Clock, random_bits: Callable[[int], int]) -> None:
        self._clock = clock
        self._random_bits = random_bits
        self._last = 0
        self._lock = threading.Lock()

    def new(self, prefix: str) -> str:
        """A fresh id such as ``itm_01jq7r3k8v2m``."""
        milliseconds = int(self._clock().timestamp() * 1000)
        number = (milliseconds << _RANDOM_BITS) | self._random_bits(_RANDOM_BITS)
        with self._lock:
            number = max(number, self._last + 1)
            self._last = number
        return f"{prefix}_{_base32(number)}"


def _base32(number: int) -> str:
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(55, -1, -5))


def check_id(text: str, prefix: str) -> str:
    """``text`` if it is an id with this prefix; raises ``Invalid`` before anything is looked up or any path built."""
    if not _PATTERN.fullmatch(text) or not text.startswith(prefix + "_"):
        raise Invalid(f"'{text[:40]}' is not an id of the form {prefix}_ and twelve characters")
    return text
