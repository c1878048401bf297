"""What lies at a path in the drop folder and whether somebody still writes it; changes nothing.

Nothing here follows a symbolic link, at any level: folders are opened one by one below the root.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PASSING: Final = frozenset(
    {errno.EBUSY, errno.EACCES, errno.EPERM, errno.ESTALE, errno.EAGAIN, errno.EIO, errno.EMFILE, errno.ENFILE,
     errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ETXTBSY, errno.ETIMEDOUT, errno.ENOMEM}
)  # fmt: skip
"""Errors of the disk that may pass by themselves."""
GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""Errors that say that the path no longer leads to what was seen there."""
NOT_OURS: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Errors that say that a file may be read but not moved away."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What must stay the same for a file to count as settled, and as the file that was captured."""

    device: int
    inode: int
    size: int
    changed_ns: int
    moved_ns: int
    mode: int
    links: int

    @property
    def is_file(self) -> bool:
        """A regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_folder(self) -> bool:
        """A folder."""
        return stat.S_ISDIR(self.mode)

    def oddity(self) -> str | None:
        """Why this is never opened, for a person; None for a regular file with one name."""
        kinds = {
            stat.S_IFLNK: "a symbolic link: narthex does not follow links",
            stat.S_IFIFO: "a named pipe, not a file",
            stat.S_IFSOCK: "a socket, not a file",
            stat.S_IFCHR: "a device, not a file",
            stat.S_IFBLK: "a device, not a file",
        }
        if self.is_file:
            return "a hard link: the same file has another name elsewhere" if self.links > 1 else None
        return kinds.get(stat.S_IFMT(self.mode), "not a file")

    def same_size(self, other: Signature) -> bool:
        """Whether both are one thing with as many bytes."""
        return (self.device, self.inode, self.size, stat.S_IFMT(self.mode), self.links) == (
            other.device, other.inode, other.size, stat.S_IFMT(other.mode), other.links,
        )  # fmt: skip

    def same_bytes(self, other: Signature) -> bool:
        """Whether both are one file with, as far as times tell, one content; its name may differ."""
        return (self.device, self.inode, self.size, self.changed_ns) == (
            other.device, other.inode, other.size, other.changed_ns,
        )  # fmt: skip

    def source_key(self, parts: Sequence[str]) -> str:
        """Identity of this arrival of this file: seeing it twice is one capture.

        A rename moves the change time: a file that a person puts back from _failed is a new arrival, tried again.
        """
        where = b"\0".join(os.fsencode(part) for part in parts)
        numbers = f"{self.device}:{self.inode}:{self.size}:{self.changed_ns}:{self.moved_ns}".encode()
        return "drop:" + hashlib.sha256(where + b"\0\0" + numbers).hexdigest()


def signature_of(status: os.stat_result) -> Signature:
    """From a status that was made without following links."""
    return Signature(
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
        status.st_nlink,
    )


def look(path: Path) -> Signature | None:
    """What is at ``path`` itself; None when there is nothing. Other disk errors are raised."""
    try:
        return signature_of(os.lstat(path))
    except OSError as error:
        if error.errno in GONE:
            return None
        raise


def digest_of(folder: int, name: str) -> str:
    """SHA-256 of a file in an open folder; raises ``OSError`` when it is a link or cannot be opened."""
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(fd, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def holds(path: Path, size: int, digest: str) -> bool:
    """Whether a regular file with these bytes (SHA-256) lies at ``path``; reads it only if the size fits."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size != size:
            return False
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


@contextmanager
def folder_below(root: Path, folders: Sequence[str]) -> Iterator[int]:
    """A descriptor of the folder ``root/folders…``; follows no link below ``root`` (``OSError`` where there is one)."""
    fd = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for name in folders:
            inner = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def being_written(folder: int, name: str) -> bool:
    """Whether a process has the regular file open for writing, where the file system can tell.

    A read lease is refused while a writer has the file. It is given back at once; whoever opens the file in between
    waits for microseconds. The process must ignore SIGIO (``daemon.main`` does), else such a moment would kill it.
    """
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY, dir_fd=folder)
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False
    except OSError as error:
        # any other error: this file system or this owner gives no leases, and the settle time alone decides
        return error.errno == errno.EAGAIN
    finally:
        os.close(fd)
