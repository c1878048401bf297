"""Makes names and bytes survive a power cut: the only place that calls fsync. Never decides what is written."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Final

from pipelines.model.errors import Broken, Invalid, NarthexError, StorageFull, Transient

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FOLDER_MODE: Final = 0o700

_lock = threading.Lock()
_durable_folders: set[Path] = set()


def fsync_file(fd: int) -> None:
    """Blocks until the bytes of ``fd`` are on the disk.

    Raises ``Broken``: after a failed fsync the kernel may have dropped the bytes, and a second call would lie.
    """
    try:
        os.fsync(fd)
    except OSError as error:
        raise Broken(f"the disk did not confirm a write: {error.strerror}") from error


def fsync_folder(path: Path) -> None:
    """Blocks until the names in the folder ``path`` are on the disk. Raises ``Broken`` like ``fsync_file``."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fsync_folder_fd(fd)
    finally:
        os.close(fd)


def fsync_folder_fd(fd: int) -> None:
    """As ``fsync_folder``, for an open folder."""
    try:
        fsync_file(fd)
    except Broken as broken:
        # some network file systems have no such operation for folders; they order names themselves
        if not isinstance(broken.__cause__, OSError) or broken.__cause__.errno != errno.EINVAL:
            raise


def make_folders(path: Path, below: Path) -> None:
    """Creates what is missing between ``below`` (which must exist) and ``path``, private to the user, and durably.

    Raises ``Invalid`` when a part is a symbolic link or no folder, or when ``path`` is not below ``below``.
    """
    if not path.is_relative_to(below) or ".." in path.parts:
        raise Invalid(f"{path.name!r} would lie outside its folder")
    folder = below
    with _lock:  # a second thread must not go on before the first one's folder is durable
        for name in path.relative_to(below).parts:
            parent, folder = folder, folder / name
            _make_folder(folder, parent)


def _make_folder(folder: Path, parent: Path) -> None:
    try:
        folder.mkdir(_FOLDER_MODE)
    except FileExistsError:
        if folder.is_symlink() or not folder.is_dir():
            raise Invalid(f"{folder.name!r} is not a folder", hint="Move it away, or choose another folder.") from None
        if folder in _durable_folders:
            return
        # it may have been made by a process that was killed before its fsync
    except OSError as error:
        raise disk_error(error, f"the folder {folder.name!r} cannot be made") from error
    fsync_folder(parent)
    _durable_folders.add(folder)


def disk_error(error: OSError, message: str) -> NarthexError:
    """The error to raise for ``error``: ``StorageFull`` when there is no room, else ``Transient``."""
    if error.errno in _FULL:
        return StorageFull(
            f"{message}: there is no space left", hint="Free some space; the next try follows by itself."
        )
    return Transient(f"{message}: {error.strerror or error}")
