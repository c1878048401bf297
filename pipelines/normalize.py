"""Extracted text to clean Markdown with its title, author, date and language; flags what the eye would not see.

Pure: one extraction in, one value out, in time linear in the text. Never changes a word, never guesses a language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.memory import TITLE_CHARACTERS
from pipelines.model.unseen import INVISIBLE, has_unseen
from pipelines.model.values import Extraction, Normalized

_BLANK_LINES: Final = 2
_FIRST_LINE_CHARACTERS: Final = 120
_WORD: Final = re.compile(r"\w+")
# a page break, and what Unicode calls a next line, separate lines; the other control characters mean nothing in a text
_LINE_BREAKS: Final = re.compile("\r\n?|\x0b|\x0c|\x85")
_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_DATA_IMAGE: Final = re.compile(r"!\[([^\[\]\n]{0,300})\]\(<?data:[^()\s<>]*>?(?: \"[^\"\n]{0,300}\")?\)")
_DATA_ADDRESS: Final = re.compile(r"data:[a-z]{1,20}/[\w.+-]{1,60}(?:;[\w=.-]{1,40}){0,4},[\w%+/=.~!*'-]{64,}", re.A)
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_MARKUP: Final = re.compile(r"!?\[([^\[\]]{0,500})\]\([^()\s]{0,2000}\)|[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_LEADING: Final = re.compile(r"^[\s>#|*+-]{1,20}|^\d{1,3}[.)]\s+")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,2}$")
_ISO_DAY: Final = re.compile(r"\d{4}(?:-\d{2}){0,2}$")


def normalize(extraction: Extraction, fallback_title: str) -> Normalized:
    """``fallback_title`` is used when neither the metadata nor the text offers one: the stem of the file's name.

    Raises ``Unreadable`` with the reason ``empty`` when no word and no sign is left.
    """
    extracted = extraction.extracted
    markdown = _clean(extracted.text)
    if not markdown.strip():
        raise Unreadable("there is no text in it", reason=QuarantineReason.EMPTY)
    said = {key: _one_line(value) for key, value in extracted.metadata.items()}
    title = _title(said, markdown, fallback_title)
    shown = (markdown, title, said.get("author", ""))
    return Normalized(
        markdown=markdown,
        title=title,
        author=said.get("author", ""),
        published=published_day(said.get("published", "")),
        language=_language(said),
        words=sum(1 for _ in _WORD.finditer(markdown)),
        completeness=extracted.completeness,
        details=extracted.details,
        flags=(INVISIBLE,) if any(map(has_unseen, shown)) else (),
    )


def published_day(said: str) -> str:
    """The ISO day (or year, or month) of a date as formats spell it; what cannot be read stays as it was said."""
    if _ISO_DAY.match(said):
        return said
    for read in (_iso_day, _mail_day):
        day = read(said)
        if day is not None:
            return day.isoformat()
    return said


def _iso_day(said: str) -> date | None:
    try:
        return datetime.fromisoformat(said).date()
    except ValueError:
        pass
    try:
        return date.fromisoformat(said[:10])
    except ValueError:
        return None


def _mail_day(said: str) -> date | None:
    try:
        return parsedate_to_datetime(said).date()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _clean(text: str) -> str:
    text = _LINE_BREAKS.sub("\n", text.removeprefix("\ufeff"))
    text = unicodedata.normalize("NFC", _CONTROL.sub("", text))
    text = _DATA_ADDRESS.sub("data:", _DATA_IMAGE.sub(_image_note, text))
    lines = "\n".join(_spaced(text.split("\n")))
    return lines + "\n" if lines else ""


def _image_note(found: re.Match[str]) -> str:
    label = found.group(1).strip()
    return f"[image: {label}]" if label else "[image]"


def _spaced(lines: list[str]) -> Iterator[str]:
    """No blank line at either end and at most two in a row; trailing blanks of a line stay, Markdown reads them."""
    waiting, begun = 0, False
    for line in lines:
        if not line.strip():
            waiting += 1
            continue
        yield from [""] * (min(waiting, _BLANK_LINES) if begun else 0)
        waiting, begun = 0, True
        yield line


def _title(said: Mapping[str, str], markdown: str, fallback: str) -> str:
    first_heading, first_line = _openings(markdown)
    for candidate in (said.get("title", ""), first_heading, first_line, _one_line(fallback)):
        title = _shortened(candidate, TITLE_CHARACTERS)
        if title:
            return title
    return "Untitled"


def _openings(markdown: str) -> tuple[str, str]:
    """Plain text of the first heading, and of the first line that holds a word; code is neither."""
    first_line, fence = "", ""
    for line in markdown.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or mark.group(1) == fence):
            fence = "" if fence else mark.group(1)
        elif not fence:
            heading = _HEADING.match(line[:1_000])
            if heading:
                return _plain(heading.group(1).rstrip("# \t")), first_line
            first_line = first_line or _shortened(_plain(line[:1_000]), _FIRST_LINE_CHARACTERS)
    return "", first_line


def _plain(markup: str) -> str:
    text = _one_line(_MARKUP.sub(r"\1", _LEADING.sub("", markup)))
    return text if _WORD.search(text) else ""


def _shortened(text: str, most: int) -> str:
    """Cut at a word where possible, and then with an ellipsis."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[most // 2 :] else cut).rstrip() + "…"


def _one_line(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", _CONTROL.sub("", _LINE_BREAKS.sub(" ", text))).split())


def _language(said: Mapping[str, str]) -> str:
    language = said.get("language", "")
    return language.replace("_", "-") if _LANGUAGE.match(language) else ""
