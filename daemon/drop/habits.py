"""What the settings say about the drop folder, as values; reads no settings itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class DropMode(StrEnum):
    """What becomes of a dropped file once it is safe."""

    MOVE = "move"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Habits:
    """How one drop folder is watched."""

    settle_seconds: float = 2.0
    rescan_seconds: float = 60.0
    mode: DropMode = DropMode.MOVE
    ignore: tuple[str, ...] = ()
    """Globs of names that are left alone, besides the built-in list."""
    kept_at: Path | None = None
    """Where it is remembered which files stay, over a restart."""
