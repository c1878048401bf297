"""Bytes to text in any encoding, saying how sure the answer is; never loses a byte silently."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final

from pipelines.model.values import Completeness

_SAMPLE: Final = 64 * 1024
_STATISTICS_BYTES: Final = 8
_SIGNS: Final = "€£§°©®«»–—‘’“”„…•·½¼\xa0"
_BOMS: Final = (  # UTF-32 first: its little-endian mark starts with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# what the web and mail call an encoding, and the superset that is really meant
_ALIASES: Final = {
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "sjis": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "windows-874": "cp874",
    "tis-620": "cp874",
    "iso-8859-8-i": "iso-8859-8",
    "iso-8859-8-e": "iso-8859-8",
    "unicode-1-1-utf-8": "utf-8",
    "utf8mb4": "utf-8",
}
# not encodings of a text, or ones that hide bytes from every other reader
_NEVER: Final = {"idna", "punycode", "utf_7", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"}


@dataclass(frozen=True, slots=True)
class Decoded:
    """``repairs`` say what was guessed, replaced or removed; empty when the bytes speak for themselves."""

    text: str
    encoding: str
    repairs: tuple[str, ...] = ()

    @property
    def completeness(self) -> Completeness:
        """``ENCODING_REPAIRED`` as soon as one repair was needed."""
        return Completeness.ENCODING_REPAIRED if self.repairs else Completeness.COMPLETE


def decode(raw: bytes, declared: str | None = None) -> Decoded:
    """BOM, strict UTF-8, the declared encoding, a detected one, else replacement characters; NUL removed."""
    decoded = _by_mark(raw) or _strict(raw, "utf-8") or _by_zeros(raw)
    if decoded is None and declared:
        decoded = _declared(raw, declared)
    return _without_nul(decoded or _guessed(raw))


def codec_name(label: str) -> str | None:
    """The Python codec for an encoding label of the web or of a mail, or None when it names no encoding of text."""
    wanted = label.strip().strip("\"'").lower()
    wanted = _ALIASES.get(wanted, wanted)
    try:
        name = codecs.lookup(wanted).name
        b"abcd".decode(name, "replace")  # raises for codecs between bytes and bytes
    except (LookupError, ValueError):
        return None
    return None if name.replace("-", "_") in _NEVER else name


def _by_mark(raw: bytes) -> Decoded | None:
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            rest = raw[len(mark) :]
            return _strict(rest, encoding) or _replaced(rest, encoding)
    return None


def _strict(raw: bytes, encoding: str) -> Decoded | None:
    try:
        return Decoded(raw.decode(encoding), encoding)
    except UnicodeDecodeError:
        return None


def _replaced(raw: bytes, encoding: str) -> Decoded:
    text = raw.decode(encoding, "replace")
    lost = text.count("\ufffd")
    return Decoded(text, encoding, (f"{lost} unreadable characters replaced (read as {encoding})",))


def _by_zeros(raw: bytes) -> Decoded | None:
    """UTF-16 without a mark: in Western text every second byte is zero."""
    sample = raw[:_SAMPLE]
    half = len(sample) // 2
    if half < 2:
        return None
    odd, even = sample[1::2].count(0), sample[::2].count(0)
    encoding = "utf-16-le" if odd > 0.4 * half > 10 * even else "utf-16-be" if even > 0.4 * half > 10 * odd else ""
    guess = _strict(raw, encoding) if encoding else None
    return guess and Decoded(guess.text, encoding, (f"encoding guessed as {encoding}",))


def _declared(raw: bytes, label: str) -> Decoded | None:
    encoding = codec_name(label)
    if encoding is None:
        return None
    exact = _strict(raw, encoding)
    if exact is not None:
        return exact
    # a stray byte in a long text does not refute the declaration; many do
    repaired = _replaced(raw, encoding)
    bare_ascii = encoding == "utf-8" and not _mostly_utf8(raw)
    return None if bare_ascii or repaired.text.count("\ufffd") * 50 > len(repaired.text) else repaired


def _guessed(raw: bytes) -> Decoded:
    from charset_normalizer import from_bytes
    from resiliparse.parse.encoding import detect_encoding

    if _mostly_utf8(raw):
        return _replaced(raw, "utf-8")
    western = _few_western(raw)
    if western:
        return western
    best = from_bytes(raw[:_SAMPLE]).best
    for label in (lambda: detect_encoding(raw), lambda: getattr(best(), "encoding", None)):
        encoding = codec_name(label() or "")
        guess = _strict(raw, encoding) if encoding else None
        if guess is not None:
            return Decoded(guess.text, guess.encoding, (f"encoding guessed as {guess.encoding}",))
    return _replaced(raw, "utf-8")


def _few_western(raw: bytes) -> Decoded | None:
    """A few odd bytes are too few for statistics: Western Europe's letters and signs, if they all are that."""
    odd = bytes(byte for byte in raw[:_SAMPLE] if byte > 0x7F)
    guess = _strict(raw, "cp1252") if len(odd) < _STATISTICS_BYTES else None
    if guess is None or not all(one.isalpha() or one in _SIGNS for one in odd.decode("cp1252", "replace")):
        return None
    return Decoded(guess.text, "cp1252", ("encoding guessed as cp1252",))


def _mostly_utf8(raw: bytes) -> bool:
    """Whether well-formed multi-byte characters outnumber the broken ones by far."""
    text = raw.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    multi_byte = sum(1 for character in text if character > "\x7f") - broken
    return broken > 0 and multi_byte >= 3 * broken


def _without_nul(decoded: Decoded) -> Decoded:
    count = decoded.text.count("\x00")
    if not count:
        return decoded
    note = "1 NUL character removed" if count == 1 else f"{count} NUL characters removed"
    return Decoded(decoded.text.replace("\x00", ""), decoded.encoding, (*decoded.repairs, note))
