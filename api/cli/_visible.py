"""Makes what a terminal would obey or hide readable as text; every line for a person passes through here."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_UNSEEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SELECTORS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_PLAIN: Final = re.compile(r"[\t\n\x20-\x7e]*")


def visible(text: str) -> str:
    """``text`` with every control, direction, joining or otherwise unseen character written as ``<U+001B>``.

    Line feed and tab stay. What is left cannot move the cursor, change colours, reorder a line or hide a word.
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(_shown(character) for character in text)


def one_line(text: str) -> str:
    """As ``visible``, on one line: for a table, a title, a message."""
    return visible(" ".join(text.split("\n"))).replace("\t", " ")


def _shown(character: str) -> str:
    if character in "\n\t":
        return character
    if unicodedata.category(character) in _UNSEEN_CATEGORIES or _SELECTORS.match(character):
        return f"<U+{ord(character):04X}>"
    return character
