"""Waiting for a condition, the only way a test of narthex waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


def until(condition: Callable[[], Answer], seconds: float = 20.0) -> Answer:
    """The first truthy answer of ``condition``; fails with its last answer after ``seconds``."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not true after {seconds} s; last answer: {answer!r}")
        time.sleep(0.02)
