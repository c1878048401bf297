"""Takes one file out of a multipart body, straight onto the disk that the originals live on. Its name is only metadata.

Starlette would spool the body into the system's temporary folder first, which may be small and in memory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from fastapi import Depends
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from api.json_body import check_text
from api.problems import Malformed
from api.surface import surface
from pipelines.durable import disk_error
from pipelines.model.errors import Invalid
from pipelines.model.values import Home

_TEXT_FIELDS: Final = frozenset({"note", "scope"})
_FIELDS: Final = 64
_FIELD_BYTES: Final = 64 * 1024


@dataclass(slots=True)
class _Part:
    headers: dict[str, bytes] = field(default_factory=dict)
    header_name: bytes = b""
    header_value: bytes = b""
    name: str = ""
    is_file: bool = False
    text: bytearray = field(default_factory=bytearray)


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """A file at ``path`` that is deleted when the request ends, and the fields that came with it."""

    path: Path
    name: str
    note: str
    scope: str | None
    tags: tuple[str, ...]
    digest: bytes
    """Over the file and all fields: what makes two requests the same."""


class _Form:
    """Follows the parser's callbacks; collects small fields in memory and the pieces of the file for ``take``."""

    def __init__(self) -> None:
        self.fields: list[tuple[str, str]] = []
        self.file_name: str | None = None
        self.pieces: list[bytes] = []
        self.complete = False
        self._part = _Part()
        self._parts = 0

    def on_part_begin(self) -> None:
        """A new part."""
        self._part = _Part()
        self._parts += 1
        if self._parts > _FIELDS:
            raise Invalid(f"a form may have {_FIELDS} fields")

    def on_header_field(self, piece: bytes, start: int, end: int) -> None:
        """More of a header's name."""
        self._part.header_name += piece[start:end]

    def on_header_value(self, piece: bytes, start: int, end: int) -> None:
        """More of a header's value."""
        self._part.header_value += piece[start:end]

    def on_header_end(self) -> None:
        """One header is complete."""
        part = self._part
        part.headers[part.header_name.decode("latin-1").lower()] = part.header_value
        part.header_name = part.header_value = b""

    def on_headers_finished(self) -> None:
        """What the part is, is known now."""
        part = self._part
        _, options = parse_options_header(part.headers.get("content-disposition"))
        part.name = options.get(b"name", b"").decode("utf-8", "replace")
        part.is_file = b"filename" in options
        if part.is_file != (part.name == "file"):
            raise Invalid("the form has one part 'file' with a file name; all other fields have none")
        if part.is_file:
            if self.file_name is not None:
                raise Invalid("one request carries one file")
            self.file_name = options[b"filename"].decode("utf-8", "replace")
        elif part.name not in _TEXT_FIELDS and part.name != "tags":
            raise Invalid("the form's fields are file, note, tags and scope")

    def on_part_data(self, piece: bytes, start: int, end: int) -> None:
        """More of a field or of the file."""
        if self._part.is_file:
            self.pieces.append(piece[start:end])
            return
        self._part.text += piece[start:end]
        if len(self._part.text) > _FIELD_BYTES:
            raise Invalid(f"a field may have {_FIELD_BYTES} bytes")

    def on_part_end(self) -> None:
        """One part is complete."""
        if self._part.is_file:
            return
        try:
            text = self._part.text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Invalid(f"the field '{self._part.name}' is not UTF-8") from error
        name = self._part.name
        if name in _TEXT_FIELDS and any(known == name for known, _ in self.fields):
            raise Invalid(f"the field '{name}' is given twice")
        self.fields.append((name, check_text(text, f"the field '{name}'")))

    def on_end(self) -> None:
        """The closing boundary was seen."""
        self.complete = True

    def take(self) -> bytes:
        """The pieces of the file that came since the last call."""
        taken = b"".join(self.pieces)
        self.pieces.clear()
        return taken


async def received_file(request: Request) -> AsyncIterator[ReceivedFile]:
    """Streams the body to a private file below ``HOME/state``; gone again when the request has been answered."""
    premises = surface(request).premises
    path = incoming(premises.home) / premises.ids.new("req")
    form = _Form()
    hasher = hashlib.sha256()
    try:
        await _stream(request, form, path, hasher.update)
        yield _received(form, path, hasher.digest())
    finally:
        path.unlink(missing_ok=True)


def incoming(home: Home) -> Path:
    """Where half received files lie; made when it is missing. On the file system of the originals."""
    folder = home.state / "incoming"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def sweep_incoming(home: Home) -> None:
    """Removes what a killed process left; call it before the first request."""
    for leftover in incoming(home).iterdir():
        leftover.unlink()


async def _stream(request: Request, form: _Form, path: Path, seen: Callable[[bytes], None]) -> None:
    parser = _parser(request, form)
    with _private_file(path) as fd:
        async for chunk in request.stream():
            try:
                parser.write(chunk)
            except FormParserError as error:
                raise Malformed(f"the multipart body is malformed: {error}") from error
            piece = form.take()
            seen(piece)
            if piece:
                await run_in_threadpool(_write, fd, piece)
        parser.finalize()
    if not form.complete:  # the parser is content with a body that breaks off
        raise Malformed("the multipart body ends in the middle")


def _parser(request: Request, form: _Form) -> MultipartParser:
    _, parameters = parse_options_header(request.headers.get("content-type"))
    boundary = parameters.get(b"boundary", b"")
    if not boundary:
        raise Malformed("the Content-Type names no boundary")
    try:
        return MultipartParser(
            boundary,
            {
                "on_part_begin": form.on_part_begin,
                "on_header_field": form.on_header_field,
                "on_header_value": form.on_header_value,
                "on_header_end": form.on_header_end,
                "on_headers_finished": form.on_headers_finished,
                "on_part_data": form.on_part_data,
                "on_part_end": form.on_part_end,
                "on_end": form.on_end,
            },
        )
    except FormParserError as error:
        raise Malformed(f"the boundary is not usable: {error}") from error


@contextmanager
def _private_file(path: Path) -> Iterator[int]:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise disk_error(error, "the file cannot be taken in now") from error
    try:
        yield fd
    finally:
        os.close(fd)


def _write(fd: int, piece: bytes) -> None:
    left = memoryview(piece)
    try:
        while left:
            left = left[os.write(fd, left) :]
    except OSError as error:
        raise disk_error(error, "the file cannot be taken in now") from error


def _received(form: _Form, path: Path, file_digest: bytes) -> ReceivedFile:
    if form.file_name is None:
        raise Invalid("the form has no part 'file'")
    fields = dict(form.fields)
    digest = hashlib.sha256(file_digest)
    for name, text in [("name", form.file_name), *form.fields]:
        digest.update(f"{len(name)}:{len(text)}:{name}{text}".encode("utf-8", "replace"))
    return ReceivedFile(
        path=path,
        name=_last_component(form.file_name),
        note=fields.get("note", ""),
        scope=fields.get("scope") or None,
        tags=tuple(text for name, text in form.fields if name == "tags"),
        digest=digest.digest(),
    )


def _last_component(name: str) -> str:
    # browsers send a bare name; whatever else comes is not to be believed
    return name.replace("\\", "/").replace("\x00", "").rstrip("/").rpartition("/")[2] or "file"


Received = Annotated[ReceivedFile, Depends(received_file)]
