"""One daemon a home: makes its folders, private to the user, and holds the lock for as long as the process lives."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pipelines.model.errors import Invalid, StorageFull, Transient
from pipelines.model.values import Home

_PRIVATE: Final = 0o077
EXIT_OCCUPIED: Final = 75
"""Exit status (EX_TEMPFAIL) of a daemon whose home or port is taken by another process."""


class Occupied(Transient):
    """Another process holds the home or the port."""

    code = "occupied"
    title = "Another narthexd is there"
    exit_code = EXIT_OCCUPIED


class InstanceLock:
    """The lock on a home. The kernel releases it with the process, however that ends: a stale file means nothing."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        """Lets the next daemon in. The file stays: removing it would let two processes lock two files."""
        os.close(self._fd)


def make_home(home: Home) -> bool:
    """Creates what is missing of the home, readable by the user alone; shuts others out of ``state``.

    Answers whether the home itself is new. Raises ``Invalid`` when its parent is not there (a mistyped path must not
    become a tree), or when the system does not let it be a home; ``StorageFull`` when the disk is full.
    """
    with _system_refusals(home):
        new = not home.root.exists()
        if not home.root.parent.is_dir():
            raise Invalid(
                f"there is no folder {home.root.parent} in which the home {home.root.name!r} could be made",
                hint="Check the path, or make that folder first.",
            )
        for folder in (home.root, home.drop, home.vault, home.state, home.originals):
            folder.mkdir(mode=0o700, exist_ok=True)
        if home.state.stat().st_mode & _PRIVATE:
            home.state.chmod(0o700)
    return new


@contextmanager
def _system_refusals(home: Home) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        about = f"{error.filename}: " if error.filename and str(error.filename) != str(home.root) else ""
        why = f"{about}{error.strerror or type(error).__name__}"
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StorageFull(f"the home {home.root} cannot be made: {why}", hint="Free some space.") from error
        raise Invalid(
            f"{home.root} cannot be the home: {why}",
            hint="Choose a folder of yours with --home or NARTHEX_HOME, or check who may write there.",
        ) from error


def take_lock(home: Home) -> InstanceLock:
    """Raises ``Occupied``, naming the process that has it, when another daemon runs on this home, ``Invalid`` when the
    lock cannot be made."""
    with _system_refusals(home):
        fd = os.open(lock_file(home), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
        os.close(fd)
        raise Occupied(
            f"another narthexd{f' (process {holder})' if holder.isdigit() else ''} is running on {home.root}",
            hint="Stop it first, or start this one with another --home.",
        ) from error
    with _system_refusals(home):
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return InstanceLock(fd)


def lock_file(home: Home) -> Path:
    """Where the lock is; its content, a process id, is for people."""
    return home.state / "narthexd.lock"
