"""A captured link: the address as a Markdown link, after the note of whoever captured it. Never fetches the page."""

from __future__ import annotations

import re
from typing import BinaryIO, Final
from urllib.parse import unquote, urlsplit

from pipelines.extractors._decode import decode
from pipelines.extractors._extractor import Extractor
from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Completeness, Extracted

_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]{1,30}:[^\s<>\"]{2,9000}$", re.I)
_ENDING: Final = re.compile(r"\.(?:html?|php|aspx?|jsp|md|pdf|txt)$", re.I)
_WORDY: Final = re.compile(r"[^\W\d_]{3,}")
_IDENTIFIER: Final = re.compile(r"[0-9a-f-]{16,}$", re.I)


def _read(file: BinaryIO, name: str) -> Extracted:
    """Line 1 is the address, line 2 (``#`` before it or not) the title or the address again, the rest a note.

    Several addresses and no words beside them are a list of links without a title.
    """
    lines = decode(file.read()).text.strip().splitlines()
    if not lines:
        raise Unreadable("the link is empty", reason=QuarantineReason.EMPTY)
    url = lines[0].strip()
    if _several(lines):
        listed = (f"- {_link(line, _said(line))}" if _ADDRESS.match(line) else line for line in map(str.strip, lines))
        return _answer("\n".join(listed), {})
    given = lines[1].strip().lstrip("# ") if len(lines) > 1 else ""
    title = given if given and not _ADDRESS.match(given) else _said(url)
    note = "\n".join(lines[2:]).strip()
    return _answer("\n\n".join(filter(None, (note, _link(url, title)))), {"title": title, "url": url})


def _several(lines: list[str]) -> bool:
    """Whether they are a list of addresses: others than the first, and nothing else but remarks behind a ``#``."""
    said = [line.strip() for line in lines if line.strip()]
    others = [one for one in said[1:] if _ADDRESS.match(one) and not said[0].startswith(one[:199])]
    return bool(others) and all(_ADDRESS.match(one) or one.startswith("#") for one in said)


def _answer(text: str, metadata: dict[str, str]) -> Extracted:
    return Extracted(text, metadata, Completeness.LINK_ONLY, ("the page itself was not fetched",))


def _said(url: str) -> str:
    """An address as a person would say it: the host, and the last part of the path that is made of words."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        return url
    segments = [unquote(segment).strip() for segment in parts.path.split("/")]
    for segment in reversed(segments):
        words = " ".join(re.split(r"[-_+\s]+", _ENDING.sub("", segment))).strip()
        if _WORDY.search(words) and not _IDENTIFIER.match(segment):
            return f"{host}: {words}" if host else words
    return host or url


def _link(url: str, label: str) -> str:
    target = url.replace("<", "%3C").replace(">", "%3E").replace(" ", "%20")
    escaped = label.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"[{escaped}](<{target}>)"


LINK = Extractor(
    media_types=("text/uri-list",),
    needs=(),
    version="2",
    read=_read,
    sample=b"https://example.org/\n",
    text_limit=True,
)
