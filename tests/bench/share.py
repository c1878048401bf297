"""How much of each measure is done: the whole, or a share so small that it only shows that the bench works."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CORPUS: Final = Path(os.environ.get("NARTHEX_CORPUS", Path(__file__).resolve().parents[2].parent / "shared" / "corpus"))


@dataclass(frozen=True)
class Share:
    """``work`` is an empty folder on the disk that is measured."""

    work: Path
    starts: int = 7
    idle_seconds: float = 60.0
    commands: int = 10
    capture_rounds: int = 5
    capture_seconds: float = 4.0
    pipeline_rounds: int = 2
    files: int | None = None
    pages: int = 300
    processes: tuple[int, ...] = (1, 2)

    def folder(self, name: str) -> Path:
        """An empty folder below the work folder."""
        place = self.work / name
        place.mkdir()
        return place


def tiny(work: Path) -> Share:
    """Seconds in all; its figures mean nothing."""
    return Share(
        work,
        starts=1,
        idle_seconds=0.2,
        commands=1,
        capture_rounds=1,
        capture_seconds=0.2,
        pipeline_rounds=1,
        files=4,
        pages=2,
        processes=(1,),
    )
