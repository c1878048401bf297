"""The watched folder: events hint, the listing decides, a settled file is taken in once and moved away.

One thread owns the tables and the status file; a few others copy. Never reads a file and never decides what it becomes.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

from watchdog.observers import Observer

from api.ports import Check
from daemon.drop.filing import FilingCabinet
from daemon.drop.intake import CaptureFile, Fate, Intake, Outcome
from daemon.drop.local_queue import CaptureQueued, LocalQueue
from daemon.drop.names import OUR_FOLDERS, QUEUE, ignored, shown
from daemon.drop.probe import PASSING, look
from daemon.drop.reconcile import Reconciler
from daemon.drop.rescan import EmptiedFolders, RootWatch, list_drop
from daemon.drop.settle import Candidate, SettlingTable, Verdict
from daemon.drop.status import StatusFile
from daemon.watching import MakeObserver, Watch
from pipelines.durable import make_folders
from pipelines.model.errors import Invalid, Transient
from pipelines.model.identity import Clock
from pipelines.model.policy import Policy
from pipelines.store.database import Database

_COPIERS: Final = 4  # captures that wait for one commit together
_DEAF_RESCAN: Final = 10.0  # seconds between listings where there are no events
_PAUSED_LOOK: Final = 1.0
_RELIST: Final = 0.5  # seconds between listings that events ask for
_FOREVER: Final = 3600.0


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
        settle_seconds: float = 2.0,
        rescan_seconds: float = 60.0,
        make_observer: MakeObserver = Observer,
    ) -> None:
        self._root = root
        self._captured = captured
        self._settle_seconds = settle_seconds
        self._rescan_seconds = rescan_seconds
        cabinet = FilingCabinet(root)
        self._intake = Intake(root, cabinet, capture_file, note_filed, policy.scopes, clock)
        self._queue = LocalQueue(root, cabinet, capture_queued, policy)
        self._reconciler = Reconciler(root, database, cabinet, note_filed, clock)
        self._root_watch = RootWatch(root)
        self._table = SettlingTable(settle_seconds)
        self._emptied = EmptiedFolders(root, policy.scopes, settle_seconds * 5)
        self._status: StatusFile | None = None
        self._bell = threading.Event()
        self._watch = Watch(root, self._bell, make_observer)
        self._outcomes: queue.SimpleQueue[tuple[Candidate, Future[Outcome]]] = queue.SimpleQueue()
        self._copiers = ThreadPoolExecutor(_COPIERS, thread_name_prefix="drop-copier")
        self._thread = threading.Thread(target=self._run, name="drop-folder", daemon=True)
        self._stopping = False
        self._reconcile_wanted = True
        self._relist_wanted = True
        self._queue_wanted = True
        self._next_rescan = 0.0
        self._paused = "not started"
        self._troubles: list[str] = []

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
        self._relist_wanted = True
        self._bell.set()

    def reconcile_soon(self) -> None:
        """An item was quarantined or released: its file may lie in the wrong folder."""
        self._reconcile_wanted = True
        self._bell.set()

    def check(self) -> Check:
        """The readiness check: paused, without events, or watching."""
        if self._paused:
            return Check(False, self._paused)
        if self._watch.problem:
            return Check(True, f"degraded: {self._watch.problem}")
        return Check(True, f"watching; {len(self._table)} files are settling or waiting")

    def _run(self) -> None:
        with self._copiers:
            while not self._stopping:
                self._bell.clear()
                timeout = self._round(time.monotonic())
                self._bell.wait(timeout)
        self._watch.stop()
        self._file_outcomes(time.monotonic())
        if self._status is not None and not self._paused:
            self._status.write(self._table.waiting(), self._troubles, _FOREVER + time.monotonic())

    def _round(self, now: float) -> float:
        """One look at everything that wants one; answers the seconds until the next."""
        problem = self._root_watch.problem()
        if problem:
            self._paused = problem
            self._relist_wanted = True
            return _PAUSED_LOOK
        try:
            pause = self._look_at_everything(now)
            self._paused = ""
            return pause
        except (Transient, Invalid) as error:  # Invalid: something that is no folder has the name of one of ours
            self._paused = error.message
        except OSError as error:
            if error.errno not in PASSING and self._root_watch.problem() == "":
                raise
            self._paused = f"the drop folder cannot be used now: {error.strerror}"
        return _PAUSED_LOOK

    def _look_at_everything(self, now: float) -> float:
        if self._root_watch.is_new():
            self._move_in()
        self._file_outcomes(now)
        self._hear(now)
        if self._relist_wanted or now >= self._next_rescan:
            self._list(now)
        if self._queue_wanted:
            self._drain_queue()
        for candidate in self._table.due(now):
            self._judge(candidate, now)
        if self._reconcile_wanted:
            self._reconcile_wanted = False
            for line in self._reconciler.reconcile():
                self._status_file().add(line)
        write_at = self._status_file().write(self._table.waiting(), self._troubles, now)
        times = [self._next_rescan, self._table.next_look() or _FOREVER + now, write_at or _FOREVER + now]
        return max(0.0, min(times) - time.monotonic())

    def _move_in(self) -> None:
        """The folder is new to us: our folders, a watch on this very folder, and a listing."""
        for folder in OUR_FOLDERS:
            make_folders(self._root / folder, self._root)
        self._watch.start()
        self._status = StatusFile(self._root)
        self._relist_wanted = True
        self._root_watch.adopt()

    def _status_file(self) -> StatusFile:
        if self._status is None:
            self._status = StatusFile(self._root)
        return self._status

    def _hear(self, now: float) -> None:
        """What the events said. A new folder may hold what was written before its watch: only a listing tells."""
        heard = self._watch.heard
        while heard:
            parts = heard.popleft()
            if parts[0] == QUEUE:
                self._queue_wanted = self._queue_wanted or parts[-1].endswith(".json")
            elif not ignored(parts):
                self._table.hint(parts, now)
        if self._watch.relist:
            self._watch.relist = False
            self._next_rescan = min(self._next_rescan, now + _RELIST)

    def _list(self, now: float) -> None:
        pause = min(self._rescan_seconds, _DEAF_RESCAN) if self._watch.problem else self._rescan_seconds
        self._next_rescan, self._relist_wanted = now + pause, False
        listing = list_drop(self._root)
        for parts in listing.files:
            self._table.listed(parts, now)
        unreadable = ("/".join(map(shown, parts)) or "the drop folder" for parts in listing.unreadable)
        self._troubles = [f"the folder {name} cannot be listed: its permissions forbid it" for name in unreadable]
        self._queue_wanted = self._queue_wanted or listing.queued
        self._reconcile_wanted = True
        self._emptied.sweep(now)

    def _drain_queue(self) -> None:
        self._queue_wanted = False
        drained = self._queue.drain()
        if drained.taken:
            self._captured()
        if drained.bad:
            self._troubles.append(f"{drained.bad} queued captures were set aside in {QUEUE}/bad, each with a reason")
        self._troubles += [f"queued capture {shown(name)} waits: {why}" for name, why in drained.waiting.items()]

    def _judge(self, candidate: Candidate, now: float) -> None:
        try:
            seen = look(self._root.joinpath(*candidate.parts))
        except OSError as error:
            self._table.try_later(candidate, f"it cannot be looked at: {error.strerror}", now)
            return
        if self._table.judge(candidate, seen, now) is Verdict.READY and seen is not None:
            future = self._copiers.submit(self._intake.take, candidate.parts, seen)
            future.add_done_callback(lambda done: self._finished(candidate, done))

    def _finished(self, candidate: Candidate, done: Future[Outcome]) -> None:
        self._outcomes.put((candidate, done))
        self._bell.set()

    def _file_outcomes(self, now: float) -> None:
        """What the copiers did. Raises what no outcome stands for, such as ``Broken``: the process then ends."""
        filed = False
        while not self._outcomes.empty():
            candidate, done = self._outcomes.get()
            outcome = done.result()
            if outcome.fate is Fate.STILL_WRITTEN:
                self._table.still_written(candidate, now)
            elif outcome.fate is Fate.LATER:
                self._table.try_later(candidate, outcome.why, now)
            else:
                self._table.forget(candidate, now)
                self._emptied.emptied(candidate.parts, now)
            if outcome.line is not None:
                self._status_file().add(outcome.line)
                filed = True
        if filed:
            self._captured()
