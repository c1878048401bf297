"""Runs ``narthexd`` with an end built in: ``python -m tests.crash.under_test [--kill-at POINT] [--bug NAME] -- …``.

What follows ``--`` goes to ``narthexd``. A bug is a mistake that the rig must catch; the product has no such switch.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable

from sqlmodel import Session

import daemon.main
from pipelines import durable
from pipelines.model import failpoint
from pipelines.store import events
from pipelines.store.database import Database

BETWEEN = "bug.between_row_and_event"


def kill_at(point: str, nth: int) -> None:
    """The process is killed when it reaches ``point`` for the ``nth`` time."""
    seen = 0

    def hook(name: str) -> None:
        nonlocal seen
        seen += name == point
        if seen == nth and name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    failpoint.install(hook)


def no_fsync() -> None:
    """Bug: nothing of ours waits for the disk (the database still does)."""
    durable.os.fsync = lambda fd: None  # type: ignore[attr-defined]


def event_outside() -> None:
    """Bug: the event is written in a transaction of its own, after the one of the row."""
    true_write, true_seal = Database.write, events.seal
    held: list[dict[str, object]] = []

    def hold(session: Session) -> None:
        held.extend(session.info.pop("events", []))

    def write(self: Database, work: Callable[[Session], object]) -> object:
        answer = true_write(self, work)
        noted, held[:] = list(held), []
        if noted:
            failpoint.reach(BETWEEN)

            def late(session: Session) -> None:
                session.info["events"] = noted
                true_seal(session)

            true_write(self, late)
        return answer

    events.seal = hold
    Database.write = write  # type: ignore[method-assign,assignment]


BUGS: dict[str, Callable[[], None]] = {"no-fsync": no_fsync, "event-outside": event_outside}


def main() -> int:
    """Exit status of ``narthexd``, unless the end comes first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kill-at")
    parser.add_argument("--nth", type=int, default=1)
    parser.add_argument("--bug", choices=sorted(BUGS))
    parser.add_argument("rest", nargs="*")
    options = parser.parse_args()
    if options.bug:
        BUGS[options.bug]()
    if options.kill_at:
        kill_at(options.kill_at, options.nth)
    return daemon.main.main(options.rest)


if __name__ == "__main__":
    sys.exit(main())
