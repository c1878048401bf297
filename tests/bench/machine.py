"""The machine and the versions beside every figure: a ratio without them says nothing. Reads files of the kernel."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

from pysqlite3 import dbapi2 as sqlite


@dataclass(frozen=True)
class Facts:
    """Read at one moment; ``load`` is the one, five and fifteen minutes' average then."""

    processor: str
    cores: int
    memory_mb: int
    kernel: str
    file_system: str
    python: str
    sqlite: str
    load: str

    def lines(self) -> list[str]:
        """For a person."""
        return [
            f"machine  {self.processor}, {self.cores} cores, {self.memory_mb} MB",
            f"system   {self.kernel}, {self.file_system}, Python {self.python}, SQLite {self.sqlite}",
        ]

    def document(self) -> dict[str, object]:
        """For ``--json``."""
        return asdict(self)


def facts(folder: Path) -> Facts:
    """Of this machine and of the file system that ``folder`` is on."""
    return Facts(
        processor=_line("/proc/cpuinfo", "model name") or platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory_mb=int((_line("/proc/meminfo", "MemTotal") or "0").split()[0]) // 1024,
        kernel=f"{platform.system()} {platform.release()}",
        file_system=_file_system(folder),
        python=platform.python_version(),
        sqlite=str(sqlite.sqlite_version),
        load=" ".join(f"{value:.2f}" for value in os.getloadavg()),
    )


def _line(path: str, name: str) -> str:
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _file_system(folder: Path) -> str:
    place, found = folder.resolve(), ("", "?")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mounted, kind = line.split()[:3]
        if place.is_relative_to(mounted) and len(mounted) > len(found[0]):
            found = (mounted, kind)
    return found[1]
