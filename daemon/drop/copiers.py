"""A few threads that take settled files in, so that captures share a commit; never decides what is taken in."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from daemon.drop.intake import Outcome
from daemon.drop.probe import Signature
from daemon.drop.progress import LARGE, share
from daemon.drop.settle import Candidate, Parts
from daemon.watching import Bell

_THREADS: Final = 8


class Copiers:
    """Owned by the one thread that submits and that reads what was finished; the bell is its bell."""

    def __init__(self, take: Callable[[Parts, Signature], Outcome], bell: Bell) -> None:
        self._take = take
        self._bell = bell
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="drop-copier")
        self._done: queue.SimpleQueue[tuple[Candidate, Future[Outcome]]] = queue.SimpleQueue()
        self._large: dict[Parts, Signature] = {}

    def submit(self, candidate: Candidate, seen: Signature) -> None:
        """Takes the file that looked like ``seen`` in, soon. The candidate is claimed until it is ``finished``."""
        if seen.size >= LARGE:
            self._large[candidate.parts] = seen
        future = self._pool.submit(self._take, candidate.parts, seen)
        future.add_done_callback(lambda done: self._finished(candidate, done))

    def _finished(self, candidate: Candidate, done: Future[Outcome]) -> None:
        self._done.put((candidate, done))
        self._bell.set()

    def finished(self) -> Iterator[tuple[Candidate, Outcome]]:
        """What is done since the last call. Raises what no outcome stands for, such as ``Broken``."""
        while not self._done.empty():
            candidate, done = self._done.get()
            self._large.pop(candidate.parts, None)
            yield candidate, done.result()

    def large(self) -> dict[Parts, str]:
        """The large files at work, each with how far its copy has come, for a person."""
        return {parts: share(seen) for parts, seen in self._large.items()}

    def close(self) -> None:
        """Returns when those that are at work are done."""
        self._pool.shutdown()
