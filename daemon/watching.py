"""Hears of changes below a folder and says so at once; promises nothing: events get lost, so their hearers also list.

Used by the drop folder and by the vault. A handler does no more than append a path; it never touches the disk.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable
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
_NETWORK: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "fuse.rclone"})

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

    def __init__(self, root: Path, bell: Bell, make_observer: MakeObserver = Observer) -> None:
        self._root = root
        self._bell = bell
        self._make_observer = make_observer
        self._observer: BaseObserver | None = None
        self._overflow = _Overflow(self._lost_some)
        self._prefix = os.path.join(os.fspath(root), "")  # noqa: PTH118 - with the separator at its end
        self.heard: deque[tuple[str, ...]] = deque()
        self.relist = False
        self.problem = ""
        """Why there are no events; empty while there are."""

    def start(self) -> None:
        """Begins anew, on whatever folder is at the path now. Where the system gives no watch, ``problem`` says why."""
        self.stop()
        self.problem = _why_deaf(self._root)
        if self.problem:
            return
        observer = None
        try:
            observer = self._make_observer()
            observer.schedule(self, os.fspath(self._root), recursive=True, event_filter=_EVENTS)
            observer.start()
        except OSError as error:
            self.problem = f"no watch to be had ({error.strerror}); the folder is listed instead"
            if observer is not None and observer.is_alive():
                observer.stop()
            return
        self._observer = observer
        _OVERFLOW_LOGGER.addHandler(self._overflow)

    def stop(self) -> None:
        """Ends the watch; what was heard stays to be read."""
        _OVERFLOW_LOGGER.removeHandler(self._overflow)
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
            self._observer = None

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Called in watchdog's thread."""
        if event.is_directory:
            self.relist = True
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


def _why_deaf(root: Path) -> str:
    """A network file system tells nothing of what other machines write."""
    kind = file_system_of(root, Path("/proc/self/mountinfo"))
    return f"{kind} reports no changes; the folder is listed instead" if kind in _NETWORK else ""


def file_system_of(path: Path, mounts: Path) -> str:
    """The type of the file system that ``path`` is on, by the kernel's table; empty where there is none."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    real = os.path.realpath(path)
    best, kind = "", ""
    for line in lines:
        fields, _, rest = line.partition(" - ")
        point = fields.split()[4].encode().decode("unicode_escape")
        if (real == point or real.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, rest.split()[0]
    return kind
