"""What travels between daemon and child: requests, replies and ends. The daemon's side believes nothing it is told.

A reply is a length, a JSON header of that length and the text; it comes through a socket made for this task alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Completeness, Extracted, Extraction

HEADER_BYTES: Final = 256 * 1024
_LENGTH: Final = 4
_NAME_CHARACTERS: Final = 1_000
_VALUES: Final = 100
_VALUE_CHARACTERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class End:
    """How a task ended, as the child's supervisor saw it: exit status, else the signal, else out of time."""

    status: int | None = None
    signal: int | None = None

    def to_json(self) -> bytes:
        """One message on the control socket."""
        return json.dumps({"status": self.status, "signal": self.signal}).encode()

    @staticmethod
    def from_json(message: bytes) -> End:
        """The inverse of ``to_json``."""
        fields = json.loads(message)
        return End(fields["status"], fields["signal"])


def request(name: str) -> bytes:
    """A task: the name only, the original travels as an open file."""
    return _clean(name)[:_NAME_CHARACTERS].encode()


def success(extraction: Extraction) -> bytes:
    """The reply that carries an extraction; what is longer than a header may be is cut there, never the text."""
    extracted = extraction.extracted
    header = {
        "metadata": dict(list(_short(extracted.metadata).items())[:_VALUES]),
        "completeness": extracted.completeness,
        "details": _few(extracted.details),
        "media_type": extraction.media_type,
        "detected_by": extraction.detected_by,
        "extractor": extraction.extractor,
        "version": extraction.version,
    }
    return _framed(header, _clean(extracted.text))


def failure(error: Unreadable) -> bytes:
    """The reply that carries a reason not to read it."""
    return _framed({"problem": error.message, "reason": str(error.reason), "hint": error.hint}, "")


def parse(reply: bytes) -> Extraction:
    """The extraction in a reply; raises ``Unreadable``: the one it carries, or one for a reply that makes no sense."""
    length = int.from_bytes(reply[:_LENGTH], "big")
    if len(reply) < _LENGTH + length or not 0 < length <= HEADER_BYTES:
        raise Unreadable("the reader ended in the middle of its answer")
    try:
        header = json.loads(reply[_LENGTH : _LENGTH + length])
        if "problem" in header:
            raise _refusal(header)
        return _extraction(header, reply[_LENGTH + length :].decode("utf-8", "replace"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable("the reader's answer makes no sense") from error


def _refusal(header: Mapping[str, object]) -> Unreadable:
    reason = QuarantineReason(str(header["reason"]))
    return Unreadable(_line(header["problem"]), reason=reason, hint=_line(header.get("hint", "")))


def _extraction(header: Mapping[str, object], text: str) -> Extraction:
    metadata, details = header["metadata"], header["details"]
    if not isinstance(metadata, dict) or not isinstance(details, list):
        raise TypeError("metadata is an object, details are a list")
    extracted = Extracted(
        _clean(text),
        _short(metadata),
        Completeness(str(header["completeness"])),
        tuple(_line(one) for one in details),
    )
    fields = (header["media_type"], header["detected_by"], header["extractor"], header["version"])
    media_type, detected_by, extractor, version = map(_line, fields)
    return Extraction(extracted, media_type, detected_by, extractor, version)


def _framed(header: Mapping[str, object], text: str) -> bytes:
    encoded = json.dumps(header).encode()
    return len(encoded).to_bytes(_LENGTH, "big") + encoded + text.encode()


def _few(details: tuple[str, ...]) -> list[str]:
    kept = [_line(one) for one in details[:_VALUES]]
    more = len(details) - len(kept)
    return [*kept, f"and {more} more"] if more else kept


def _short(metadata: Mapping[str, str]) -> dict[str, str]:
    return {_line(key)[:100]: _line(value) for key, value in metadata.items()}


def _line(value: object) -> str:
    return " ".join(_clean(str(value))[:_VALUE_CHARACTERS].split())


def _clean(text: str) -> str:
    """Without what no database takes: NUL and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()
