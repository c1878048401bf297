"""The watched folder: events hint, the listing decides, a settled file is taken in once and moved away.

One thread owns the tables and the status file; a few others copy. Never reads a file and never decides what it becomes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from watchdog.observers import Observer

from api.ports import Check
from daemon.drop.copiers import Copiers
from daemon.drop.filing import FilingCabinet
from daemon.drop.habits import DropMode, Habits
from daemon.drop.intake import CaptureFile, Fate, Intake
from daemon.drop.kept import KeptFiles
from daemon.drop.local_queue import CaptureQueued, LocalQueue
from daemon.drop.names import OUR_FOLDERS, QUEUE, IgnoreList, shown
from daemon.drop.probe import PASSING, look
from daemon.drop.reconcile import Reconciler
from daemon.drop.rescan import EmptiedFolders, RootWatch, list_drop
from daemon.drop.settle import Candidate, SettlingTable, Verdict
from daemon.drop.standing import Standing
from daemon.drop.status import KEEPS, MOVES, StatusFile
from daemon.watching import MakeObserver, Watch
from pipelines.durable import make_folders
from pipelines.model.errors import Invalid, Transient
from pipelines.model.identity import Clock
from pipelines.model.policy import Policy
from pipelines.model.records import Item
from pipelines.store import items
from pipelines.store.database import Database

_DEAF_RESCAN: Final = 10.0  # seconds between listings where events do not tell everything
_PAUSED_LOOK: Final = 1.0
_RELIST: Final = 0.5  # seconds between listings that events ask for
_RECONCILE: Final = 0.5  # seconds between comparisons with the database, which every decision asks for
_PROGRESS: Final = 1.0
_FOREVER: Final = 3600.0


@dataclass(slots=True)
class _Wanted:
    """What the next round has to do; times are of the monotonic clock."""

    relist: bool = True
    relist_at: float = 0.0
    queue: bool = True
    reconcile: bool = True
    reconcile_at: float = 0.0


class DropFolder:
    """``start`` it once, ``stop`` it once. ``rescan`` and ``reconcile_soon`` may be called from any thread."""

    def __init__(
        self,
        root: Path,
        database: Database,
        policy: Policy,
        clock: Clock,
        *,
        capture_file: CaptureFile,
        capture_queued: CaptureQueued,
        note_filed: Callable[[str, str], None],
        captured: Callable[[], None],
        habits: Habits,
        make_observer: MakeObserver = Observer,
    ) -> None:
        self._root = root
        self._database = database
        self._captured = captured
        self._habits = habits
        self._ignore = IgnoreList(habits.ignore)
        self._kept = KeptFiles(habits.kept_at)
        cabinet = FilingCabinet(root)
        self._intake = Intake(
            root, cabinet, self._kept, policy, clock,
            capture_file=capture_file, note_filed=note_filed, known=self._known,
        )  # fmt: skip
        self._queue = LocalQueue(root, cabinet, capture_queued, policy)
        self._reconciler = Reconciler(root, database, cabinet, note_filed, clock)
        self._root_watch = RootWatch(root)
        self._table = SettlingTable(habits.settle_seconds)
        self._emptied = EmptiedFolders(root, policy.scopes, habits.settle_seconds * 5)
        self._status = StatusFile(root, clock)
        self._bell = threading.Event()
        self._watch = Watch(root, self._bell, make_observer)
        self._copiers = Copiers(self._intake.take, self._bell)
        self._thread = threading.Thread(target=self._run, name="drop-folder", daemon=True)
        self._stopping = False
        self._wanted = _Wanted()
        self._standing = Standing()

    def start(self) -> None:
        """Lists the folder, then watches it. Returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Takes no more files; returns when those that are being taken in are filed."""
        self._stopping = True
        self._bell.set()
        if self._thread.is_alive():
            self._thread.join()

    def rescan(self) -> None:
        """Lists the folder soon."""
        self._wanted.relist = True
        self._bell.set()

    def reconcile_soon(self) -> None:
        """An item was quarantined or released: its file may lie in the wrong folder."""
        self._wanted.reconcile = True
        self._bell.set()

    def check(self) -> Check:
        """The readiness check: paused, without events, or watching; what waits and how long; no names of files."""
        return self._standing.check(self._watch.problem)

    def _run(self) -> None:
        while not self._stopping:
            self._bell.clear()
            timeout = self._round(time.monotonic())
            self._bell.wait(timeout)
        self._copiers.close()
        self._watch.stop()
        self._file_outcomes(time.monotonic())
        self._kept.save()
        if not self._standing.paused and not self._standing.read_only:
            self._status.write(self._table.waiting(), self._standing.troubles, _FOREVER + time.monotonic())

    def _round(self, now: float) -> float:
        """One look at everything that wants one; answers the seconds until the next."""
        problem = self._root_watch.problem()
        if problem:
            self._standing.paused = problem
            self._wanted.relist = True
            return _PAUSED_LOOK
        try:
            pause = self._look_at_everything(now)
            self._standing.paused = ""
            return pause
        except (Transient, Invalid) as error:  # Invalid: something that is no folder has the name of one of ours
            self._standing.paused = error.message
        except OSError as error:
            if error.errno not in PASSING and self._root_watch.problem() == "":
                raise
            self._standing.paused = f"the drop folder cannot be used now: {error.strerror}"
        return _PAUSED_LOOK

    def _look_at_everything(self, now: float) -> float:
        if self._root_watch.is_new() or self._watch.gone:
            self._move_in()
        self._file_outcomes(now)
        self._hear(now)
        if self._wanted.relist or now >= self._wanted.relist_at:
            self._list(now)
        if self._wanted.queue and not self._standing.read_only:
            self._drain_queue()
        for candidate in self._table.due(now):
            self._judge(candidate, now)
        times = [
            self._wanted.relist_at,
            self._table.next_look() or _FOREVER + now,
            self._reconcile(now),
            self._tell(now),
        ]
        return max(0.0, min(times) - time.monotonic())

    def _move_in(self) -> None:
        """The folder is new to us: our folders, a watch on this very folder, and a listing."""
        self._choose_mode()
        self._watch.start()
        self._status.read_back()
        self._wanted.relist = True
        self._root_watch.adopt()

    def _choose_mode(self) -> None:
        """Files can only be moved out of a folder that may be written: else they stay, whatever the settings say."""
        self._standing.read_only = not os.access(self._root, os.W_OK, effective_ids=True)
        self._intake.keeping = self._standing.read_only or self._habits.mode is DropMode.KEEP
        self._standing.keeping = self._intake.keeping
        self._status.promise = KEEPS if self._intake.keeping else MOVES
        if not self._intake.keeping:
            for folder in OUR_FOLDERS:
                make_folders(self._root / folder, self._root)

    def _hear(self, now: float) -> None:
        """What the events said. A new folder may hold what was written before its watch: only a listing tells."""
        heard = self._watch.heard
        while heard:
            parts = heard.popleft()
            if parts[0] == QUEUE:
                self._wanted.queue = self._wanted.queue or parts[-1].endswith(".json")
            elif not self._ignore.hides(parts):
                self._table.hint(parts, now)
        if self._watch.relist:
            self._watch.relist = False
            self._wanted.relist_at = min(self._wanted.relist_at, now + _RELIST)

    def _list(self, now: float) -> None:
        self._choose_mode()
        listing = list_drop(self._root, self._ignore)
        self._watch.listed(now, listing.folders)
        pause = min(self._habits.rescan_seconds, _DEAF_RESCAN) if self._watch.problem else self._habits.rescan_seconds
        self._wanted.relist_at, self._wanted.relist = now + pause, False
        for parts in listing.files:
            self._table.listed(parts, now)
        unreadable = ("/".join(map(shown, parts)) or "the drop folder" for parts in listing.unreadable)
        self._standing.troubles = [
            f"the folder {name} cannot be listed: its permissions forbid it" for name in unreadable
        ]
        self._wanted.queue = self._wanted.queue or listing.queued
        self._wanted.reconcile = True
        self._emptied.sweep(now)
        if not listing.unreadable:
            self._kept.retain(set(listing.files))
        self._kept.unstick(lambda parts: os.access(self._root.joinpath(*parts[:-1]), os.W_OK, effective_ids=True))
        self._kept.save()

    def _drain_queue(self) -> None:
        self._wanted.queue = False
        drained = self._queue.drain()
        if drained.taken:
            self._captured()
        if drained.bad:
            self._standing.troubles.append(
                f"{drained.bad} queued captures were set aside in {QUEUE}/bad, each with a reason"
            )
        self._standing.troubles += [
            f"queued capture {shown(name)} waits: {why}" for name, why in drained.waiting.items()
        ]

    def _judge(self, candidate: Candidate, now: float) -> None:
        try:
            seen = look(self._root.joinpath(*candidate.parts))
        except OSError as error:
            self._table.try_later(candidate, f"it cannot be looked at: {error.strerror}", now)
            return
        kept = None if seen is None else self._kept.find(candidate.parts, seen)
        if kept is not None and (kept.stuck or self._intake.keeping):
            self._table.forget(candidate, now)
        elif self._table.judge(candidate, seen, now) is Verdict.READY and seen is not None:
            self._copiers.submit(candidate, seen)

    def _file_outcomes(self, now: float) -> None:
        """What the copiers did."""
        filed = False
        for candidate, outcome in self._copiers.finished():
            if outcome.fate is Fate.STILL_WRITTEN:
                self._table.still_written(candidate, now)
            elif outcome.fate is Fate.LATER:
                self._table.try_later(candidate, outcome.why, now)
            else:
                self._table.forget(candidate, now)
                self._emptied.emptied(candidate.parts, now)
            if outcome.line is not None:
                self._status.add(outcome.line)
                filed = True
        if filed:
            self._captured()

    def _known(self, source_key: str) -> Item | None:
        with self._database.read() as session:
            return items.item_by_source(session, source_key)

    def _reconcile(self, now: float) -> float:
        """Compares with the database if somebody asked for it; answers when to look again."""
        if not self._wanted.reconcile:
            return _FOREVER + now
        if now >= self._wanted.reconcile_at:
            self._wanted.reconcile, self._wanted.reconcile_at = False, now + _RECONCILE
            for line in self._reconciler.reconcile():
                self._status.add(line)
            return _FOREVER + now
        return self._wanted.reconcile_at

    def _tell(self, now: float) -> float:
        """Writes down what waits and what is at work; answers when to do so again."""
        large = self._copiers.large()
        self._standing.sum_up(self._table, self._kept, list(large.values()))
        again = _PROGRESS + now if large else _FOREVER + now
        if self._standing.read_only:
            return again
        copying = [f"`{shown('/'.join(parts))}` is being copied: {share}" for parts, share in large.items()]
        return min(again, self._status.write(self._table.waiting(), [*self._standing.troubles, *copying], now) or again)
