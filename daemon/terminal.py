"""What the daemon says to the person who started it, as plain text; logs go elsewhere."""

from __future__ import annotations

import importlib.metadata
import sys
from contextlib import suppress


def say(text: str) -> None:
    """Writes a line to the daemon's terminal or journal; a terminal that was closed meanwhile hears nothing."""
    with suppress(OSError, ValueError):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def version() -> str:
    """Of the distribution; a tree that was never installed has none."""
    try:
        return importlib.metadata.version("narthex")
    except importlib.metadata.PackageNotFoundError:
        return "0+tree"
