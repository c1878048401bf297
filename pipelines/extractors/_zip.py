"""Looks at a zip file's directory before anything unpacks it: refuses bombs, answers what kind of document it is."""

from __future__ import annotations

import os
import zipfile
from typing import BinaryIO, Final

from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason

_UNPACKED_BYTES: Final = 200 * 1024 * 1024
_ENTRIES: Final = 10_000
_RATIO: Final = 200
_SMALL_MEMBER: Final = 4 * 1024 * 1024  # below this a high ratio is harmless
_DIRECTORY_BYTES: Final = 8 * 1024 * 1024
_END_RECORD: Final = b"PK\x05\x06"
_OFFICE: Final = {
    "word/": "wordprocessingml.document",
    "xl/": "spreadsheetml.sheet",
    "ppt/": "presentationml.presentation",
}
_TAIL_BYTES: Final = 22 + 65_535


def open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """The archive, after the checks; raises ``Unreadable`` (``too_large`` for a bomb, ``failed`` when damaged).

    Sizes that lie are harmless: the reader stops at the declared size and then misses the checksum.
    """
    _check_directory(file)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, EOFError, OSError, NotImplementedError) as error:
        raise Unreadable("the archive is damaged", reason=QuarantineReason.FAILED) from error
    members = archive.infolist()
    if len(members) > _ENTRIES:
        raise _too_large(f"it has {len(members)} entries, the limit is {_ENTRIES}")
    unpacked = sum(member.file_size for member in members)
    if unpacked > _UNPACKED_BYTES:
        raise _too_large(f"it unpacks to {unpacked // 2**20} MiB, the limit is {_UNPACKED_BYTES // 2**20} MiB")
    for member in members:
        if member.file_size > _SMALL_MEMBER and member.file_size > _RATIO * max(member.compress_size, 1):
            raise _too_large("one of its parts unpacks to more than 200 times its size")
    return archive


def document_type(file: BinaryIO) -> str | None:
    """Media type of a zip by its entries: OOXML, OpenDocument, EPUB; None when it is a plain or damaged archive."""
    try:
        archive = open_zip(file)
    except Unreadable:
        return None
    names = set(archive.namelist())
    if "mimetype" in names and archive.getinfo("mimetype").file_size < 200:
        try:
            return archive.read("mimetype").decode("ascii", "replace").strip() or None
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError, ValueError):
            return None
    if "[Content_Types].xml" in names:
        for folder, kind in _OFFICE.items():
            if any(name.startswith(folder) for name in names):
                return f"application/vnd.openxmlformats-officedocument.{kind}"
    return "application/epub+zip" if "META-INF/container.xml" in names else None


def _check_directory(file: BinaryIO) -> None:
    """A million entries cost a gigabyte to list: the end record says how large the list is, before it is read."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read(_TAIL_BYTES)
    at = tail.rfind(_END_RECORD)
    directory = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    file.seek(0)
    if directory > _DIRECTORY_BYTES:
        raise _too_large("it lists too many entries")


def _too_large(why: str) -> Unreadable:
    return Unreadable(f"the archive is refused: {why}", reason=QuarantineReason.TOO_LARGE)
