"""Finds the sentences of a Markdown text where they stand, and counts what is no sentence; changes nothing.

Lines that were wrapped belong together; code, tables, headings, quotations and what follows a mail's signature do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

LOOKED_AT: Final = 400_000  # characters; a text that is longer has said by then what it is about
_LINE: Final = 20_000  # a line beyond this is no prose that anybody wrote
_END: Final = re.compile(r"(?<=[.!?…])[\"'”’)\]*_]{0,4}(?:\s+|$)|(?<=[。！？])[”’」』）]{0,2}\s*")
_SHORT_FORM: Final = re.compile(
    r"(?:\b(?:[A-Za-z]|dr|mr|mrs|ms|prof|st|vs|etc|fig|no|nr|vol|pp|al|inc|ltd|co|corp|approx|bzw|ca|evtl|ggf|sr|jr"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|okt|nov|dec|dez)|[A-Za-z]\.[A-Za-z])\.$",
    re.I,
)
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_UNDERLINE: Final = re.compile(r"\s{0,3}(?:={3,}|-{3,}|~{3,}|\^{3,})\s*$")
_FENCE: Final = re.compile(r" {0,9}(```|~~~)")
_ITEM: Final = re.compile(r"\s{0,40}(?:[-*+•‣▪·–]\s+|\d{1,3}[.)]\s+|\(?[a-z]\)\s+)(?:\[[ xX]\]\s+)?")
_QUOTED: Final = re.compile(r"\s{0,9}>")
_ROW: Final = re.compile(r"\s{0,9}\||[^\t\n]*\t[^\t\n]*\t")
_RULE_OF_TABLE: Final = re.compile(r"[\s|:+=-]{3,}$")
_NO_PROSE: Final = re.compile(r"\s{0,40}(?:[-=_*~#.]{3,}\s*$|:::|<[!/a-zA-Z]|\[\^[^\]\s]{1,60}\]:|\.\. |#\+)")
_SIGNATURE: Final = re.compile(
    r"--\s?$|(?:from|von|de|da):\s\S|_{20,}\s*$"
    r"|-{2,}\s{0,9}(?:original message|ursprüngliche nachricht|forwarded message|message d'origine)",
    re.I,
)
_GREETING: Final = re.compile(
    r"\s{0,9}(?:hi|hello|hey|dear|hallo|liebe[rs]?|sehr geehrte[rs]?|guten (?:tag|morgen|abend)|moin|servus|bonjour"
    r"|cher|chère|hola|estimad[oa]s?|ciao|good (?:morning|afternoon|evening))\b[^.!?]{0,50}[,!:]?\s*$",
    re.I,
)
_WRAPPED: Final = 0.6
_MAIL: Final = "message/rfc822"
_WEB: Final = frozenset({"text/html", "application/xhtml+xml"})  # there a line break is a space


@dataclass(frozen=True, slots=True)
class Sentence:
    """A stretch of the text, ``start`` to ``end``; ``block`` numbers the paragraph or the entry it stands in."""

    start: int
    end: int
    block: int
    listed: bool = False


@dataclass(slots=True)
class Contents:
    """What the text is made of; ``rows`` are the stretches of table rows without the line under their head."""

    sentences: list[Sentence] = field(default_factory=list)
    quoted: list[Sentence] = field(default_factory=list)
    rows: list[tuple[int, int]] = field(default_factory=list)
    entries: int = 0


@dataclass(slots=True)
class _Block:
    start: int
    end: int
    listed: bool
    last: str


def contents(markdown: str, media_type: str = "") -> Contents:
    """Of the first ``LOOKED_AT`` characters, in time linear in them. Of a mail the signature ends the text."""
    text = markdown[:LOOKED_AT]
    found = Contents()
    for number, (block, quoted) in enumerate(_blocks(text, found, media_type)):
        found.entries += block.listed and not quoted
        target = found.quoted if quoted else found.sentences
        target.extend(_of_block(text, block, number))
    return found


def _blocks(text: str, found: Contents, media_type: str) -> Iterator[tuple[_Block, bool]]:
    lines = text.splitlines(keepends=True)
    width, mail = 0.0 if media_type in _WEB else _width(lines), media_type == _MAIL
    open_: _Block | None = None
    offset, fence, signed = 0, "", False
    for line in lines:
        begin, offset = offset, offset + len(line)
        signed = signed or (mail and bool(_SIGNATURE.match(line)))
        mark = _FENCE.match(line)
        if mark or fence:
            fence = _fence_after(fence, mark.group(1) if mark else "")
        elif open_ and not signed and _goes_on(open_, line, width):
            open_.end, open_.last = begin + len(line.rstrip()), line
            continue
        elif _UNDERLINE.match(line) and open_ and not open_.listed and "\n" not in text[open_.start : open_.end]:
            open_ = None  # it was a heading
        if open_:
            yield open_, signed
        open_ = None if mark or fence else _opened(line, begin, found)
        if open_ and (signed or _QUOTED.match(line)):
            yield open_, True
            open_ = None
    if open_:
        yield open_, signed


def _fence_after(fence: str, mark: str) -> str:
    if not fence:
        return mark
    return "" if mark == fence else fence


def _opened(line: str, begin: int, found: Contents) -> _Block | None:
    """A block that begins with this line; None for what is no prose. Rows of tables are noted."""
    if _ROW.match(line):
        if not _RULE_OF_TABLE.match(line):
            found.rows.append((begin, begin + len(line.rstrip())))
        return None
    if not line.strip() or len(line) > _LINE or _HEADING.match(line) or _NO_PROSE.match(line):
        return None
    item = _ITEM.match(line)
    start = item.end() if item else len(line) - len(line.lstrip())
    return _Block(begin + start, begin + len(line.rstrip()), item is not None, line)


def _goes_on(block: _Block, line: str, width: float) -> bool:
    """Whether a line belongs to the block before: it was wrapped there, or begins in the middle of a sentence."""
    last = block.last
    stripped = line.strip()
    if not stripped or last.endswith(("  \n", "\\\n")) or _GREETING.match(last) or len(line) > _LINE:
        return False
    if any(mark.match(line) for mark in (_HEADING, _ITEM, _QUOTED, _ROW, _NO_PROSE, _UNDERLINE)):
        return False
    return stripped[0].islower() or len(last.rstrip()) >= width


def _width(lines: list[str]) -> float:
    """From which length on a line was probably wrapped."""
    lengths = sorted(len(line) for line in lines[:2_000] if line.strip())
    usual = lengths[len(lengths) * 4 // 5] if lengths else 0
    return _WRAPPED * max(50, min(usual, 110))


def _of_block(text: str, block: _Block, number: int) -> Iterator[Sentence]:
    start = block.start
    for match in _END.finditer(text, block.start, block.end):
        at = match.end()
        following = text[at : at + 1]
        if at < block.end and (
            following.islower() or _SHORT_FORM.search(text, max(start, match.start() - 8), match.start())
        ):
            continue
        if match.start() > start:
            yield Sentence(start, at - (len(match.group()) - len(match.group().rstrip())), number, block.listed)
        start = at
    if start < block.end:
        yield Sentence(start, block.end, number, block.listed)
