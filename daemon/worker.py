"""Leases what is due and takes it one step further, again and again. Decides what an error means for an item.

One of the three places where errors get their reaction: conflicts are left to whoever moved first, unreadable content
and passing faults are given back to the item, and everything else is ``Broken``: the process ends with exit status 70.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from api.ports import Check
from pipelines import process
from pipelines.model.errors import Broken, Conflict, NarthexError, StorageFull, Transient
from pipelines.premises import Premises
from pipelines.store import items
from pipelines.store.items import Lease

_LONGEST_NAP: Final = 30.0  # seconds; a wake-up call that got lost costs at most this
_PAUSE: Final = 2.0  # seconds, doubled up to the longest nap while the database itself has a passing fault
_HANGS: Final = 900.0  # seconds without a step or a look at the inbox: longer than the limits of a child allow
_STILL_WORKING: Final = 180.0  # seconds that one step may take before the health check mentions it


class Worker:
    """One thread. ``start`` and ``stop`` once each; ``wake`` from any thread."""

    def __init__(
        self,
        premises: Premises,
        on_broken: Callable[[Exception], None],
        changed: Callable[[], None],
        name: str = "worker",
    ) -> None:
        self._premises = premises
        self._on_broken = on_broken
        self._changed = changed
        self.name = name
        self._bell = threading.Event()
        self._stopping = False
        self._problem = ""
        self._busy_since: float | None = None
        self._beat = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Returns at once; whatever is due is begun."""
        self._thread.start()

    def wake(self) -> None:
        """Something may be due."""
        self._bell.set()

    def stop(self, seconds: float = 60.0) -> bool:
        """Leases nothing more and waits for the item at work; whether it ended in time. If not, its lease runs out."""
        self._stopping = True
        self._bell.set()
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def check(self) -> Check:
        """The readiness check: dead, held up, or at work."""
        if not self._thread.is_alive():
            return Check(False, "the worker does not run")
        if self._problem:
            return Check(False, self._problem)
        since = self._busy_since
        if since is not None and time.monotonic() - since > _STILL_WORKING:
            return Check(True, f"one step has been running for {time.monotonic() - since:.0f} s")
        return Check(True, "idle" if since is None else "working")

    @property
    def busy(self) -> bool:
        """Whether it works on an item."""
        return self._busy_since is not None

    def hangs(self) -> bool:
        """Whether it has given no sign of life for so long that only a new process helps."""
        return self._thread.is_alive() and time.monotonic() - self._beat > _HANGS

    def _run(self) -> None:
        pause = _PAUSE
        while not self._stopping:
            self._bell.clear()
            self._beat = time.monotonic()
            try:
                nap = self._round()
                self._problem, pause = "", _PAUSE
            except Transient as error:
                self._problem = error.message
                nap, pause = pause, min(pause * 2, _LONGEST_NAP)
            except Exception as error:  # noqa: BLE001 - the reaction to everything else: stop
                self._problem = "the worker stopped at an error that should not be"
                self._on_broken(error)
                return
            self._bell.wait(nap)

    def _round(self) -> float:
        """Works on what is due; answers the seconds until the next thing is."""
        leases = process.lease_due(self._premises, 1)  # one: a lease that waits its turn here would count as a try
        for lease in leases:
            self._work(lease)
        if leases:
            return 0.0
        with self._premises.database.read() as session:
            due = items.next_due(session)
        return _seconds_until(due, self._premises.clock())

    def _work(self, lease: Lease) -> None:
        """Takes the item as far as it goes now."""
        self._busy_since = time.monotonic()
        try:
            state = process.advance(self._premises, lease)
            while state in process.STEPS and not self._gave_up(lease):
                self._beat = time.monotonic()
                state = process.advance(self._premises, lease)
        except Conflict:
            pass  # the owner or another worker moved it meanwhile: nothing is left to do for this lease
        except (Broken, StorageFull):
            raise
        except NarthexError as error:
            self._end(lease, error)
        finally:
            self._busy_since = None

    def _end(self, lease: Lease, error: NarthexError) -> None:
        """Gives the lease back: quarantined, or tried again later."""
        if self._stopping and isinstance(error, Transient):  # the extraction was closed under it
            self._gave_up(lease)
            return
        try:
            process.give_back(self._premises, lease, error)
        except Conflict:
            return
        self._changed()

    def _gave_up(self, lease: Lease) -> bool:
        """Between two steps of an item, or when its step was cut off: the process is ending, so it is due again."""
        if self._stopping:
            process.put_down(self._premises, lease)
        return self._stopping


def _seconds_until(due: datetime | None, now: datetime) -> float:
    if due is None:
        return _LONGEST_NAP
    return min(_LONGEST_NAP, max(0.0, (due - now) / timedelta(seconds=1)))
