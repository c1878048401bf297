"""From text to what is indexed, and from a query to an FTS5 expression that is never malformed. Touches no file."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from pipelines.index.stop_words import STOP_WORDS

_QUERY_CHARACTERS: Final = 1000
_QUERY_TERMS: Final = 64

# Accents, Hebrew points and Arabic vowel signs, which people leave out when they search
_MARKS: Final = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670]")

# Scripts that write words without a space between: Thai, Lao, Burmese, Khmer, Han, kana, Hangul
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED_RUN: Final = re.compile(f"[{_UNSPACED}]+")


class _Letters(dict[int, int]):
    """For ``str.translate``: letters, digits and marks stay, all else becomes a space."""

    def __missing__(self, code: int) -> int:
        self[code] = code if unicodedata.category(chr(code))[0] in "LNM" else ord(" ")
        return self[code]


_LETTERS: Final = _Letters()


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """``match`` is the FTS5 expression, empty when the query says nothing; ``terms`` are the folded words in it."""

    match: str
    terms: tuple[str, ...]


def fold(text: str) -> str:
    """Equal for texts that a person takes for the same: no case, no accents, no compatibility forms, NFC."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text))).casefold()


def indexable(text: str) -> str:
    """The words of ``text``, folded; runs of unspaced scripts as overlapping pairs, so that any part can be found."""
    return _UNSPACED_RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} {run[0][-1]} ", _lettered(text))


def plan(query: str) -> QueryPlan:
    """Any of the words, without stop words. A query of stop words alone says nothing and finds nothing."""
    words = list(dict.fromkeys(_words(query[:_QUERY_CHARACTERS])))
    # the stop words of one language only: "die" means nothing in German and much in English
    stopped = max((common & set(words) for common in STOP_WORDS.values()), key=len)
    terms: dict[str, str] = {}
    for word in words:
        if word not in stopped:
            terms.update(_terms(word))
    kept = tuple(terms)[:_QUERY_TERMS]
    return QueryPlan(" OR ".join(terms[term] for term in kept), kept)


def unspaced(term: str) -> bool:
    """Whether a term is part of a run without word boundaries, and so to be looked for as a substring."""
    return _UNSPACED_RUN.match(term) is not None


def _words(text: str) -> list[str]:
    """Runs of letters, digits and marks; a change between spaced and unspaced script ends one."""
    return _UNSPACED_RUN.sub(lambda run: f" {run[0]} ", _lettered(text)).split()


def _lettered(text: str) -> str:
    # here, because SQLite's idea of a letter is of another Unicode version than Python's
    return fold(text).translate(_LETTERS)


def _terms(word: str) -> dict[str, str]:
    """Each term of a word with its place in the expression; quoted, they are never syntax."""
    if not unspaced(word):
        return {word: f'"{word}"'}
    if len(word) == 1:
        return {word: f'"{word}" *'}
    return {pair: f'"{pair}"' for pair in _pairs(word)}


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]
