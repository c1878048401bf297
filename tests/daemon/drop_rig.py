"""A drop folder at work on a real home and database, with short times; what a test wants to know about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from watchdog.observers import Observer

from daemon.drop.habits import DropMode, Habits
from daemon.drop.intake import CaptureFile
from daemon.drop_folder import DropFolder
from daemon.watching import MakeObserver
from daemon.wiring import capture_queued
from pipelines import capture
from pipelines.model.lifecycle import ItemState
from pipelines.model.records import Item
from pipelines.premises import Premises
from pipelines.store import items
from tests.waiting import until

SETTLE: Final = 0.1


def deaf() -> Observer:  # type: ignore[valid-type]
    """What the kernel says when its watches are used up."""
    raise OSError(28, "no space left on device")


class DropRig:
    """One narthex whose drop folder can be started and stopped again and again."""

    def __init__(self, premises: Premises) -> None:
        self.premises = premises
        self.root = premises.home.drop
        self.kept_at = premises.home.state / "cache" / "drop-kept.json"
        self.captured = 0

    def folder(
        self,
        *,
        capture_file: CaptureFile | None = None,
        make_observer: MakeObserver = Observer,
        rescan_seconds: float = 0.5,
        settle_seconds: float = SETTLE,
        mode: DropMode = DropMode.MOVE,
        ignore: tuple[str, ...] = (),
    ) -> DropFolder:
        """Not yet started."""
        return DropFolder(
            self.root,
            self.premises.database,
            self.premises.policy,
            self.premises.clock,
            capture_file=capture_file or partial(capture.capture_file, self.premises),
            capture_queued=partial(capture_queued, self.premises),
            note_filed=partial(capture.note_filed, self.premises),
            captured=self._count,
            habits=Habits(settle_seconds, rescan_seconds, mode, ignore, self.kept_at),
            make_observer=make_observer,
        )

    @contextmanager
    def running(
        self,
        *,
        capture_file: CaptureFile | None = None,
        make_observer: MakeObserver = Observer,
        rescan_seconds: float = 0.5,
        settle_seconds: float = SETTLE,
        mode: DropMode = DropMode.MOVE,
        ignore: tuple[str, ...] = (),
    ) -> Iterator[DropFolder]:
        """Started, and stopped at the end."""
        folder = self.folder(
            capture_file=capture_file,
            make_observer=make_observer,
            rescan_seconds=rescan_seconds,
            settle_seconds=settle_seconds,
            mode=mode,
            ignore=ignore,
        )
        folder.start()
        try:
            until(lambda: folder.check().detail != "not started")
            yield folder
        finally:
            folder.stop()

    def _count(self) -> None:
        self.captured += 1

    def items(self) -> list[Item]:
        """All items, oldest first."""
        found: list[Item] = []
        cursor: str | None = None
        with self.premises.database.read() as session:
            while True:
                page = items.list_items(session, state=None, limit=200, cursor=cursor)
                found += page.rows
                cursor = page.next_cursor
                if cursor is None:
                    return found[::-1]

    def item(self, name: str) -> Item | None:
        """The item that a person would call so; None while there is none."""
        return next((item for item in self.items() if item.name == name), None)

    def filed(self, name: str) -> Item | None:
        """The item of that name once its file lies where the item says."""
        item = self.item(name)
        if item is None or item.filed_as is None or not (self.root / item.filed_as).exists():
            return None
        return item

    def arrived(self, name: str) -> Item:
        """Waits for ``filed``."""
        item = until(lambda: self.filed(name))
        assert item is not None
        return item

    def original(self, item: Item) -> bytes:
        """The bytes that were kept."""
        from pipelines import originals

        return originals.path_of(self.premises.home.originals, item.original_digest).read_bytes()

    def status(self) -> str:
        """STATUS.md as it is now."""
        path = self.root / "STATUS.md"
        return path.read_text("utf-8") if path.exists() else ""

    def in_folder(self, folder: str) -> list[str]:
        """Names of all files below one of our folders, ``_done`` with its days left out."""
        return sorted(path.name for path in (self.root / folder).rglob("*") if path.is_symlink() or not path.is_dir())

    def left_in_root(self) -> list[str]:
        """What still lies in the drop folder besides ours."""
        ours = {"_done", "_duplicates", "_failed", "_needs-help", "STATUS.md", ".queue"}
        return sorted(path.name for path in self.root.iterdir() if path.name not in ours)

    def queue(self, key: str, **fields: object) -> Path:
        """Leaves an entry as the command line does while no daemon runs."""
        folder = self.root / ".queue"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"{key}.json"
        temporary = folder / f".{key}.tmp"
        temporary.write_text(json.dumps({"key": key, "queued_at": "2026-03-02T11:00:00+00:00", **fields}), "utf-8")
        temporary.rename(path)
        return path

    def quarantine(self, item_id: str, problem: str = "the PDF is locked", reason: str = "needs_password") -> None:
        """As the worker does when a step finds that the content cannot be read."""
        from pipelines import process
        from pipelines.model.errors import Unreadable

        leases = process.lease_due(self.premises, 100)
        for lease in leases:
            if lease.item_id == item_id:
                process.give_back(self.premises, lease, Unreadable(problem, reason=reason))

    def state(self, item_id: str) -> ItemState:
        """Of one item, now."""
        with self.premises.database.read() as session:
            return items.item(session, item_id).state
