"""Hears of changes below a folder and says so at once; promises nothing: events get lost, so their hearers also list.

Used by the drop folder and by the vault. A handler does no more than append a path; it never touches the disk.
"""

from __future__ import annotations

import ctypes
import logging
import os
import re
from collections import deque
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

_EVENTS: Final[list[type[FileSystemEvent]]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileClosedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
]
_OVERFLOW_LOGGER: Final = logging.getLogger("watchdog.observers.inotify_c")
_OVERFLOW: Final = "queue overflowed"
_ELSEWHERE: Final = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb2", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "beegfs", "orangefs",
     "ncpfs", "coda", "virtiofs", "vboxsf", "vmhgfs", "drvfs"}
)  # fmt: skip
"""File systems that other machines write as well: this kernel hears nothing of that."""
_FUSE: Final = "fuse."  # any program may stand behind one of these; fuseblk is a local disk
_INOTIFY: Final = "anon_inode:inotify"
_MOUNTS: Final = Path("/proc/self/mountinfo")
_IN_DELETE_SELF: Final = 0x400
_FIRST_PAUSE: Final = 5.0  # seconds until a watch that could not be had is asked for again
_LONGEST_PAUSE: Final = 300.0

_libc = ctypes.CDLL(None, use_errno=True)

MakeObserver = Callable[[], BaseObserver]


class Bell(Protocol):
    """What is rung when something was heard."""

    def set(self) -> None: ...


class _Overflow(logging.Handler):
    """watchdog tells nobody but its log that the kernel dropped events."""

    def __init__(self, told: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._told = told

    def emit(self, record: logging.LogRecord) -> None:
        """Called in watchdog's thread."""
        if _OVERFLOW in record.getMessage():
            self._told()


class Watch(FileSystemEventHandler):
    """One recursive watch. ``heard`` and ``relist`` are read by the one thread that waits for the bell."""

    def __init__(
        self, root: Path, bell: Bell, make_observer: MakeObserver = Observer, *, mounts: Path = _MOUNTS
    ) -> None:
        self._root = root
        self._bell = bell
        self._make_observer = make_observer
        self._mounts = mounts
        self._observer: BaseObserver | None = None
        self._overflow = _Overflow(self._lost_some)
        self._prefix = os.path.join(os.fspath(root), "")  # noqa: PTH118 - with the separator at its end
        self._refused = ""
        self._unheard: set[int] = set()
        self._comparable = True
        self._pause = _FIRST_PAUSE
        self._again_at = 0.0
        self.heard: deque[tuple[str, ...]] = deque()
        self.relist = False
        self.gone = False
        """The folder itself was deleted: another may have its path, and even its number, by now. ``start`` again."""
        self.problem = ""
        """Why events do not tell everything, so that the hearer must list often; empty while they do."""

    def start(self) -> None:
        """Begins anew, on whatever folder is at the path now. Where the system gives no watch, ``problem`` says why."""
        self.stop()
        self._refused, self.gone = "", False
        observer = None
        try:
            observer = self._make_observer()
            observer.schedule(self, os.fspath(self._root), recursive=True, event_filter=_EVENTS)
            observer.start()
        except OSError as error:
            self._refused = f"no watch to be had ({error.strerror})"
            if observer is not None and observer.is_alive():
                observer.stop()
        else:
            self._observer = observer
            _OVERFLOW_LOGGER.addHandler(self._overflow)
        self._explain()

    def stop(self) -> None:
        """Ends the watch; what was heard stays to be read."""
        _OVERFLOW_LOGGER.removeHandler(self._overflow)
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
            self._observer = None

    def listed(self, now: float, folders: Set[int] = frozenset()) -> None:
        """The hearer listed these folders (their inode numbers) at ``now``, of a monotonic clock.

        Brings ``problem`` up to date. A watch that could not be had, or that misses a folder for the second time (a new
        one may be on its way), is asked for again, after pauses that grow to five minutes.
        """
        missed = self._missed(folders)
        lasting, self._unheard = bool(missed & self._unheard), missed
        if (self._refused or lasting) and now >= self._again_at:
            self.start()
            missed = self._missed(folders)
            self._comparable = not missed or not _room(self._root)  # there is room: so these numbers mean nothing here
            self._again_at, self._pause = now + self._pause, min(self._pause * 2, _LONGEST_PAUSE)
        elif not self._refused and not lasting:
            self._pause = _FIRST_PAUSE
        self._explain(len(missed) if lasting and self._comparable else 0)

    def _missed(self, folders: Set[int]) -> set[int]:
        """Which of these have no watch. Some file systems show other numbers to programs than to the kernel."""
        return set(folders - _watched()) if self._observer is not None and self._comparable else set()

    def _explain(self, missed: int = 0) -> None:
        """Puts ``problem`` together."""
        where = elsewhere_below(self._root, self._mounts)
        reasons = [self._refused] if self._refused else []
        reasons += [f"folders without a watch: {missed}"] if missed else []
        reasons += [f"{kind} tells nothing of what other machines write" for kind in sorted(set(where.values()))]
        self.problem = f"polling, {'; '.join(reasons)}" if reasons else ""

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Called in watchdog's thread."""
        if event.is_directory:
            self.relist = True
            self.gone = self.gone or (
                isinstance(event, DirDeletedEvent) and os.fsdecode(event.src_path) == str(self._root)
            )
        for path in (event.src_path, event.dest_path):
            if path and not event.is_directory:
                self._hear(os.fsdecode(path))
        self._bell.set()

    def _hear(self, path: str) -> None:
        if path.startswith(self._prefix):
            self.heard.append(tuple(path[len(self._prefix) :].split("/")))

    def _lost_some(self) -> None:
        self.relist = True
        self._bell.set()


def _watched() -> set[int]:
    """The inode numbers of everything that this process watches, by the kernel's own account."""
    found: set[int] = set()
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - the names alone, of an ever-changing folder
        with suppress(OSError):  # closed meanwhile
            if os.readlink(f"/proc/self/fd/{number}") == _INOTIFY:  # noqa: PTH115
                lines = Path(f"/proc/self/fdinfo/{number}").read_text("ascii").splitlines()
                found |= {int(line.split(" ino:")[1].split()[0], 16) for line in lines if line.startswith("inotify ")}
    return found


def _room(folder: Path) -> bool:
    """Whether the system gives one more watch."""
    fd = _libc.inotify_init1(os.O_CLOEXEC)
    if fd < 0:
        return False
    try:
        return bool(_libc.inotify_add_watch(fd, os.fsencode(folder), _IN_DELETE_SELF) >= 0)
    finally:
        os.close(fd)


def elsewhere_below(root: Path, mounts: Path) -> Mapping[str, str]:
    """Where at or below ``root`` others than this kernel write: mount points with the type of their file system."""
    real, table = os.path.realpath(root), _mounted(mounts)
    at = max((point for point in table if _inside(real, point)), key=len, default="")
    points = [at, *(point for point in table if _inside(point, real))]
    return {point: table[point] for point in points if table.get(point, "") in _ELSEWHERE or _is_fuse(table, point)}


def _is_fuse(table: Mapping[str, str], point: str) -> bool:
    return table.get(point, "").startswith(_FUSE)


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _mounted(mounts: Path) -> dict[str, str]:
    """Mount point to type, by the kernel's table; a later mount hides an earlier one. Empty where there is none."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return {}
    table: dict[str, str] = {}
    for line in lines:
        fields, _, rest = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields.split()[4])
        table[point] = rest.split()[0]
    return table
