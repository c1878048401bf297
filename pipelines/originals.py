"""Captured bytes by SHA-256: written once, never changed. Knows nothing of items."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final

from pipelines.durable import disk_error, fsync_file, fsync_folder, make_folders
from pipelines.model.errors import Broken, NotFound, TooLarge
from pipelines.model.failpoint import reach
from pipelines.model.values import Original

_CHUNK: Final = 1 << 20
_TEMPORARY: Final = ".new-"
_naming = threading.Lock()  # giving a name and sweeping one must not be interleaved
_DIGEST: Final = re.compile(r"^[0-9a-f]{64}$")


def keep(root: Path, source: BinaryIO, limit: int) -> Original:
    """Copies ``source`` to its end; returns when bytes and name are on the disk.

    Bytes that are there already are not written again. Raises ``TooLarge`` past ``limit`` bytes, ``StorageFull`` and
    ``Transient`` from the disk; nothing but the finished file is left behind.
    """
    fd, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=root)
    temporary = Path(name)
    try:
        try:
            original = _copy(source, fd, limit)
        finally:
            os.close(fd)
        _publish(root, temporary, original)
        return original
    except OSError as error:
        raise disk_error(error, "the original could not be stored") from error
    finally:
        temporary.unlink(missing_ok=True)


def _copy(source: BinaryIO, fd: int, limit: int) -> Original:
    hasher, size = hashlib.sha256(), 0
    while chunk := source.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise TooLarge(f"it has more than {limit} bytes", hint="raise max_original_bytes, or capture a part of it")
        hasher.update(chunk)
        view = memoryview(chunk)
        while view:
            view = view[os.write(fd, view) :]
    os.fchmod(fd, 0o400)
    reach("capture.original_written")
    fsync_file(fd)
    reach("capture.original_synced")
    return Original(hasher.hexdigest(), size)


def _publish(root: Path, temporary: Path, original: Original) -> None:
    place = path_of(root, original.digest)
    make_folders(place.parent, root)
    with _naming:
        try:
            os.link(temporary, place)
        except FileExistsError:
            if matches(root, original.digest):
                os.utime(place)  # young again: a sweep that has not seen its row yet lets it be
            else:
                temporary.replace(place)  # a damaged disk, or an orphan of a crash: the bytes at hand are right
    reach("capture.original_named")
    fsync_folder(place.parent)
    reach("capture.original_safe")


def path_of(root: Path, digest: str) -> Path:
    """Where an original lies; refuses anything that is no digest before a path is built from it."""
    if not _DIGEST.match(digest):
        raise NotFound("that is not the digest of an original")
    return root / digest[:2] / digest


def open_original(root: Path, digest: str) -> BinaryIO:
    """For reading; raises ``Broken`` when an original that a row names is not there."""
    try:
        return path_of(root, digest).open("rb")
    except FileNotFoundError:
        raise Broken(f"the original {digest} is missing", hint="restore it from a backup") from None


def matches(root: Path, digest: str) -> bool:
    """Whether the bytes on disk still have their digest."""
    try:
        with path_of(root, digest).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except FileNotFoundError:
        return False


def sweep(root: Path, used: Iterable[str], before: float) -> int:
    """Deletes temporary files and originals that no item names, if older than ``before`` (seconds since the epoch).

    The age guards captures under way: their bytes are safe before their row exists. Answers how many were deleted.
    """
    named, swept = set(used), 0
    for path in [*root.glob(_TEMPORARY + "*"), *root.glob("??/*")]:
        with _naming:
            if path.name not in named and path.stat().st_mtime < before:
                path.unlink()
                swept += 1
    return swept
