"""Which media type an original has, by its content: libmagic first, then a closer look where libmagic errs.

Never believes a name against the bytes: an ending only chooses among text types. Runs in the child.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import BinaryIO, Final

from pipelines.extractors._decode import decode
from pipelines.extractors._magic import libmagic
from pipelines.extractors._sniff import text_type
from pipelines.extractors._zip import document_type

_HEAD_BYTES: Final = 64 * 1024
_UNKNOWN: Final = "application/octet-stream"
_ENCRYPTED: Final = "application/encrypted"
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_BYTES: Final = 4 * 1024 * 1024
_PACKAGE: Final = "EncryptedPackage".encode("utf-16-le")
_TEXTUAL: Final = frozenset(
    {
        "application/javascript",
        "application/json",
        "application/mbox",
        "application/toml",
        "application/x-javascript",
        "application/x-ndjson",
        "application/x-subrip",
        "application/x-tex",
        "application/x-yaml",
        "application/xml",
        "message/news",
        "message/rfc822",
    }
)
# one name for what several libraries call differently
_CANONICAL: Final = {
    "text/xml": "application/xml",
    "text/json": "application/json",
    "application/x-yaml": "application/yaml",
    "application/x-javascript": "application/javascript",
    "application/x-subrip": "text/x-subrip",
    "message/news": "message/rfc822",
    "text/rtf": "application/rtf",
    "application/x-tex": "text/x-tex",
}
_CONTROL: Final = bytes(set(range(32)) - {0, 7, 8, 9, 10, 11, 12, 13, 27}) + b"\x7f"


@dataclass(frozen=True, slots=True)
class Detected:
    """``because``: which rule decided, for the item's record."""

    media_type: str
    because: str


def detect(file: BinaryIO, name: str) -> Detected:
    """Reads from the file's start and leaves it there; the whole file may be looked at, not only its head."""
    file.seek(0)
    verdict = libmagic().from_descriptor(file.fileno())
    file.seek(0)
    head = file.read(_HEAD_BYTES)
    found = _refined(file, verdict, head, name) or Detected(verdict, "libmagic")
    file.seek(0)
    return Detected(_CANONICAL.get(found.media_type, found.media_type), found.because)


def _refined(file: BinaryIO, verdict: str, head: bytes, name: str) -> Detected | None:
    if head.startswith(b"PK") and verdict in {"application/zip", _UNKNOWN}:
        inside = document_type(file)
        return Detected(inside, "entries of the zip") if inside else Detected("application/zip", "starts with PK")
    if head.startswith(_OLE):
        return _ole(file, verdict)
    if verdict in {_UNKNOWN, "text/plain"} and b"%PDF-" in head[:1024]:
        return Detected("application/pdf", "%PDF- in the first 1,024 bytes")
    if not _is_text(verdict, head):
        return None
    found = text_type(decode(head).text, name)
    if found:
        return Detected(*found)
    return Detected("text/plain", "reads as text") if verdict == _UNKNOWN else None


def _ole(file: BinaryIO, verdict: str) -> Detected | None:
    """A document with a password is an OLE file around an encrypted package, which libmagic sees only sometimes."""
    file.seek(0)
    if _PACKAGE in file.read(_OLE_BYTES):
        return Detected(_ENCRYPTED, "an encrypted package inside")
    file.seek(0, os.SEEK_END)
    return None


def _is_text(verdict: str, head: bytes) -> bool:
    if verdict.startswith("text/") or verdict in _TEXTUAL or verdict.endswith(("+xml", "+json")):
        return True
    return verdict == _UNKNOWN and _looks_like_text(head)


def _looks_like_text(head: bytes) -> bool:
    """Bytes that libmagic knows no name for: text in UTF-16 or UTF-32, or UTF-8 with stray zeros."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return True
    decoded = decode(head[: len(head) // 4 * 4 or None])
    if decoded.encoding.startswith("utf-16"):
        return decoded.text.isprintable() or not set(decoded.text) & set(map(chr, _CONTROL))
    bare = head.replace(b"\x00", b"")
    return bool(bare) and 2 * len(bare) >= len(head) and decoded.encoding == "utf-8" and not set(bare) & set(_CONTROL)
