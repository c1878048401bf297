"""When a dropped file is finished: unchanged for a while, not empty. Keeps times and signatures; touches no disk.

Events and listings are hints that something is there. The table looks again when its time has come, so a hint costs
nothing, and a thousand hints about one file are one look.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from daemon.drop.probe import Signature

Parts = tuple[str, ...]
"""A path relative to the drop folder, part by part, with the odd bytes of its names as surrogates."""

_EMPTY_AFTER: Final = 10  # settle times until a file that stays empty is mentioned
_LONGEST_PAUSE: Final = 300.0  # seconds between the tries of a file that cannot be had
_TOUCHED_PATIENCE: Final = 10  # settle times after which a file is taken of which only the times go on changing


class Verdict(Enum):
    """What to do with a candidate whose time has come."""

    WAIT = "wait"
    READY = "ready"
    GONE = "gone"


@dataclass(slots=True)
class Candidate:
    """A file that may be ready. Times are of a monotonic clock, in seconds."""

    parts: Parts
    look_at: float
    signature: Signature | None = None
    since: float = 0.0
    sized_at: float = 0.0
    tries: int = 0
    why: str = ""
    next_try: datetime | None = None
    """The time of day of ``look_at`` after a fault, once a person was told."""
    claimed: bool = False
    hinted_again: bool = False


class SettlingTable:
    """All candidates. One thread owns it: the drop folder's."""

    def __init__(self, settle_seconds: float) -> None:
        self._settle = settle_seconds
        self._candidates: dict[Parts, Candidate] = {}
        self._waiting: dict[Parts, Candidate] = {}  # kept apart: with ten thousand candidates nobody counts them again
        self._order: list[tuple[float, Parts]] = []

    def listed(self, parts: Parts, now: float) -> None:
        """Something is at ``parts``. What waits already goes on waiting: that it is still there is no news."""
        if parts not in self._candidates:
            self._push(self._candidates.setdefault(parts, Candidate(parts, now)), now)

    def hint(self, parts: Parts, now: float) -> None:
        """Something happened at ``parts``. A file that waits, empty or after a fault, is looked at soon again."""
        candidate = self._candidates.get(parts)
        if candidate is None:
            self.listed(parts, now)
        elif candidate.claimed:
            candidate.hinted_again = True
        elif candidate.look_at > now + self._settle:
            self._push(candidate, now + self._settle)

    def due(self, now: float) -> list[Candidate]:
        """Candidates to look at now, each once; they stay in the table until ``forget``."""
        found: list[Candidate] = []
        while self._order and self._order[0][0] <= now:
            look_at, parts = heapq.heappop(self._order)
            candidate = self._candidates.get(parts)
            if candidate is not None and candidate.look_at == look_at and not candidate.claimed:
                candidate.look_at = float("inf")
                found.append(candidate)
        return found

    def next_look(self) -> float | None:
        """When ``due`` will answer something; None when nothing waits."""
        return self._order[0][0] if self._order else None

    def judge(self, candidate: Candidate, seen: Signature | None, now: float) -> Verdict:
        """Compares what is there now with what was there; WAIT has arranged the next look, READY has claimed it."""
        if seen is None or seen.is_folder:
            self.forget(candidate, now)
            return Verdict.GONE
        if self._is_news(candidate, seen, now):
            candidate.since = now
            candidate.tries = 0
            self._say(candidate, "")
            self._push(candidate, now + self._settle)
            return Verdict.WAIT
        if seen.is_file and seen.size == 0:
            self._wait_for_content(candidate, now)
            return Verdict.WAIT
        if now < candidate.since + self._settle:
            self._push(candidate, candidate.since + self._settle)
            return Verdict.WAIT
        candidate.claimed = True
        return Verdict.READY

    def _is_news(self, candidate: Candidate, seen: Signature, now: float) -> bool:
        """Whether its content may have changed. What another program touches for ever is taken as it is, some time."""
        before, candidate.signature = candidate.signature, seen
        if before is None or not before.same_size(seen):
            candidate.sized_at = now
            return True
        if before.same_bytes(seen):
            return False  # its permissions or its name changed
        return now < candidate.sized_at + self._settle * _TOUCHED_PATIENCE or candidate.tries > 0

    def _wait_for_content(self, candidate: Candidate, now: float) -> None:
        patience = self._settle * _EMPTY_AFTER
        if now >= candidate.since + patience:
            self._say(candidate, "empty")
        # every change is a hint that comes earlier; the rescan is the slowest that this can be noticed without one
        self._push(candidate, max(candidate.since + patience, now + patience))

    def still_written(self, candidate: Candidate, now: float) -> None:
        """Somebody has it open for writing, or it changed while it was copied: its quiet time starts anew."""
        candidate.claimed, candidate.since, candidate.sized_at = False, now, now
        self._say(candidate, "still being written")
        self._push(candidate, now + self._settle)

    def try_later(self, candidate: Candidate, why: str, now: float) -> None:
        """A passing fault: it is tried again after a pause that grows to five minutes."""
        pause = min(_LONGEST_PAUSE, self._settle * 2.5 * 4 ** min(candidate.tries, 10))
        candidate.claimed = False
        candidate.tries += 1
        self._say(candidate, why)
        self._push(candidate, now + pause)

    def forget(self, candidate: Candidate, now: float) -> None:
        """It was filed, or is no longer there. What happened at its path meanwhile may be the next file's arrival."""
        if self._candidates.get(candidate.parts) is candidate:
            del self._candidates[candidate.parts]
            self._waiting.pop(candidate.parts, None)
            if candidate.hinted_again:
                self.hint(candidate.parts, now)

    def waiting(self) -> list[Candidate]:
        """Those that a person may wonder about: they wait for something other than the settle time."""
        return sorted(self._waiting.values(), key=lambda candidate: candidate.parts)

    def __len__(self) -> int:
        return len(self._candidates)

    def _say(self, candidate: Candidate, why: str) -> None:
        candidate.why = why
        if why:
            self._waiting[candidate.parts] = candidate
        else:
            self._waiting.pop(candidate.parts, None)

    def _push(self, candidate: Candidate, look_at: float) -> None:
        candidate.look_at, candidate.next_try = look_at, None
        heapq.heappush(self._order, (look_at, candidate.parts))
