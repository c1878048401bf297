"""Makes a text visible as it will be stored: what cannot be seen, or misleads, becomes a token. Stores nothing."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Final

_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
_ORDINARY: Final = frozenset({"\n", "\t"})
# invisible or blank although their category says letter, mark or symbol
_HIDDEN_RANGES: Final = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
_NAMES: Final = {0x0000: "NULL", 0x000C: "FORM FEED", 0x000D: "CARRIAGE RETURN", 0x001B: "ESCAPE", 0x0085: "NEXT LINE"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text as it is, or one token in the place of a character; ``name`` is empty for text."""

    text: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A text in lines of pieces, its size, and each kind of hidden character with how often it occurs."""

    lines: tuple[tuple[Piece, ...], ...]
    characters: int
    hidden: tuple[tuple[str, str, int], ...]


def show(text: str) -> Shown:
    """Splits at LF only: other line ends are hidden characters, and nothing is cut off."""
    # one final LF ends the last line, it does not begin another
    lines = text.removesuffix("\n").split("\n")
    counts = Counter(character for character in text if is_hidden(character))
    hidden = tuple((token(character), name_of(character), count) for character, count in sorted(counts.items()))
    return Shown(tuple(pieces(line) for line in lines), len(text), hidden)


def is_hidden(character: str) -> bool:
    """Whether a reader cannot see that this character is there, or is misled by it."""
    if character in _ORDINARY:
        return False
    if unicodedata.category(character) in _HIDDEN_CATEGORIES:
        return True
    code = ord(character)
    return code >= 0x034F and any(first <= code <= last for first, last in _HIDDEN_RANGES)


def token(character: str) -> str:
    """What stands in the place of a hidden character."""
    return f"⟦U+{ord(character):04X}⟧"


def name_of(character: str) -> str:
    """Its name in Unicode, or what there is instead."""
    return unicodedata.name(character, _NAMES.get(ord(character), "no name"))


def pieces(line: str) -> tuple[Piece, ...]:
    """One line as runs of text and tokens."""
    found: list[Piece] = []
    begun = 0
    for position, character in enumerate(line):
        if is_hidden(character):
            if begun < position:
                found.append(Piece(line[begun:position]))
            found.append(Piece(token(character), name_of(character)))
            begun = position + 1
    if begun < len(line):
        found.append(Piece(line[begun:]))
    return tuple(found)
