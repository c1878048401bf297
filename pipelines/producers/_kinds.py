"""What a text is called that is neither prose nor Markdown: a table, a program, a calendar. Reads none of them."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

PLAIN_TEXT: Final = "plain_text"  # the flag of what was taken in as plain text, its structure unread
_SUBTYPES: Final = MappingProxyType(
    {
        "asciidoc": "AsciiDoc text",
        "calendar": "Calendar file",
        "css": "Style sheet",
        "csv": "Comma-separated table",
        "javascript": "JavaScript program",
        "json": "JSON",
        "org": "Org mode text",
        "tab-separated-values": "Tab-separated table",
        "toml": "TOML settings",
        "vcard": "Contact card",
        "vtt": "Subtitles",
        "x-bibtex": "BibTeX bibliography",
        "x-c": "C program",
        "x-emlx": "Mail message of Apple Mail",
        "x-go": "Go program",
        "x-ini": "Settings file",
        "x-java": "Java program",
        "x-ndjson": "JSON Lines",
        "x-perl": "Perl program",
        "x-php": "PHP program",
        "x-python": "Python program",
        "x-rst": "reStructuredText",
        "x-ruby": "Ruby program",
        "x-rust": "Rust program",
        "x-script.python": "Python program",
        "x-shellscript": "Shell script",
        "x-sql": "SQL",
        "x-subrip": "Subtitles",
        "x-tex": "LaTeX source",
        "x-typescript": "TypeScript program",
        "x-typst": "Typst source",
        "xml": "XML document",
        "yaml": "YAML",
    }
)
_ENDINGS: Final = MappingProxyType(
    {
        "atom": "Atom feed",
        "docbook": "DocBook document",
        "fb2": "FictionBook e-book",
        "gpx": "GPS track",
        "kml": "Map places (KML)",
        "opml": "OPML outline",
        "rss": "RSS feed",
    }
)


def kind_of(media_type: str, name: str) -> str:
    """The kind in words; ``name`` tells apart what is all XML inside."""
    named = _ENDINGS.get(name.lower().rpartition(".")[2]) if media_type == "application/xml" else None
    subtype = media_type.partition("/")[2]
    return named or _SUBTYPES.get(subtype) or f"Text of the kind {subtype.removeprefix('x-')}"
