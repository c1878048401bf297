"""The watched folder: events hint, the listing decides, a settled file is taken in once and moved away.

One thread owns the tables and the status file; a few others copy. Never reads a file and never decides what it becomes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from watchdog.observers import Observer

from api.ports import Check
from daemon.drop.copiers import Copiers
from daemon.drop.filing import FilingCabinet
from daemon.drop.intake import CaptureFile, DropMode, Fate, Intake
from daemon.drop.kept import KeptFiles
from daemon.drop.local_queue import CaptureQueued, LocalQueue
from daemon.drop.names import OUR_FOLDERS, QUEUE, IgnoreList, shown
from daemon.drop.probe import PASSING, look
from daemon.drop.reconcile import Reconciler
from daemon.drop.rescan import EmptiedFolders, RootWatch, list_drop
from daemon.drop.settle import Candidate, SettlingTable, Verdict
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
        mode: DropMode = DropMode.MOVE,
        ignore: Sequence[str] = (),
        kept_at: Path | None = None,
        make_observer: MakeObserver = Observer,
    ) -> None:
        self._root = root
        self._database = database
        self._captured = captured
        self._rescan_seconds = rescan_seconds
        self._mode = mode
        self._ignore = IgnoreList(ignore)
        self._kept = KeptFiles(kept_at)
        cabinet = FilingCabinet(root)
        self._intake = Intake(
            root, cabinet, self._kept, policy, clock,
            capture_file=capture_file, note_filed=note_filed, known=self._known,
        )  # fmt: skip
        self._queue = LocalQueue(root, cabinet, capture_queued, policy)
        self._reconciler = Reconciler(root, database, cabinet, note_filed, clock)
        self._root_watch = RootWatch(root)
        self._table = SettlingTable(settle_seconds)
        self._emptied = EmptiedFolders(root, policy.scopes, settle_seconds * 5)
        self._status = StatusFile(root, clock)
        self._bell = threading.Event()
        self._watch = Watch(root, self._bell, make_observer)
        self._copiers = Copiers(self._intake.take, self._bell)
        self._thread = threading.Thread(target=self._run, name="drop-folder", daemon=True)
        self._stopping = False
        self._reconcile_wanted = True
        self._reconcile_at = 0.0
        self._relist_wanted = True
        self._queue_wanted = True
        self._next_rescan = 0.0
        self._paused = "not started"
        self._read_only = False
        self._said = ""
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
        """The readiness check: paused, without events, or watching; what waits and how long; no names of files."""
        if self._paused:
            return Check(False, self._paused)
        watching = f"degraded: {self._watch.problem}" if self._watch.problem else "watching"
        return Check(True, watching + self._said)

    def _run(self) -> None:
        while not self._stopping:
            self._bell.clear()
            timeout = self._round(time.monotonic())
            self._bell.wait(timeout)
        self._copiers.close()
        self._watch.stop()
        self._file_outcomes(time.monotonic())
        self._kept.save()
        if not self._paused and not self._read_only:
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
        if self._queue_wanted and not self._read_only:
            self._drain_queue()
        for candidate in self._table.due(now):
            self._judge(candidate, now)
        times = [self._next_rescan, self._table.next_look() or _FOREVER + now, self._reconcile(now), self._tell(now)]
        return max(0.0, min(times) - time.monotonic())

    def _move_in(self) -> None:
        """The folder is new to us: our folders, a watch on this very folder, and a listing."""
        self._choose_mode()
        self._watch.start()
        self._status.read_back()
        self._relist_wanted = True
        self._root_watch.adopt()

    def _choose_mode(self) -> None:
        """Files can only be moved out of a folder that may be written: else they stay, whatever the settings say."""
        self._read_only = not os.access(self._root, os.W_OK, effective_ids=True)
        self._intake.keeping = self._read_only or self._mode is DropMode.KEEP
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
                self._queue_wanted = self._queue_wanted or parts[-1].endswith(".json")
            elif not self._ignore.hides(parts):
                self._table.hint(parts, now)
        if self._watch.relist:
            self._watch.relist = False
            self._next_rescan = min(self._next_rescan, now + _RELIST)

    def _list(self, now: float) -> None:
        self._choose_mode()
        listing = list_drop(self._root, self._ignore)
        self._watch.listed(now, listing.folders)
        pause = min(self._rescan_seconds, _DEAF_RESCAN) if self._watch.problem else self._rescan_seconds
        self._next_rescan, self._relist_wanted = now + pause, False
        for parts in listing.files:
            self._table.listed(parts, now)
        unreadable = ("/".join(map(shown, parts)) or "the drop folder" for parts in listing.unreadable)
        self._troubles = [f"the folder {name} cannot be listed: its permissions forbid it" for name in unreadable]
        self._queue_wanted = self._queue_wanted or listing.queued
        self._reconcile_wanted = True
        self._emptied.sweep(now)
        if not listing.unreadable:
            self._kept.retain(set(listing.files))
        self._kept.unstick(lambda parts: os.access(self._root.joinpath(*parts[:-1]), os.W_OK, effective_ids=True))
        self._kept.save()

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
        if not self._reconcile_wanted:
            return _FOREVER + now
        if now >= self._reconcile_at:
            self._reconcile_wanted, self._reconcile_at = False, now + _RECONCILE
            for line in self._reconciler.reconcile():
                self._status.add(line)
            return _FOREVER + now
        return self._reconcile_at

    def _tell(self, now: float) -> float:
        """Writes down what waits and what is at work; answers when to do so again."""
        large = self._copiers.large()
        self._said = self._sentences(list(large.values()), now)
        again = _PROGRESS + now if large else _FOREVER + now
        if self._read_only:
            return again
        copying = [f"`{shown('/'.join(parts))}` is being copied: {share}" for parts, share in large.items()]
        return min(again, self._status.write(self._table.waiting(), [*self._troubles, *copying], now) or again)

    def _sentences(self, copying: list[str], now: float) -> str:
        """What the readiness check adds."""
        kept, stuck = self._kept.count(), self._kept.count(stuck=True)
        said = [f"settling or waiting: {len(self._table)}"]
        said += ["the folder is read-only"] if self._read_only else []
        said += [f"looked at and staying: {kept}"] if self._intake.keeping else []
        said += [f"not to be moved away: {stuck}"] if stuck and not self._intake.keeping else []
        later = [one.look_at - now for one in self._table.waiting() if one.tries and not one.claimed]
        if later:
            said.append(f"to be tried again: {len(later)}, the next in {max(0.0, min(later)):.0f} s")
        said += [f"copying a file: {share}" for share in copying]
        return "".join(f"; {one}" for one in said)
