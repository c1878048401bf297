"""Writes and removes notes durably, never over anything that narthex did not write. Only promotion may import it."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import stat
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipelines.durable import disk_error, fsync_file, fsync_folder_fd
from pipelines.model.errors import Conflict, Invalid, NotFound
from pipelines.model.failpoint import reach
from pipelines.vault.layout import TEMPORARY_SUFFIX, check_path, existing_name, open_folder, temporary_name
from pipelines.vault.reader import open_regular

_NEW_NOTE_MODE: Final = 0o600
_NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS})
_NO_EXCHANGE: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
_RENAME_NOREPLACE: Final = 1
_RENAME_EXCHANGE: Final = 2

# one process owns the vault; within it, comparing and replacing must not be interleaved
_lock = threading.Lock()


class OutsideEdit(Conflict):
    """The file in the vault is not what narthex last wrote there; nothing was changed."""

    code = "outside-edit"
    title = "The file was changed outside"


@dataclass(frozen=True, slots=True)
class Written:
    """``path`` as asked for; ``digest`` is SHA-256 of the file's bytes, which are on the disk by now."""

    path: str
    digest: str


def write_note(vault: Path, path: str, text: str, expected: str | None) -> Written:
    """Makes ``text`` the whole content of the note at ``path``: atomic, durable on return, safe to repeat.

    ``expected`` is the digest of what narthex last wrote there, or None when nothing may be there; missing folders are
    made only then. Raises ``OutsideEdit`` when something else is there, ``Invalid`` for a path or text that cannot be,
    ``StorageFull``, ``Transient``, and ``Broken`` after a failed fsync.
    """
    content = _encoded(text)
    digest = hashlib.sha256(content).hexdigest()
    if expected is None:
        check_path(path)
    folder, _, name = path.rpartition("/")
    try:
        with _lock, open_folder(vault, folder, create=expected is None) as fd:
            name = existing_name(fd, name)
            if _digest_there(fd, name, path) == digest:
                _sync_again(fd, name)  # a crash may have come before its fsync
            else:
                _write(fd, name, content, expected, path)
    except NotFound as error:
        raise _outside_edit(path) from error
    except OSError as error:
        raise disk_error(error, f"{path!r} cannot be written") from error
    return Written(path, digest)


def remove_note(vault: Path, path: str, expected: str) -> None:
    """Removes the note if it still has the digest ``expected``; durable on return. That it is gone already is no error.

    Raises ``OutsideEdit`` and, like ``write_note``, ``Invalid``, ``Transient`` and ``Broken``.
    """
    folder, _, name = path.rpartition("/")
    try:
        with _lock, open_folder(vault, folder) as fd:
            name = existing_name(fd, name)
            there = _digest_there(fd, name, path)
            if there not in (None, expected):
                raise _outside_edit(path)
            if there is not None:
                _remove(fd, name, expected, path)
            reach("project.removed")
            fsync_folder_fd(fd)
            reach("project.folder_synced")
    except NotFound:
        return
    except OSError as error:
        raise disk_error(error, f"{path!r} cannot be removed") from error


def _remove(fd: int, name: str, expected: str, path: str) -> None:
    """Takes the file aside before it goes: an edit of the last moment is put back, and wins."""
    aside = temporary_name(name)
    os.rename(name, aside, src_dir_fd=fd, dst_dir_fd=fd)
    if _digest_there(fd, aside, path) != expected:
        _rename_no_replace(fd, aside, name, path)
        raise _outside_edit(path)
    os.unlink(aside, dir_fd=fd)


def sweep_temporaries(vault: Path) -> int:
    """Removes what crashes left of unfinished writes, and says how many files that were."""
    swept = 0
    with _lock, open_folder(vault, "") as root:
        for _, folders, files, fd in os.fwalk(".", dir_fd=root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                if name.startswith(".") and name.endswith(TEMPORARY_SUFFIX):
                    swept += _discard(fd, name)
    return swept


def _write(fd: int, name: str, content: bytes, expected: str | None, path: str) -> None:
    if _digest_there(fd, name, path) != expected:
        raise _outside_edit(path)
    temporary = temporary_name(name)
    _discard(fd, temporary)  # under the lock it can only be a leftover
    try:
        _write_temporary(fd, temporary, content, _mode(fd, name))
        if expected is None:
            _link(fd, temporary, name, path)
        else:
            _exchange(fd, temporary, name, expected, path)
        reach("project.renamed")
    finally:
        _discard(fd, temporary)
    fsync_folder_fd(fd)
    reach("project.folder_synced")


def _write_temporary(fd: int, temporary: str, content: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=fd), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        reach("project.temp_written")
        fsync_file(stream.fileno())
    reach("project.synced")


def _link(fd: int, temporary: str, name: str, path: str) -> None:
    """Gives the new bytes their name only if nothing has it."""
    try:
        os.link(temporary, name, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
    except FileExistsError as error:
        raise _outside_edit(path) from error
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        _rename_no_replace(fd, temporary, name, path)


def _rename_no_replace(fd: int, temporary: str, name: str, path: str) -> None:
    code = _renameat2(fd, temporary, name, _RENAME_NOREPLACE)
    if code == errno.EEXIST:
        raise _outside_edit(path)
    if code:
        raise OSError(code, os.strerror(code), name)


def _exchange(fd: int, temporary: str, name: str, expected: str, path: str) -> None:
    """Puts the new bytes in the place of the expected ones; an edit of the last moment is put back, and wins."""
    if _digest_there(fd, name, path) != expected:
        raise _outside_edit(path)
    reach("project.compared")
    code = _renameat2(fd, temporary, name, _RENAME_EXCHANGE)
    if code in _NO_EXCHANGE:  # a file system without the call: the comparison above is all there is
        os.replace(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
        return
    if code:
        raise OSError(code, os.strerror(code), name)
    if _digest_there(fd, temporary, path) != expected:
        _renameat2(fd, temporary, name, _RENAME_EXCHANGE)
        raise _outside_edit(path)


def _renameat2(fd: int, source: str, target: str, flags: int) -> int:
    """The error number, or 0."""
    renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    if renameat2(fd, os.fsencode(source), fd, os.fsencode(target), flags) == 0:
        return 0
    return ctypes.get_errno()


def _digest_there(fd: int, name: str, path: str) -> str | None:
    try:
        with os.fdopen(open_regular(fd, name), "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except NotFound:
        return None
    except Invalid as error:  # a link, folder or pipe in its place
        raise _outside_edit(path) from error


def _sync_again(fd: int, name: str) -> None:
    note = open_regular(fd, name)
    try:
        fsync_file(note)
    finally:
        os.close(note)
    fsync_folder_fd(fd)
    reach("project.folder_synced")


def _mode(fd: int, name: str) -> int:
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return _NEW_NOTE_MODE


def _discard(fd: int, name: str) -> bool:
    try:
        os.unlink(name, dir_fd=fd)
    except FileNotFoundError:
        return False
    return True


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Invalid("the text holds half of a surrogate pair, which no file can") from error


def _outside_edit(path: str) -> OutsideEdit:
    return OutsideEdit(
        f"{path!r} is not what narthex last wrote there",
        hint="Its present content becomes a proposal; nothing is lost.",
    )
