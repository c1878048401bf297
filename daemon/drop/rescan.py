"""Lists the drop folder, which is the truth that events only hint at; knows whether the folder is the one it was."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from daemon.drop.names import QUEUE, IgnoreList
from daemon.drop.settle import Parts


@dataclass(slots=True)
class Listing:
    """Every entry that is not a folder, the folders that could not be listed, the inodes of all folders."""

    files: list[Parts] = field(default_factory=list)
    unreadable: list[Parts] = field(default_factory=list)
    folders: set[int] = field(default_factory=set)
    queued: bool = False


def list_drop(root: Path, ignore: IgnoreList) -> Listing:
    """All below ``root`` that is our business. Follows no link; a folder that goes away meanwhile is skipped."""
    found = Listing(folders={root.stat().st_ino}, queued=(root / QUEUE).is_dir())
    open_folders: list[Parts] = [()]
    while open_folders:
        folder = open_folders.pop()
        try:
            with os.scandir(root.joinpath(*folder)) as entries:
                for entry in entries:
                    parts = (*folder, entry.name)
                    if ignore.hides(parts):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        open_folders.append(parts)
                        found.folders.add(
                            entry.stat(follow_symlinks=False).st_ino
                        )  # of what is mounted there, if something is
                    else:
                        found.files.append(parts)
        except FileNotFoundError:
            continue
        except OSError:
            found.unreadable.append(folder)
    return found


class RootWatch:
    """Whether the drop folder is there, and the same as before."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._identity: tuple[int, int] | None = None
        self._was_missing = False

    def problem(self) -> str:
        """Empty when the folder can be used; else what is wrong, for a person.

        An empty folder in place of the one we knew is most likely the mount point of a disk that went away: we wait. As
        soon as something lies in it, it is taken for the new drop folder.
        """
        try:
            status = self._root.stat()
            if not stat.S_ISDIR(status.st_mode):
                return "the drop folder is not a folder"
            identity = (status.st_dev, status.st_ino)
            if self._identity is None or identity == self._identity or any(self._root.iterdir()):
                return ""
        except FileNotFoundError:
            self._was_missing = True
            return "the drop folder is missing"
        except OSError as error:
            return f"the drop folder cannot be opened: {error.strerror}"
        return "the drop folder was replaced by an empty folder"

    def is_new(self) -> bool:
        """Whether the folder that is there is another one than the one that was adopted; it may have got its number."""
        status = self._root.stat()
        return self._was_missing or self._identity != (status.st_dev, status.st_ino)

    def adopt(self) -> None:
        """Takes the folder that is there for ours."""
        status = self._root.stat()
        self._identity, self._was_missing = (status.st_dev, status.st_ino), False


class EmptiedFolders:
    """Folders that files were taken out of. They go when only folders are left in them and nothing moves any more."""

    def __init__(self, root: Path, kept: tuple[str, ...], patience: float) -> None:
        self._root = root
        self._kept = kept
        self._patience = patience
        self._seen: dict[str, tuple[float, list[tuple[str, int]]]] = {}

    def emptied(self, parts: Parts, now: float) -> None:
        """A file left ``parts``."""
        if len(parts) > 1:
            self._seen.setdefault(parts[0], (now, []))

    def sweep(self, now: float) -> None:
        """Removes what has been empty and unchanged for the patience (in seconds); never a file."""
        for top, (since, before) in list(self._seen.items()):
            if now < since + self._patience:
                continue
            folders = list(_only_folders(self._root / top))
            if not folders:  # gone, or something lies in it: the next file taken out brings it back here
                del self._seen[top]
            elif folders != before:
                self._seen[top] = (now, folders)
            else:
                del self._seen[top]
                self._remove(top, [Path(path) for path, _ in folders])

    def _remove(self, top: str, folders: list[Path]) -> None:
        for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
            if folder != self._root / top or top not in self._kept:
                with suppress(OSError):  # rmdir refuses a folder with something in it: that is the check
                    folder.rmdir()


def _only_folders(top: Path) -> Iterator[tuple[str, int]]:
    """Each folder of the tree with its time; nothing at all as soon as one thing in it is not a folder."""
    found: list[tuple[str, int]] = []
    try:
        for path, folders, files in os.walk(top, followlinks=False):
            if files or any(os.path.islink(os.path.join(path, name)) for name in folders):  # noqa: PTH118, PTH114
                return
            found.append((path, os.lstat(path).st_mtime_ns))
    except OSError:
        return
    yield from sorted(found)
