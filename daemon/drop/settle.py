"""When a dropped file is finished: unchanged for a while, not empty. Keeps times and signatures; touches no disk.

Events and listings are hints that something is there. The table looks again when its time has come, so a hint costs
nothing, and a thousand hints about one file are one look.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from enum import Enum
from typing import Final

from daemon.drop.probe import Signature

Parts = tuple[str, ...]
"""A path relative to the drop folder, part by part, with the odd bytes of its names as surrogates."""

_EMPTY_AFTER: Final = 10  # settle times until a file that stays empty is mentioned
_LONGEST_PAUSE: Final = 300.0  # seconds between the tries of a file that cannot be had


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
    tries: int = 0
    why: str = ""
    claimed: bool = False
    hinted_again: bool = False


class SettlingTable:
    """All candidates. One thread owns it: the drop folder's."""

    def __init__(self, settle_seconds: float) -> None:
        self._settle = settle_seconds
        self._candidates: dict[Parts, Candidate] = {}
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
        if seen != candidate.signature:
            candidate.signature, candidate.since = seen, now
            candidate.tries, candidate.why = 0, ""
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

    def _wait_for_content(self, candidate: Candidate, now: float) -> None:
        patience = self._settle * _EMPTY_AFTER
        if now >= candidate.since + patience:
            candidate.why = "empty"
        # every change is a hint that comes earlier; the rescan is the slowest that this can be noticed without one
        self._push(candidate, max(candidate.since + patience, now + patience))

    def still_written(self, candidate: Candidate, now: float) -> None:
        """Somebody has it open for writing, or it changed while it was copied: its quiet time starts anew."""
        candidate.claimed, candidate.since, candidate.why = False, now, "still being written"
        self._push(candidate, now + self._settle)

    def try_later(self, candidate: Candidate, why: str, now: float) -> None:
        """A passing fault: it is tried again after a pause that grows to five minutes."""
        pause = min(_LONGEST_PAUSE, self._settle * 2.5 * 4 ** min(candidate.tries, 10))
        candidate.claimed, candidate.why = False, why
        candidate.tries += 1
        self._push(candidate, now + pause)

    def forget(self, candidate: Candidate, now: float) -> None:
        """It was filed, or is no longer there. What happened at its path meanwhile may be the next file's arrival."""
        if self._candidates.get(candidate.parts) is candidate:
            del self._candidates[candidate.parts]
            if candidate.hinted_again:
                self.hint(candidate.parts, now)

    def waiting(self) -> list[Candidate]:
        """Those that a person may wonder about: they wait for something other than the settle time."""
        return sorted((c for c in self._candidates.values() if c.why), key=lambda c: c.parts)

    def claimed(self) -> int:
        """How many are being captured."""
        return sum(candidate.claimed for candidate in self._candidates.values())

    def __len__(self) -> int:
        return len(self._candidates)

    def _push(self, candidate: Candidate, look_at: float) -> None:
        candidate.look_at = look_at
        heapq.heappush(self._order, (look_at, candidate.parts))
