"""Writes a file and its fields as multipart/form-data, piece by piece; part of the thin client, reads none itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from pipelines.model.errors import Conflict

_CHUNK: Final = 64 * 1024


def envelope(boundary: str, name: str, fields: Sequence[tuple[str, str]]) -> tuple[bytes, bytes]:
    """What stands before and after the bytes of the file."""
    head = bytearray()
    for field, text in fields:
        head += f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n'.encode()
        head += text.encode("utf-8", "replace") + b"\r\n"
    quoted = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A").encode("utf-8", "replace")
    head += f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="'.encode() + quoted
    head += b'"\r\nContent-Type: application/octet-stream\r\n\r\n'
    return bytes(head), f"\r\n--{boundary}--\r\n".encode()


def chunks(head: bytes, file: BinaryIO, size: int, tail: bytes) -> Iterator[bytes]:
    """The whole body. Raises ``Conflict`` when the file is shorter than ``size``."""
    yield head
    while size:
        chunk = file.read(min(_CHUNK, size))
        if not chunk:
            raise Conflict("the file became shorter while it was sent", hint="Add it again when it is complete.")
        size -= len(chunk)
        yield chunk
    yield tail
