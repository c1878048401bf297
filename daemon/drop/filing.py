"""Moves files out of the drop root into our folders, overwriting nothing and durably; writes the notes beside them.

Never opens, copies or changes a dropped file: it is renamed, with the bytes of its own name.
"""

from __future__ import annotations

import ctypes
import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from daemon.drop.names import fitting, stored, twins
from pipelines.durable import disk_error, fsync_folder_fd, make_folders
from pipelines.model.failpoint import reach

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOREPLACE: Final = 1
_EXCHANGE: Final = 2
_UNKNOWN_CALL: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
WHY: Final = ".why.txt"
SAME_AS: Final = ".same-as.txt"
NOTE_HEAD: Final = "narthex: "
"""Every note of ours begins so: by it an orphaned one is known."""

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Note:
    """A text file to lie beside a filed one: ``extension`` goes behind the whole name."""

    extension: str
    text: str


def rename_new(source: int, name: str, target: int, new_name: str) -> None:
    """Renames between two open folders; raises ``FileExistsError`` when the new name is taken, in one atomic step."""
    arguments = (source, os.fsencode(name), target, os.fsencode(new_name))
    if _libc.renameat2(*arguments, _NOREPLACE) == 0:
        return
    number = ctypes.get_errno()
    if number not in _UNKNOWN_CALL:
        raise OSError(number, os.strerror(number))
    # a file system without the call: an empty file takes the name first, and only our own rename replaces it
    os.close(os.open(new_name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=target))
    try:
        os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
    except OSError:
        os.unlink(new_name, dir_fd=target)
        raise


def put_in_place(folder: Path, temporary: str, name: str) -> str | None:
    """Renames ``temporary`` to ``name``; what was there keeps existing, as ``temporary``, whose name is then answered.

    None when nothing was there. So a file of somebody else that took the name a moment ago is not lost.
    """
    fd = os.open(folder, _FOLDER & ~os.O_NOFOLLOW)
    try:
        if _libc.renameat2(fd, os.fsencode(temporary), fd, os.fsencode(name), _EXCHANGE) == 0:
            return temporary
        if ctypes.get_errno() == errno.ENOENT:
            rename_new(fd, temporary, fd, name)
        else:  # a file system without the call
            os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
        return None
    finally:
        os.close(fd)


class FilingCabinet:
    """The folders ``_done``, ``_duplicates``, ``_failed`` and ``_needs-help``. Safe to share between threads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._reserved: set[tuple[str, str]] = set()

    def file_away(
        self,
        source: int,
        name: str,
        folder: str,
        note: Note | None = None,
        announce: Callable[[str], None] | None = None,
    ) -> str:
        """Moves ``name`` from the open folder ``source`` into ``folder`` (relative to the root); answers where it lies.

        ``announce`` is called with that place, as the database stores it, before the move: a crash after it leaves the
        file where it was, and it is filed again. Raises ``OSError`` when the file cannot be moved, ``Transient`` when
        our folder cannot be made; then nothing has changed.
        """
        make_folders(self._root / folder, self._root)
        with _opened(self._root / folder) as target:
            for new_name in twins(name):
                if not self._reserve(target, folder, new_name, note):
                    continue
                try:
                    self._move(source, name, target, new_name, f"{folder}/{new_name}", note, announce)
                    return f"{folder}/{new_name}"
                except FileExistsError:
                    continue
                finally:
                    self._reserved.discard((folder, new_name))
        raise AssertionError("twins() never ends")

    @contextmanager
    def reserved(self, folder: str, name: str) -> Iterator[str]:
        """A place for ``name`` in ``folder`` that is free, relative to the root; nothing of ours takes it meanwhile.

        Raises ``Transient`` when our folder cannot be made.
        """
        make_folders(self._root / folder, self._root)
        with _opened(self._root / folder) as target:
            new_name = next(one for one in twins(name) if self._reserve(target, folder, one, None))
        try:
            yield f"{folder}/{new_name}"
        finally:
            self._reserved.discard((folder, new_name))

    def move_to(self, source: int, name: str, place: str) -> None:
        """Moves ``name`` from the open folder ``source`` to a reserved place that the database knows already.

        Raises ``FileExistsError`` when somebody else put something there, ``OSError`` when it cannot be moved.
        """
        folder, _, new_name = place.rpartition("/")
        with _opened(self._root / folder) as target:
            self._move(source, name, target, new_name, place, None, None)

    def _reserve(self, target: int, folder: str, name: str, note: Note | None) -> bool:
        """Claims a name of which neither the file nor its note exists; two threads never write one note."""
        wanted = [name] if note is None else [name, fitting(name, "", note.extension)]
        with self._lock:
            if (folder, name) in self._reserved or any(_exists(target, one) for one in wanted):
                return False
            self._reserved.add((folder, name))
            return True

    def _move(
        self,
        source: int,
        name: str,
        target: int,
        new_name: str,
        place: str,
        note: Note | None,
        announce: Callable[[str], None] | None,
    ) -> None:
        beside = None if note is None else fitting(new_name, "", note.extension)
        try:
            if note is not None and beside is not None:
                _write_note(target, beside, note.text)
            if announce is not None:
                announce(stored(place))
            reach("drop.announced")
            rename_new(source, name, target, new_name)
        except BaseException:
            if beside is not None:
                with suppress(OSError):
                    os.unlink(beside, dir_fd=target)
            raise
        reach("drop.moved")
        fsync_folder_fd(target)
        fsync_folder_fd(source)

    def put_back(self, place: str, source: int, name: str) -> None:
        """Undoes a move when what was moved turns out to be something newer: it returns to the root as itself."""
        folder, _, filed = place.rpartition("/")
        with _opened(self._root / folder) as target:
            for back in twins(name):
                with suppress(FileExistsError):
                    rename_new(target, filed, source, back)
                    return


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    fd = os.open(folder, _FOLDER)
    try:
        yield fd
    finally:
        os.close(fd)


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _write_note(folder: int, name: str, text: str) -> None:
    try:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    except FileExistsError:
        raise
    except OSError as error:
        raise disk_error(error, "the note beside a filed file cannot be written") from error
    with os.fdopen(fd, "wb") as file:
        file.write((NOTE_HEAD + text.rstrip() + "\n").encode("utf-8", "replace"))
