"""Chooses the one line (L0) of a text and the stretch it comes from; takes no arbitrary row and rewords nothing.

A list or a table has no such sentence: there the line says what it is and begins to list it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from pipelines.model.memory import L0_CHARACTERS
from pipelines.producers._plain import letters_in, plain_text, shortened, without_marks
from pipelines.producers._sentences import Contents, Sentence

_LEAST: Final = 20
_CHOICE: Final = 4
_CUT: Final = 256  # a longer sentence would lose its point
_TRIED: Final = 200
_MARKUP: Final = 2_000  # characters of a stretch; the links of one sentence may be long
_ENDED: Final = re.compile(r"[.!?…。！？][\"'”’)\]」』）]*$")
_BEGUN: Final = re.compile(r"[\"'“„«‘(\[¿¡]*[^\W_]")
_CODE: Final = re.compile(
    r"[{}\\]|\w\(\)|[=!]=|=>|->|::|;;|;$|\w;\w.*\w;\w|\w=[\w\"']|\]\(|</|^(?:import|from|def|class|func|package|var|let)\s"
)
_FIELD: Final = re.compile(
    r"(?:title|authors?|dates?|keywords?|tags|subject|from|to|cc|sent|created|published|updated|version|copyright|doi|isbn"
    r"|issn|phone|tel|fax|e-?mail|url|layout|lang|categor(?:y|ies)|betreff|von|an|gesendet|datum)\s?:",
    re.I,
)
_NOT_THE_TEXT: Final = re.compile(
    r"^click\b|all rights reserved|copyright (?:\(c\)|©|\d{4})|^©|^licensed (?:to|under)|permission is hereby granted"
    r"|you may not use this file|without warrant|see the notice file|\bcookies?\b|sign up|log(?:ged)? ?in\b|subscribe"
    r"|view (?:this|in|it in) .{0,20}browser|enable javascript|skip to (?:main )?content|^page \d+|^retrieved\b"
    r"|\b(?:wrote|writes|schrieb|écrit|escribió|ha scritto|写道)\s?:$|^sent from my|^get outlook|^arxiv:"
    r"|^(?:best|kind|warm)?\s?(?:regards|thanks|thank you|cheers|sincerely)\b.{0,30}$|^mit freundlichen|^viele grüße",
    re.I,
)


@dataclass(frozen=True, slots=True)
class FirstLine:
    """``start`` and ``end`` of the Markdown it was taken from; both 0 when it was put together here."""

    text: str
    start: int = 0
    end: int = 0


def first_line(markdown: str, found: Contents, title: str) -> FirstLine:
    """The first sentence that stands for itself and is not the title; else what the text is; else the title."""
    running = [one for one in found.sentences[:_TRIED] if not one.listed]
    listed = [one for one in found.sentences[:_TRIED] if one.listed]
    for group, whole in ((running, True), (running if not _mostly_listed(found) else [], False)):
        chosen = _first(markdown, group, title, whole=whole)
        if chosen:
            return chosen
    made = _table(markdown, found) or _list(markdown, found)
    if made:
        return FirstLine(made)
    for group, whole in ((listed, True), (listed, False), (running, False)):
        chosen = _first(markdown, group, title, whole=whole)
        if chosen:
            return chosen
    return _anything(markdown, found, title)


def is_sentence(text: str) -> bool:
    """Whether plain words are a whole sentence of prose that is about something."""
    return bool(_ENDED.search(text)) and stands_alone(text)


def stands_alone(text: str) -> bool:
    """Whether plain words begin like a sentence, are words mostly, and neither code nor a field nor boilerplate."""
    begun = _BEGUN.match(text)
    if not begun or begun.group()[-1].islower() or _CODE.search(text) or _FIELD.match(text):
        return False
    signs = sum(1 for character in text if not character.isspace())
    least, share = (8, 0.75) if begun.group()[-1].isdigit() else (4, 0.6)  # "30 Main Street · Suite 3." is no sentence
    enough = len(text.split()) >= least or letters_in(text) >= 2 * _LEAST
    drawn = sum(1 for character in text if character.isalpha())
    return enough and drawn >= share * signs and not _NOT_THE_TEXT.search(text[:400])


def _first(markdown: str, group: list[Sentence], title: str, *, whole: bool) -> FirstLine | None:
    """Of the first few that stand alone the first that fits the line and tells rather than asks.

    When the very first is only a little too long it is cut: it says more than one that comes later.
    """
    good = list(islice(_standing(markdown, group, title, whole=whole), _CHOICE))
    if not good:
        return None
    fitting = [(text, one) for text, one in good if len(text) <= L0_CHARACTERS and not text.endswith(("?", "？"))]
    opening = good[0][0]
    a_little_long = L0_CHARACTERS < len(opening) <= _CUT and not opening.endswith(("?", "？"))
    text, one = good[0] if a_little_long or not fitting else fitting[0]
    return FirstLine(shortened(text, L0_CHARACTERS), one.start, one.end)


def _standing(markdown: str, group: list[Sentence], title: str, *, whole: bool) -> Iterator[tuple[str, Sentence]]:
    for one in group:
        text = plain_text(markdown[one.start : min(one.end, one.start + _MARKUP)])
        enough = len(text) >= _LEAST or letters_in(text) >= _LEAST
        if enough and (is_sentence(text) if whole else stands_alone(text)) and not _same(text, title):
            yield text, one


def _mostly_listed(found: Contents) -> bool:
    return found.entries + len(found.rows) > 2 * sum(1 for one in found.sentences if not one.listed)


def _table(markdown: str, found: Contents) -> str:
    rows = len(found.rows)
    if rows < 2:
        return ""
    start, end = found.rows[0]
    cells = [
        plain_text(cell[:300]) for cell in markdown[start : min(end, start + _MARKUP)].strip().strip("|").split("|")
    ]
    head = ", ".join(cell for cell in cells if cell)
    entries = "1 row" if rows == 2 else f"{rows - 1} rows"
    return shortened(f"Table of {entries}: {head}" if head else f"Table of {entries}", L0_CHARACTERS)


def _list(markdown: str, found: Contents) -> str:
    if found.entries < 2:
        return ""
    blocks: dict[int, str] = {}
    for one in found.sentences[:_TRIED]:
        if one.listed and one.block not in blocks and len(blocks) < 10:
            blocks[one.block] = plain_text(markdown[one.start : min(one.end, one.start + _MARKUP)]).rstrip(".;,")
    named = "; ".join(name for name in map(without_marks, blocks.values()) if letters_in(name) >= 2)
    return shortened(f"List of {found.entries} entries: {named}" if named else "", L0_CHARACTERS)


def _anything(markdown: str, found: Contents, title: str) -> FirstLine:
    """Some words that are not the title's own; else a sentence that goes on where the title was cut; else the title."""
    others = [*found.sentences[:_TRIED], *found.quoted[:_TRIED]]
    longer = _first(markdown, found.sentences[:_TRIED], "", whole=False)
    for least in (_LEAST // 2, 3):
        for one in others:
            text = without_marks(plain_text(markdown[one.start : min(one.end, one.start + _MARKUP)]))
            said = _FIELD.match(text) or _NOT_THE_TEXT.search(text[:400])
            if letters_in(text) >= least and not said and not _same(text, title):
                return FirstLine(shortened(text, L0_CHARACTERS), one.start, one.end)
        if longer and len(longer.text) > len(title):
            return longer
    at = markdown.find(title) if "…" not in title else -1
    place = (at, at + len(title)) if at >= 0 else (0, 0)
    return FirstLine(shortened(title, L0_CHARACTERS), *place)


def _same(text: str, title: str) -> bool:
    words, known = (re.sub(r"\W+", " ", one.casefold()).strip() for one in (text, title.rstrip("…")))
    return words == known or (len(words) < 2 * len(known) and words.startswith(known)) or known.startswith(words)
