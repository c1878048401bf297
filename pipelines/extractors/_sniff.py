"""What kind of text a text is: libmagic is weak there. Judges by content first, the name's ending only breaks ties."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

_HTML: Final = re.compile(
    r"(?:\s|<!--(?:[^-]|-[^-]){0,2000}-->|<\?xml[^>]{0,300}\?>){0,50}<(?:!doctype\s+html|html[\s>]|head[\s>]|body[\s>])",
    re.I,
)
_HEADER: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,60})[ \t]{0,9}:")
_MAIL_HEADERS: Final = frozenset(
    {
        "cc",
        "content-type",
        "date",
        "delivered-to",
        "from",
        "message-id",
        "mime-version",
        "received",
        "reply-to",
        "return-path",
        "sender",
        "subject",
        "to",
    }
)
_TECHNICAL: Final = frozenset({"delivered-to", "message-id", "mime-version", "received", "return-path"})
_URL_LINE: Final = re.compile(r"[a-z][a-z0-9+.-]{1,30}:[^\s<>\"]{2,8000}$", re.I)
_NOTEBOOK: Final = re.compile(r'"nbformat"\s{0,9}:\s{0,9}\d')

BY_ENDING: Final = MappingProxyType(
    {
        ".md": "text/markdown",
        ".markdown": "text/markdown",
        ".mdown": "text/markdown",
        ".mkd": "text/markdown",
        ".txt": "text/plain",
        ".text": "text/plain",
        ".log": "text/plain",
        ".html": "text/html",
        ".htm": "text/html",
        ".xhtml": "application/xhtml+xml",
        ".eml": "message/rfc822",
        ".mbox": "application/mbox",
        ".mhtml": "message/rfc822",
        ".mht": "message/rfc822",
        ".uri": "text/uri-list",
        ".urls": "text/uri-list",
        ".csv": "text/csv",
        ".tsv": "text/tab-separated-values",
        ".json": "application/json",
        ".jsonl": "application/x-ndjson",
        ".ndjson": "application/x-ndjson",
        ".xml": "application/xml",
        ".yaml": "application/yaml",
        ".yml": "application/yaml",
        ".toml": "application/toml",
        ".ics": "text/calendar",
        ".vcf": "text/vcard",
        ".vtt": "text/vtt",
        ".srt": "application/x-subrip",
        ".tex": "text/x-tex",
        ".rst": "text/x-rst",
        ".org": "text/org",
        ".adoc": "text/asciidoc",
        ".bib": "text/x-bibtex",
        ".asciidoc": "text/asciidoc",
        ".atom": "application/xml",
        ".bash": "text/x-shellscript",
        ".c": "text/x-c",
        ".cfg": "text/x-ini",
        ".cpp": "text/x-c",
        ".css": "text/css",
        ".docbook": "application/xml",
        ".emlx": "text/x-emlx",
        ".fb2": "application/xml",
        ".go": "text/x-go",
        ".h": "text/x-c",
        ".ini": "text/x-ini",
        ".java": "text/x-java",
        ".opml": "application/xml",
        ".php": "text/x-php",
        ".pl": "text/x-perl",
        ".rb": "text/x-ruby",
        ".rs": "text/x-rust",
        ".rss": "application/xml",
        ".sh": "text/x-shellscript",
        ".sql": "text/x-sql",
        ".ts": "text/x-typescript",
        ".typ": "text/x-typst",
        ".js": "application/javascript",
        ".py": "text/x-python",
        ".ipynb": "application/x-ipynb+json",
    }
)
"""The only endings that count, and only among texts."""


def text_type(text: str, name: str) -> tuple[str, str] | None:
    """Media type and why, for the first 64 Ki characters of a text; None: nothing special about it."""
    head = text.lstrip("\ufeff \t\r\n")
    ending = _by_ending(name)
    return _by_signature(head) or _by_shape(head, named_text=ending and ending[0] != "message/rfc822") or ending


def _by_signature(head: str) -> tuple[str, str] | None:
    signatures = (
        ("%PDF-", "application/pdf"),
        ("{\\rtf", "text/rtf"),
        ("BEGIN:VCALENDAR", "text/calendar"),
        ("BEGIN:VCARD", "text/vcard"),
        ("WEBVTT", "text/vtt"),
        ("<svg", "image/svg+xml"),
    )
    for start, media_type in signatures:
        if head.startswith(start):
            return media_type, f"starts with {start}"
    if _HTML.match(head):
        return "text/html", "starts like a web page"
    if head.startswith(("<?xml", "<!DOCTYPE")):
        svg = "<svg" in head[:4096]
        return ("image/svg+xml", "XML with an svg element") if svg else ("application/xml", "XML prolog")
    return None


def _by_shape(head: str, named_text: bool | None) -> tuple[str, str] | None:
    lines = [line.strip() for line in head[:4096].splitlines() if line.strip()]
    if lines and all(_URL_LINE.match(line) or line.startswith("#") for line in lines) and _URL_LINE.match(lines[0]):
        return "text/uri-list", "nothing but addresses"
    if head.startswith(("{", "[")):
        return _json_type(head)
    return _mail_type(head, bool(named_text))


def _json_type(head: str) -> tuple[str, str] | None:
    if _NOTEBOOK.search(head) and '"cells"' in head:
        return "application/x-ipynb+json", "a notebook's fields"
    try:
        json.loads(head.splitlines()[0] if len(head) > 60_000 else head)
    except (ValueError, RecursionError):
        return None
    return "application/json", "reads as JSON"


def _mail_type(head: str, named_text: bool) -> tuple[str, str] | None:
    """Two known headers before the first blank line; a mailbox has a ``From `` line and another after a blank one.

    In a file that is named as a text, "From: … To: …" may be a note: there one header must be a mail program's own.
    """
    if head.startswith("From ") and re.search(r"\r?\n\r?\nFrom \S", head):
        return "application/mbox", "several From lines"
    lines = head.splitlines()
    if lines and lines[0].startswith("From "):
        lines = lines[1:]
    if not lines or not _HEADER.match(lines[0]):
        return None
    known: set[str] = set()
    for line in lines[:500]:
        if not line.strip():
            break
        header = _HEADER.match(line)
        name = header.group(1).lower() if header else ""
        known |= {name} & _MAIL_HEADERS
    if len(known) < 2 or (named_text and not known & _TECHNICAL):
        return None
    return "message/rfc822", f"mail headers {', '.join(sorted(known)[:3])}"


def _by_ending(name: str) -> tuple[str, str] | None:
    ending = PurePosixPath(name).suffix.lower()
    found = BY_ENDING.get(ending)
    return (found, f"a text, and its name ends in {ending}") if found else None
