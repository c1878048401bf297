"""Finds the sentences of a Markdown text where they stand; changes none of them."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Final

_END: Final = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*(?:\s+|(?<=[。！？]))|\n+")
_BLOCK_MARK: Final = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+|\d+[.)]\s+)+")
_NO_PROSE: Final = re.compile(r"^\s*(?:\||```|~~~|!\[|---|===|<)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """``start`` is the offset of its first character; ``position`` counts sentences from 0."""

    text: str
    start: int
    position: int


def sentences(markdown: str) -> list[Sentence]:
    """Sentences of the prose, verbatim without their block marks; code, tables, rules and images are left out."""
    found: list[Sentence] = []
    offset, fenced = 0, False
    for line in markdown.splitlines(keepends=True):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not _NO_PROSE.match(line) and not line.startswith("#"):
            found.extend(_of_line(line, offset, len(found)))
        offset += len(line)
    return found


def _of_line(line: str, offset: int, position: int) -> list[Sentence]:
    mark = _BLOCK_MARK.match(line)
    begin = mark.end() if mark else 0
    bounds = [begin, *(match.end() for match in _END.finditer(line, begin)), len(line)]
    found: list[Sentence] = []
    for start, end in itertools.pairwise(bounds):
        piece = line[start:end]
        text = piece.strip()
        if any(character.isalnum() for character in text):
            found.append(Sentence(text, offset + start + piece.find(text), position + len(found)))
    return found


def plain(text: str) -> str:
    """A name in one line, short enough to stand in a sentence."""
    return " ".join(text.split())[:80]
