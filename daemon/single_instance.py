"""One daemon a home: makes its folders, private to the user, and holds the lock for as long as the process lives."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Final

from pipelines.model.errors import Transient
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


def make_home(home: Home) -> None:
    """Creates what is missing of the home, readable by the user alone; shuts others out of ``state``."""
    for folder in (home.root, home.drop, home.vault, home.state, home.originals):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if home.state.stat().st_mode & _PRIVATE:
        home.state.chmod(0o700)


def take_lock(home: Home) -> InstanceLock:
    """Raises ``Occupied``, naming the process that has it, when another daemon runs on this home."""
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
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return InstanceLock(fd)


def lock_file(home: Home) -> Path:
    """Where the lock is; its content, a process id, is for people."""
    return home.state / "narthexd.lock"
