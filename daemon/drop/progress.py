"""How far the copy of a large file has come, read off the kernel's account of our open files; changes nothing."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from daemon.drop.probe import Signature

LARGE: Final = 64 * 1024 * 1024
"""Bytes from which on a person may wonder what is going on."""
_POSITION: Final = re.compile(r"^pos:\s+(\d+)", re.MULTILINE)


def copied(seen: Signature) -> int:
    """Bytes of the file that were read so far: where the furthest of our descriptors of it stands."""
    furthest = 0
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - the names alone, of an ever-changing folder
        with suppress(OSError):  # closed meanwhile
            status = Path(f"/proc/self/fd/{number}").stat()
            if (status.st_dev, status.st_ino) == (seen.device, seen.inode):
                said = _POSITION.search(Path(f"/proc/self/fdinfo/{number}").read_text("ascii"))
                furthest = max(furthest, int(said[1]) if said else 0)
    return furthest


def share(seen: Signature) -> str:
    """For a person: ``34 % of 1.0 GB``."""
    return f"{copied(seen) * 100 // max(seen.size, 1)} % of {size_text(seen.size)}"


def size_text(size: int) -> str:
    """A size in the units of shops and file managers, such as ``1.4 GB``."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
