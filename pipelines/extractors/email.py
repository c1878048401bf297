"""Mail messages: the body as text; who, when and what about as metadata. Attachments are named, not read."""

from __future__ import annotations

import codecs
import email.message
import email.policy
import email.utils
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.parser import BytesParser
from typing import BinaryIO, Final, cast

from pipelines.extractors._decode import Decoded, decode
from pipelines.extractors._extractor import Extractor
from pipelines.extractors._html import decode_html, to_markdown
from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Completeness, Extracted

_HEADER_BYTES: Final = 256 * 1024  # the header parser needs a time that grows with the square
_MESSAGE_BYTES: Final = 64 * 1024 * 1024
_PARTS: Final = 1_000
_TRAILER_BYTES: Final = 200  # blank lines and a closing boundary
_SHOWN: Final = ("From", "To", "Cc", "Date", "Subject")
_HEADER_FAULTS: Final = (ValueError, IndexError, AttributeError, TypeError, KeyError, LookupError)


@dataclass
class _Found:
    """What the walk through the parts gathers."""

    texts: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    parts: int = 0


def _read(file: BinaryIO, name: str) -> Extracted:
    raw = file.read(_MESSAGE_BYTES + 1)
    if len(raw) > _MESSAGE_BYTES:
        raise Unreadable("the message is larger than 64 MiB", reason=QuarantineReason.TOO_LARGE)
    if len(_header_block(raw)) > _HEADER_BYTES:
        raise Unreadable("the message has more than 256 KiB of headers", reason=QuarantineReason.TOO_LARGE)
    if raw.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raw = decode(raw).text.encode()
    message = BytesParser(policy=email.policy.default).parsebytes(raw)
    headers = {name: _header(message, name) for name in _SHOWN}
    found = _Found()
    _gather(message, found)
    body = "\n\n".join(filter(None, found.texts))
    if not body and not any(headers.values()):
        raise Unreadable("the message holds neither headers nor text", reason=QuarantineReason.EMPTY)
    missing = [f"attachment not extracted: {name}" for name in found.left_out]
    if not body:
        damaged = len(raw) - len(_header_block(raw)) > _TRAILER_BYTES and not missing
        missing.insert(0, "its parts are damaged: no text was found" if damaged else "the message has no text")
    repaired = Completeness.ENCODING_REPAIRED if found.repairs else Completeness.COMPLETE
    completeness = Completeness.PARTIAL if missing else repaired
    # nothing but headers: then they are the text
    text = body or "\n".join(f"{name}: {said}  " for name, said in headers.items() if said)
    return Extracted(text.strip(), _metadata(headers), completeness, (*found.repairs, *missing))


def _header_block(raw: bytes) -> bytes:
    ends = [at for at in (raw.find(b"\n\n"), raw.find(b"\r\n\r\n"), raw.find(b"\n\r\n")) if at >= 0]
    return raw[: min(ends)] if ends else raw


def _header(message: email.message.Message, name: str) -> str:
    """One line; a header that the parser chokes on is given as it stands."""
    try:
        said = str(message[name] or "")
    except _HEADER_FAULTS:
        said = next((str(value) for key, value in message.raw_items() if key.lower() == name.lower()), "")
    return " ".join(said.encode("utf-8", "replace").decode().split())


def _gather(part: email.message.Message, found: _Found) -> None:
    """Walks as a mail program would show it: of alternatives the plain text, of the rest all that is inline text."""
    found.parts += 1
    if found.parts > _PARTS:
        raise Unreadable(f"the message has more than {_PARTS} parts", reason=QuarantineReason.TOO_LARGE)
    kind = part.get_content_type()
    if kind == "multipart/alternative":
        _gather_best(list(_children(part)), found)
    elif part.is_multipart() and kind.startswith("multipart/"):
        for child in _children(part):
            _gather(child, found)
    elif kind.startswith("text/") and part.get_content_disposition() != "attachment" and not _file_name(part):
        _take(part, kind, found)
    else:
        found.left_out.append(_file_name(part) or kind)


def _children(part: email.message.Message) -> Iterator[email.message.Message]:
    payload = part.get_payload()
    yield from (cast("email.message.Message", child) for child in payload) if isinstance(payload, list) else ()


def _gather_best(alternatives: list[email.message.Message], found: _Found) -> None:
    """The first plain text that is not blank, else the richest alternative that holds any text."""
    tries = []
    for one in sorted(alternatives, key=lambda part: part.get_content_type() != "text/plain"):
        attempt = _Found(parts=found.parts)
        _gather(one, attempt)
        found.parts = attempt.parts
        tries.append(attempt)
        if any(text.strip() for text in attempt.texts):
            break
    chosen = next((attempt for attempt in tries if any(text.strip() for text in attempt.texts)), None)
    for attempt in [chosen] if chosen else tries:
        found.texts += attempt.texts
        found.repairs += attempt.repairs
        found.left_out += attempt.left_out


def _take(part: email.message.Message, kind: str, found: _Found) -> None:
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    charset = _charset(part)
    decoded: Decoded = decode_html(raw, charset) if kind == "text/html" else decode(raw, charset)
    text = to_markdown(decoded.text) if kind == "text/html" else decoded.text
    if text.strip():
        found.texts.append(text.replace("\r\n", "\n").strip("\n"))
        found.repairs += decoded.repairs


def _charset(part: email.message.Message) -> str | None:
    try:
        return part.get_content_charset()
    except _HEADER_FAULTS:
        return None


def _file_name(part: email.message.Message) -> str:
    try:
        return " ".join((part.get_filename() or "").split())
    except _HEADER_FAULTS:
        return ""


def _metadata(headers: dict[str, str]) -> dict[str, str]:
    name, address = email.utils.parseaddr(headers["From"])
    author = " ".join((name or address or headers["From"]).split())
    said = {
        "title": headers["Subject"] or (f"Message from {author}" if author else ""),
        "author": author,
        "published": headers["Date"],
        **{name.lower(): headers[name] for name in ("From", "To", "Cc", "Subject")},
    }
    return {key: value for key, value in said.items() if value}


EMAIL = Extractor(
    media_types=("message/rfc822",),
    needs=("html_to_markdown", "resiliparse.extract.html2text", "charset_normalizer", "resiliparse.parse.encoding"),
    version="2",
    read=_read,
    sample=(
        b"From: =?iso-8859-1?q?J=F6rg?= <a@example.org>\nTo: b@example.org\nSubject: =?utf-8?b?w6Q=?=\n"
        b"Date: Mon, 5 Mar 2024 10:00:00 +0100\nContent-Type: multipart/alternative; boundary=x\n\n"
        b"--x\nContent-Type: text/html; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\n<p>=E4</p>\n"
        b"--x\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\nYQ==\n--x--\n"
    ),
)
