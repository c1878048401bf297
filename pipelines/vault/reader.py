"""Reads the vault as it is on disk: what is there, what it says, which memory it claims to be. Never changes it."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Final

from pipelines.model.errors import Invalid, NotFound, Transient, Unreadable
from pipelines.vault import memory_file
from pipelines.vault.layout import existing_name, is_note, open_below, open_folder

NOTE_BYTES: Final = 10 * 1024 * 1024
_NO_FILE: Final = frozenset({errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.ENOTDIR, errno.ENAMETOOLONG})


@dataclass(frozen=True, slots=True)
class VaultFile:
    """A note on disk. ``path`` is relative, in NFC unless a twin has that name; ``digest`` is SHA-256 of its bytes."""

    path: str
    digest: str
    size: int
    mtime_ns: int


def scan(vault: Path) -> Iterator[VaultFile]:
    """Every note, folder by folder in the order of names; links, pipes and dot folders are passed over.

    Raises ``Transient`` at what cannot be read, because a note that is left out would look like a deleted one. A file
    that goes while the scan runs is gone.
    """
    with open_folder(vault, "") as fd:
        yield from _scan_folder(fd, "")


def read_text(vault: Path, path: str) -> str:
    """The text of a note, its byte order mark and line endings included.

    Raises ``NotFound``, ``Unreadable`` when it is not UTF-8 or above 10 MiB, ``Transient`` and ``Invalid``.
    """
    with _open_note(vault, path) as stream:
        content = stream.read(NOTE_BYTES + 1)
    if len(content) > NOTE_BYTES:
        raise Unreadable(f"{path!r} is larger than 10 MiB", reason="too_large")
    if b"\0" in content:
        raise Unreadable(f"{path!r} holds NUL characters and is no text", hint="Remove them.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path!r} is not UTF-8 text", hint="Save it as UTF-8.") from error


def memory_id_of(text: str) -> str | None:
    """The id of the memory that a file says it is."""
    return memory_file.memory_id_of(text)


def _scan_folder(fd: int, prefix: str) -> Iterator[VaultFile]:
    entries = _listed(fd, prefix)
    for name, is_folder in sorted(entries.items()):
        composed = unicodedata.normalize("NFC", name)
        path = prefix + (name if composed in entries else composed)
        try:
            if is_folder and is_note(f"{path}/x.md"):
                below = open_below(fd, name, path)
                try:
                    yield from _scan_folder(below, f"{path}/")
                finally:
                    os.close(below)
            elif not is_folder and is_note(path):
                yield _looked_at(fd, name, path)
        except (NotFound, Invalid):  # gone meanwhile, or neither folder nor regular file
            continue


def _listed(fd: int, prefix: str) -> dict[str, bool]:
    try:
        with os.scandir(fd) as entries:
            return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    except OSError as error:
        raise Transient(f"the folder {prefix or 'vault'!r} cannot be listed: {error.strerror}") from error


def _looked_at(folder_fd: int, name: str, path: str) -> VaultFile:
    with _reading(folder_fd, name, path) as (stream, found):
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return VaultFile(path, digest, found.st_size, found.st_mtime_ns)


@contextmanager
def _open_note(vault: Path, path: str) -> Iterator[BufferedReader]:
    folder, _, name = path.rpartition("/")
    with (
        open_folder(vault, folder) as folder_fd,
        _reading(folder_fd, existing_name(folder_fd, name), path) as (stream, _),
    ):
        yield stream


@contextmanager
def _reading(folder_fd: int, name: str, path: str) -> Iterator[tuple[BufferedReader, os.stat_result]]:
    with os.fdopen(open_regular(folder_fd, name), "rb") as stream:
        try:
            yield stream, os.fstat(stream.fileno())
        except OSError as error:
            raise Transient(f"{path!r} cannot be read: {error.strerror}") from error


def open_regular(folder_fd: int, name: str) -> int:
    """A descriptor for reading a regular file of an open folder; neither follows a link nor waits for a pipe."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder_fd)
    except FileNotFoundError as error:
        raise NotFound(f"the vault has no file {name!r}") from error
    except OSError as error:
        if error.errno in _NO_FILE:
            raise Invalid(f"{name!r} is a link or no regular file") from error
        raise Transient(f"{name!r} cannot be opened: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Invalid(f"{name!r} is no regular file")
    return fd
