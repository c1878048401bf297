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
from pipelines.model.values import Completeness, Extraction, Normalized
from pipelines.producers._kinds import PLAIN_TEXT
from pipelines.producers._plain import letters_in, plain_text, shortened, without_marks

VERSION: Final = "2"  # rises when the same text becomes another
_BLANK_LINES: Final = 2
_FIRST_LINE_CHARACTERS: Final = 120
_LOOKED_AT: Final = 20_000  # characters, for a title
_LINE: Final = 1_000
_OPENINGS: Final = 3  # lines that are tried
_WORD: Final = re.compile(r"\w+")
# a page break, and what Unicode calls a next line, separate lines; the other control characters mean nothing in a text
_LINE_BREAKS: Final = re.compile("\r\n?|\x0b|\x0c|\x85")
_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_DATA_IMAGE: Final = re.compile(r"!\[([^\[\]\n]{0,300})\]\(<?data:[^()\s<>]*>?(?: \"[^\"\n]{0,300}\")?\)")
_DATA_ADDRESS: Final = re.compile(r"data:[a-z]{1,20}/[\w.+-]{1,60}(?:;[\w=.-]{1,40}){0,4},[\w%+/=.~!*'-]{64,}", re.A)
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_NO_TITLE: Final = re.compile(
    r"\s*(?:\||:::|[^\t]*\t[^\t]*\t|<!--|\[image|[-=_*~^]{3,}\s*$|[a-z]+://\S*\s*$|page \d+)", re.I
)
_FIELDS: Final = re.compile(  # front matter that lost its fences, or its lines
    r"#?\+?title\s?:\s*(\S.*?)"
    r"(?:\s+(?:authors?|date|keywords|tags|lang|language|subtitle|description|version|layout)\s?:.*)?$",
    re.I,
)
_SECTION: Final = re.compile(
    r"(?:table of )?contents$|introduction$|abstract$|overview$|summary$|navigation$|menu$|index$", re.I
)
_NO_NAME: Final = re.compile(r"(?:the|an?|and|for|from|this|that|with|untitled|unknown|none|null)$", re.I)
_GOES_ON: Final = re.compile(r"\s(?:an?|and|at|by|for|from|in|of|on|or|the|to|with)$", re.I)
_FIELD: Final = re.compile(r"\w{1,20}\s?:\s")
_LETTERS: Final = re.compile(r"[^\W\d_]{3}|[\u2e80-\uffff]")
_NUMBERED: Final = re.compile(r":\s*[\d#$(+-]|^\S+@\S+$")  # a field of a form
_GREETING: Final = re.compile(
    r"^(?:hi|hello|hey|dear|hallo|liebe[rs]?|sehr geehrte[rs]?|bonjour|hola)\b[^.]{0,50}[,!:]$", re.I
)
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
    plain = extraction.extractor == "text" and extraction.media_type != "text/plain"
    linked = extracted.completeness is Completeness.LINK_ONLY  # the text beside a link is a person's note
    called = said.get("title", "") if linked else ""
    title = _title(said, "" if plain or linked else markdown[:_LOOKED_AT], called or _one_line(fallback_title))
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
        flags=((INVISIBLE,) if any(map(has_unseen, shown)) else ()) + ((PLAIN_TEXT,) if plain else ()),
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
    if "data:" in text:
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
    """What the original calls itself, its first heading, its first line that could be a name; else the file's name."""
    offered = said.get("title", "")
    if offered and offered == fallback:
        return _named(offered) or _shortest(offered)
    heading, lines = _openings(markdown)
    candidates = [(offered, False), (heading, False), *((line.rstrip(": "), True) for line in lines)]
    for candidate, bare in candidates:
        title = _named(candidate)
        if title and _telling(title, bare=bare):
            return title
    return _named(fallback) or _shortest(fallback)


def _shortest(fallback: str) -> str:
    return shortened(fallback, TITLE_CHARACTERS) or "Untitled"


def _named(markup: str) -> str:
    """Words without markup and without signs before them."""
    text, before = markup[:_LINE], ""
    while text != before:
        before = text
        fields = _FIELDS.match(text)
        text = without_marks(plain_text(fields.group(1) if fields else text))
        text = shortened(text, TITLE_CHARACTERS)
    return text if _WORD.search(text) else ""


def _telling(title: str, *, bare: bool) -> bool:
    """Whether a title says anything. ``bare``: nobody called it a title, it is only a line."""
    letters = letters_in(title)
    signs = sum(1 for one in title if not one.isspace())
    if bare:
        short = letters < 4 or letters < 0.4 * signs or not _LETTERS.search(title)
        return not short and not any(rule.search(title) for rule in (_GOES_ON, _GREETING, _NUMBERED))
    short = letters < 2 or (letters < 4 and title.islower()) or letters < 0.1 * signs
    return not short and not _NO_NAME.match(title)


def _openings(markdown: str) -> tuple[str, list[str]]:
    """The first heading, unless it is any text's ("Introduction") and comes later, and the first lines of words.

    Code, tables and what is no words are neither. A line goes on with the next that begins in the middle of a sentence.
    """
    lines: list[str] = []
    fence, joined = "", False
    for line in markdown.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or mark.group(1) == fence):
            fence = "" if fence else mark.group(1)
        elif not fence:
            heading = _HEADING.match(line[:_LINE])
            name = _named(heading.group(1).rstrip("# \t")) if heading else ""
            if name and not (lines and (_SECTION.match(name) or _has_own_title(lines))):
                return name, lines
            joined = _noted(lines, line[:_LINE], joined=joined)
    return "", lines


def _has_own_title(lines: list[str]) -> bool:
    """Whether so much stands before the first heading that the text begins with a title of its own."""
    return len(lines) == _OPENINGS and len(lines[0]) <= _LINE / 10 and not lines[0].endswith((".", "!", "?", ":", ","))


def _noted(lines: list[str], line: str, *, joined: bool) -> bool:
    """Adds a line to the first lines, or to the last of them; answers whether the next may continue it."""
    text = "" if _NO_TITLE.match(line) else _named(line)
    if not text:
        return False
    if joined and text[0].islower() and not _FIELD.match(text) and not lines[-1].endswith((".", "!", "?", "…")):
        lines[-1] = shortened(f"{lines[-1]} {text}", _FIRST_LINE_CHARACTERS)
    elif len(lines) < _OPENINGS:
        lines.append(shortened(text, _FIRST_LINE_CHARACTERS))
    else:
        return False
    return True


def _one_line(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", _CONTROL.sub("", _LINE_BREAKS.sub(" ", text))).split())


def _language(said: Mapping[str, str]) -> str:
    language = said.get("language", "")
    return language.replace("_", "-") if _LANGUAGE.match(language) else ""
