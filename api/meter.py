"""Counts what was answered and how long it took, for ``GET /metrics``. Keeps numbers by route, never a name."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER: Final = "other"  # anybody may invent methods and paths; each would be a series for ever

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its samples are (suffix of the name, labels, value)."""

    name: str
    kind: str
    meaning: str
    samples: tuple[tuple[str, Labels, float], ...]


def family(name: str, kind: str, meaning: str, values: Iterable[tuple[Labels, float]]) -> Family:
    """A counter or a gauge."""
    return Family(name, kind, meaning, tuple(("", labels, value) for labels, value in values))


class Meter:
    """Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: Counter[tuple[str, str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def answered(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """One answer began; ``route`` is the template of the path, None when no route was found."""
        method, route = method if method in _METHODS else _OTHER, route or _OTHER
        with self._lock:
            self._answers[method, route, status] += 1
            self._times.setdefault(route, [0] * (len(_BOUNDS) + 1))[bisect_left(_BOUNDS, seconds)] += 1
            self._sums[route] = self._sums.get(route, 0.0) + seconds

    def families(self) -> list[Family]:
        """Everything counted since the process began."""
        with self._lock:
            answers = sorted(self._answers.items())
            times = sorted((route, tuple(counts), self._sums[route]) for route, counts in self._times.items())
        requests = [
            ({"method": method, "route": route, "status": str(status)}, float(count))
            for (method, route, status), count in answers
        ]
        seconds = [sample for one in times for sample in _histogram(*one)]
        return [
            family("narthex_http_requests_total", "counter", "Answers by route and status.", requests),
            Family(
                "narthex_http_request_duration_seconds",
                "histogram",
                "Time until the answer began, by route.",
                tuple(seconds),
            ),
        ]


def exposition(families: Iterable[Family]) -> str:
    """The text format of Prometheus, version 0.0.4."""
    lines = []
    for one in families:
        meaning = one.meaning.replace("\\", "\\\\").replace("\n", "\\n")
        lines += [f"# HELP {one.name} {meaning}", f"# TYPE {one.name} {one.kind}"]
        lines += [f"{one.name}{suffix}{_braces(labels)} {_number(value)}" for suffix, labels, value in one.samples]
    return "\n".join(lines) + "\n"


def _histogram(route: str, counts: tuple[int, ...], total: float) -> Iterable[tuple[str, Labels, float]]:
    names = [*(f"{bound:g}" for bound in _BOUNDS), "+Inf"]
    for bound, below in zip(names, accumulate(counts), strict=True):
        yield "_bucket", {"route": route, "le": bound}, below
    yield "_sum", {"route": route}, total
    yield "_count", {"route": route}, sum(counts)


def _braces(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
