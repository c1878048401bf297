"""How long narthexd takes from its start to ready, on an empty home and on one that is there already."""

from __future__ import annotations

from tests.bench.rows import Aim, Row
from tests.bench.share import Share
from tests.bench.subject import Subject


def measure(share: Share) -> list[Row]:
    """One first start, which makes the home and migrates, then starts of the same home."""
    subject = Subject(share.folder("start") / "home")
    try:
        first = subject.start()
        subject.stop()
        warm = []
        for _ in range(share.starts):
            warm.append(subject.start())
            subject.stop()
    finally:
        subject.stop()
    return [
        Row("start to ready", "s", warm, Aim(2.0, "<")),
        Row("first start to ready (makes the home, migrates)", "s", [first]),
    ]
