"""The few words of a text that answer a query, as plain text with the places that match. Touches no database."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pipelines.index.tokens import fold, unspaced

_CHARACTERS: Final = 200
_BEFORE: Final = 40
_SAME_BEGINNING: Final = 4
_DIFFERENT_END: Final = 3
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """``matches`` are half-open ranges of code points in ``text``, in order, never overlapping."""

    text: str
    matches: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Match:
    start: int
    end: int
    term: str


def snippet(text: str, terms: tuple[str, ...]) -> Snippet:
    """At most about 200 characters of ``text``, white space folded, around where most of the folded ``terms`` meet."""
    flat = " ".join(text.split())
    matches = _matches(flat, terms)
    start = _best_start(flat, matches)
    end = _word_end(flat, start + _CHARACTERS)
    shown = [match for match in matches if match.start >= start and match.end <= end]
    before, after = ("…" if start else ""), ("…" if end < len(flat) else "")
    return Snippet(before + flat[start:end] + after, _ranges(shown, start - len(before)))


def _matches(text: str, terms: tuple[str, ...]) -> list[_Match]:
    # most words of a long text share no beginning with any term: they must cost next to nothing
    beginnings: dict[str, list[str]] = {}
    for term in terms:
        if not unspaced(term):
            beginnings.setdefault(term[:_SAME_BEGINNING], []).append(term)
    found: list[_Match] = []
    for place in _WORD.finditer(text) if beginnings else ():
        word = fold(place[0])
        alike = beginnings.get(word[:_SAME_BEGINNING], ())
        if answered := next((term for term in alike if _same(word, term)), None):
            found.append(_Match(place.start(), place.end(), answered))
    for term in terms:
        if unspaced(term):
            found += [_Match(place.start(), place.end(), term) for place in re.finditer(re.escape(term), text)]
    return sorted(found, key=lambda match: (match.start, match.end))


def _same(word: str, term: str) -> bool:
    """Roughly what the index's stemmer finds alike; it only decides what is marked, not what is found."""
    if word == term:
        return True
    common = min(len(word), len(term))
    if common < _SAME_BEGINNING or abs(len(word) - len(term)) > _DIFFERENT_END:
        return False
    return word[: max(_SAME_BEGINNING, common - 1)] == term[: max(_SAME_BEGINNING, common - 1)]


def _best_start(text: str, matches: list[_Match]) -> int:
    """Where the window begins that shows the most different terms; the first of several."""
    best, most = 0, 0
    for number, first in enumerate(matches):
        terms = set()
        for match in matches[number:]:
            if match.end > first.start - _BEFORE + _CHARACTERS:
                break
            terms.add(match.term)
        if len(terms) > most:
            best, most = first.start, len(terms)
    if best <= _BEFORE:
        return 0
    start = best - _BEFORE
    space = text.find(" ", start, best)
    return start if space < 0 else space + 1


def _word_end(text: str, end: int) -> int:
    if end >= len(text):
        return len(text)
    space = text.rfind(" ", end - _BEFORE, end + 1)
    return end if space < 0 else space


def _ranges(matches: list[_Match], offset: int) -> tuple[tuple[int, int], ...]:
    ranges: list[tuple[int, int]] = []
    for match in matches:
        start, end = match.start - offset, match.end - offset
        if ranges and start <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
        else:
            ranges.append((start, end))
    return tuple(ranges)
