"""Makes a text visible as it will be stored: what cannot be seen, or misleads, becomes a token. Stores nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pipelines.model.unseen import is_unseen, token


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text as it is, or, as a ``token``, what stands in the place of one character."""

    text: str
    token: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """A text in lines of pieces, its size, and each kind of hidden character with how often it occurs."""

    lines: tuple[tuple[Piece, ...], ...]
    characters: int
    hidden: tuple[tuple[str, int], ...]


def show(text: str) -> Shown:
    """Splits at LF only: other line ends are hidden characters, and nothing is cut off."""
    # one final LF ends the last line, it does not begin another
    lines = text.removesuffix("\n").split("\n")
    counts = Counter(character for character in text if is_unseen(character))
    hidden = tuple((token(character), count) for character, count in sorted(counts.items()))
    return Shown(tuple(pieces(line) for line in lines), len(text), hidden)


def pieces(line: str) -> tuple[Piece, ...]:
    """One line as runs of text and tokens."""
    found: list[Piece] = []
    begun = 0
    for position, character in enumerate(line):
        if is_unseen(character):
            if begun < position:
                found.append(Piece(line[begun:position]))
            found.append(Piece(token(character), token=True))
            begun = position + 1
    if begun < len(line):
        found.append(Piece(line[begun:]))
    return tuple(found)
