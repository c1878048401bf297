"""Has changes of the vault compared once they are at rest; events are hints, a whole look now and then is the truth.

Never reads or writes a note: what a change means is ``pipelines.vault_edits``' business.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from watchdog.observers import Observer

from api.ports import Check
from daemon.watching import MakeObserver, Watch
from pipelines.model.errors import Conflict, Transient
from pipelines.vault.layout import is_note

_DEAF_RESCAN: Final = 60.0  # seconds between whole looks where there are no events
_PAUSED_LOOK: Final = 5.0
_PATIENCE: Final = 15  # rest times after which a note that never rests is looked at all the same


class VaultWatcher:
    """One thread. ``start`` and ``stop`` once each; ``rescan`` from any thread.

    ``reconcile`` answers what a person should know about the vault, or an empty text.
    """

    def __init__(
        self,
        vault: Path,
        reconcile: Callable[[], str],
        *,
        rest_seconds: float = 2.0,
        rescan_seconds: float = 600.0,
        make_observer: MakeObserver = Observer,
    ) -> None:
        self._vault = vault
        self._reconcile = reconcile
        self._rest_seconds = rest_seconds
        self._rescan_seconds = rescan_seconds
        self._bell = threading.Event()
        self._watch = Watch(vault, self._bell, make_observer)
        self._thread = threading.Thread(target=self._run, name="vault-watcher", daemon=True)
        self._stopping = False
        self._problem = "not started"
        self._note = ""
        self._identity: tuple[int, int] | None = None
        self._look_at = 0.0
        self._first_hint: float | None = None

    def start(self) -> None:
        """Looks at the whole vault, then watches it. Returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Returns when a look that is under way has ended."""
        self._stopping = True
        self._bell.set()
        if self._thread.is_alive():
            self._thread.join()

    def rescan(self) -> None:
        """Looks at the whole vault soon."""
        self._look_at = 0.0
        self._bell.set()

    def check(self) -> Check:
        """The readiness check: paused, without events, or watching."""
        if self._problem:
            return Check(False, self._problem)
        state = f"degraded: {self._watch.problem}" if self._watch.problem else "watching"
        return Check(True, f"{state}; {self._note}" if self._note else state)

    def _run(self) -> None:
        while not self._stopping:
            self._bell.clear()
            self._bell.wait(self._round(time.monotonic()))
        self._watch.stop()

    def _round(self, now: float) -> float:
        """Answers the seconds until there is something to do again."""
        if self._hear():
            self._put_off(now)
        if now < self._look_at:
            return self._look_at - now
        try:
            self._arm()
            self._note = self._reconcile()
            self._problem = ""
        except (Transient, Conflict) as error:  # not there, or changing: nothing is recorded about it meanwhile
            self._problem = f"paused: {error.message}"
            self._look_at = now + _PAUSED_LOOK
            return _PAUSED_LOOK
        pause = min(self._rescan_seconds, _DEAF_RESCAN) if self._watch.problem else self._rescan_seconds
        self._look_at, self._first_hint = time.monotonic() + pause, None
        return pause

    def _hear(self) -> bool:
        """Whether a note, or the shape of the tree, changed."""
        heard = self._watch.relist
        self._watch.relist = False
        while self._watch.heard:
            heard = is_note("/".join(self._watch.heard.popleft())) or heard
        return heard

    def _put_off(self, now: float) -> None:
        """Editors write a file several times: the look waits until it is at rest, but not for ever."""
        if self._first_hint is None:
            self._first_hint = now
        limit = self._first_hint + self._rest_seconds * _PATIENCE
        self._look_at = min(now + self._rest_seconds, limit)

    def _arm(self) -> None:
        """Watches the folder that is there now, if it is another than before. Raises ``Transient`` if there is none."""
        try:
            status = self._vault.stat()
        except OSError as error:
            raise Transient(f"the vault cannot be opened: {error.strerror}") from error
        if self._identity != (status.st_dev, status.st_ino) or self._watch.gone:
            self._watch.start()
            self._identity = (status.st_dev, status.st_ino)
        else:
            self._watch.listed(time.monotonic())  # a watch that could not be had may be had by now
