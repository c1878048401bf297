"""A disk whose power can be cut: ext4 on a loop device, shut down without flushing its log. Needs root, and says so."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_EXT4_IOC_SHUTDOWN: Final = 0x8004587D
_WITHOUT_FLUSH: Final = 2


class Disk:
    """One small ext4 file system, mounted at ``mount`` while its power is on."""

    def __init__(self, image: Path, mount: Path) -> None:
        self.image, self.mount = image, mount

    def cut(self) -> None:
        """From here on nothing reaches the disk, and what had not reached it is lost."""
        fd = os.open(self.mount, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, _EXT4_IOC_SHUTDOWN, struct.pack("I", _WITHOUT_FLUSH))
        finally:
            os.close(fd)

    def power_on(self) -> None:
        """Mounts it again, as a machine does that starts after the cut. Nothing may have a file open on it."""
        self._run("umount", str(self.mount))
        self._run("mount", "-o", "loop", str(self.image), str(self.mount))

    @staticmethod
    def _run(*command: str) -> None:
        subprocess.run(command, check=True, capture_output=True)


@contextmanager
def disk(folder: Path, mebibytes: int = 192) -> Iterator[Disk]:
    """A fresh disk below ``folder``; it is gone afterwards."""
    image, mount = folder / "disk.img", folder / "disk"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(mebibytes << 20)
    Disk._run("mkfs.ext4", "-q", "-F", str(image))
    made = Disk(image, mount)
    Disk._run("mount", "-o", "loop", str(image), str(mount))
    try:
        yield made
    finally:
        subprocess.run(["umount", "--lazy", str(mount)], check=False, capture_output=True)
        image.unlink()
