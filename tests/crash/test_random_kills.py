"""kill -9 at random instants while eight clients capture, files are dropped and the owner approves.

A few times with every change; ``NARTHEX_TEST_KILLS=100 python -m pytest -s tests/crash/test_random_kills.py`` is the
long run, which also prints and holds the time to start.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from pipelines.model.errors import NarthexError
from tests.crash.subject import Subject

KILLS: Final = int(os.environ.get("NARTHEX_TEST_KILLS", "8"))
_LONG_RUN: Final = 50
_START_SECONDS: Final = 5.0
_CLIENTS: Final = 8


@pytest.fixture
def subject(tmp_path: Path) -> Iterator[Subject]:
    """A home of its own; nothing is left running."""
    made = Subject(tmp_path / "home", {"NARTHEX_PENDING_PER_PRODUCER": "100"})
    yield made
    made.close()


class Load:
    """Clients that go on until the daemon is gone; what is acknowledged is promised."""

    def __init__(self, subject: Subject, numbers: Iterator[int]) -> None:
        self._subject, self._numbers = subject, numbers
        acts = [self._capture] * _CLIENTS + [self._drop, self._decide]
        self._threads = [threading.Thread(target=self._go_on, args=(act,)) for act in acts]
        for thread in self._threads:
            thread.start()

    def wait(self) -> None:
        """Until every client has noticed."""
        for thread in self._threads:
            thread.join()

    def _go_on(self, act: object) -> None:
        try:
            while True:
                act()  # type: ignore[operator]
        except (NarthexError, OSError):
            return  # it is gone: an answer that did not come is no promise

    def _capture(self) -> None:
        self._subject.capture(next(self._numbers))

    def _drop(self) -> None:
        self._subject.drop(next(self._numbers))
        self._subject.as_owner.call("GET", "/v1/status")

    def _decide(self) -> None:
        for row in self._subject.pending()[:3]:
            self._subject.approve(row)


def test_nothing_acknowledged_is_lost_by_kills_at_random(subject: Subject) -> None:  # P2, P3, S-063
    chance, numbers, starts = random.Random(63), itertools.count(1), []
    for _ in range(KILLS):
        begun = time.monotonic()
        subject.unarmed()
        starts.append(time.monotonic() - begun)
        _ = subject.as_owner  # signs in, once
        load = Load(subject, numbers)
        threading.Event().wait(chance.uniform(0.05, 1.2))  # the instant of the kill is the subject here
        subject.kill()
        load.wait()
    made = subject.promised
    told = f"{KILLS} kills: {len(made.captures)} captures, {len(made.dropped)} drops, {len(made.approvals)} approvals"
    sys.stdout.write(f"{told} acknowledged; slowest start {max(starts):.2f} s\n")
    assert subject.broken_promises(seconds=60 + 0.2 * len(made.captures)) == []
    if KILLS >= _LONG_RUN:
        assert max(starts) < _START_SECONDS
