"""Counts failed tries at each door, so that guessing is slow; a door's count never touches the other door."""

from __future__ import annotations

import threading
from collections import deque
from datetime import datetime, timedelta
from typing import Final

from api.ports import Listener
from pipelines.model.identity import Clock

_WINDOW: Final = timedelta(minutes=1)


class Tries:
    """At most ``limit`` failures a minute at one door; safe to share between threads."""

    def __init__(self, clock: Clock, limit: int) -> None:
        self._clock = clock
        self._limit = limit
        self._failed: dict[Listener, deque[datetime]] = {door: deque(maxlen=limit) for door in Listener}
        self._lock = threading.Lock()

    def spent(self, door: Listener) -> bool:
        """Whether this door had all its failures of the last minute."""
        with self._lock:
            failed = self._failed[door]
            return len(failed) == self._limit and self._clock() - failed[0] < _WINDOW

    def failed(self, door: Listener) -> None:
        """Notes one more."""
        with self._lock:
            self._failed[door].append(self._clock())
