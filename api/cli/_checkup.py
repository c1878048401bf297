"""What can be seen of a narthex from outside, without its daemon: folders, rights, limits, leftovers. Looks at names,
sizes and dates, never at a content, and changes nothing."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from api.cli._queue import queue_folder
from api.client import JsonObject
from pipelines.model.values import Home

VAULT_MARKER: Final = ".narthex/vault.toml"  # pipelines.vault.marker's, which a thin client may not import
_OTHERS: Final = 0o077
_ROOM: Final = 256 * 1024 * 1024
_FILES: Final = 1000  # inodes
_QUEUED_TOO_LONG: Final = timedelta(minutes=10)
_LEFT_OVER: Final = timedelta(hours=1)
_CLOCK_SLACK: Final = timedelta(minutes=5)
_EARLIEST: Final = datetime(2026, 1, 1, tzinfo=UTC)  # no narthex is older
_NAMED: Final = 5
_CONFLICT: Final = re.compile(r"\.sync-conflict-\d|\(.*conflicted copy.*\)|_conflict-\d|\(case conflict", re.IGNORECASE)
_INOTIFY: Final = Path("/proc/sys/fs/inotify")


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: ``what`` is so; where it is not ``ok``, ``why`` that matters and what to do ``next``."""

    check: str
    ok: bool
    what: str
    why: str = ""
    next: str = ""

    def document(self) -> JsonObject:
        """As ``--json`` shows it."""
        return {"check": self.check, "ok": self.ok, "what": self.what, "why": self.why, "next": self.next}


def outside(home: Home, now: datetime, inotify: Path = _INOTIFY) -> Iterator[Finding]:
    """Every check of a home that needs no daemon."""
    if not home.root.is_dir():
        yield Finding(
            "home", False, f"there is no {home.root}", "narthex keeps everything in one folder", "narthex init"
        )
        return
    yield from _rights(home)
    yield from _folders(home)
    yield from _room(home)
    yield _clock(home, now)
    notes = list(_walk(home.vault))
    yield _watches(home, sum(1 for _, folder in notes if folder), inotify)
    yield _conflicts(home, [path for path, folder in notes if not folder])
    yield from _queue(home, now)
    yield _leftovers(home, [path for path, folder in notes if not folder], now)


def _rights(home: Home) -> Iterator[Finding]:
    owner = home.root.stat().st_uid
    if owner not in (os.getuid(), 0) and os.getuid() != 0:
        yield Finding(
            "owner",
            False,
            f"{home.root} belongs to user {owner}",
            "only its owner's daemon can write",
            "log in as that user",
        )
    private = [home.root, home.settings, home.state, *_files_of(home.state)]
    open_ones = [path for path in private if path.exists() and stat.S_IMODE(path.stat().st_mode) & _OTHERS]
    if not open_ones:
        yield Finding("rights", True, f"{home.root} is for you alone")
    for path in open_ones[:_NAMED]:
        mode = "700" if path.is_dir() else "600"
        what = f"{path} is open to other users ({stat.S_IMODE(path.stat().st_mode):o})"
        yield Finding("rights", False, what, "they could read what you captured", f"chmod {mode} '{path}'")


def _files_of(folder: Path) -> list[Path]:
    if not os.access(folder, os.R_OK | os.X_OK):
        return []
    return [path for path in folder.iterdir() if path.suffix.startswith((".db", ".lock", ".sock"))]


def _folders(home: Home) -> Iterator[Finding]:
    for name, folder in (("drop", home.drop), ("vault", home.vault), ("state", home.state)):
        if not folder.is_dir():
            yield Finding(name, False, f"there is no {folder}", "narthexd makes it at its start", "narthexd")
        elif not os.access(folder, os.W_OK | os.X_OK):
            yield Finding(
                name,
                False,
                f"{folder} cannot be written",
                "nothing can be taken in or stored",
                f"chmod u+rwx '{folder}'",
            )
        elif name == "vault" and home.database.exists() and not (folder / VAULT_MARKER).is_file():
            why = "while its mark is missing narthex takes it for not mounted, and records no change"
            yield Finding(
                name, False, f"{folder} is not marked as the vault", why, "mount or restore it, then narthexd"
            )
        else:
            yield Finding(name, True, str(folder))


def _room(home: Home) -> Iterator[Finding]:
    free, inodes = shutil.disk_usage(home.root).free, os.statvfs(home.root)
    if free < _ROOM:
        yield Finding(
            "disk",
            False,
            f"{free // 2**20} MiB are free",
            "captures are refused when the disk is full",
            "free some space",
        )
    elif inodes.f_files and inodes.f_favail < _FILES:
        yield Finding(
            "disk", False, f"{inodes.f_favail} more files fit", "each capture is a file", "remove small files"
        )
    else:
        yield Finding("disk", True, f"{free // 2**20} MiB free")


def _clock(home: Home, now: datetime) -> Finding:
    written = [path.stat().st_mtime for path in home.state.glob("state.db*")] if os.access(home.state, os.X_OK) else []
    last = datetime.fromtimestamp(max(written), UTC) if written else _EARLIEST
    if now < _EARLIEST or now + _CLOCK_SLACK < last:
        why = "leases, sessions and schedules go by the clock"
        what = f"the clock says {now:%Y-%m-%d %H:%M}, the database was written {last:%Y-%m-%d %H:%M}"
        return Finding("clock", False, what, why, "timedatectl set-ntp true")
    return Finding("clock", True, f"{now:%Y-%m-%d %H:%M} UTC")


def _watches(home: Home, folders: int, inotify: Path) -> Finding:
    needed = folders + sum(1 for _, folder in _walk(home.drop) if folder) + 2
    try:
        limits: Mapping[str, int] = {
            name: int((inotify / name).read_text("ascii")) for name in ("max_user_watches", "max_user_instances")
        }
    except (OSError, ValueError):
        return Finding("watches", True, "this system does not say how many folders may be watched")
    why = "changes are then found by listing only, which is slower"
    if limits["max_user_watches"] < 2 * needed:
        what = f"{needed} folders are to be watched, {limits['max_user_watches']} watches are allowed for all programs"
        return Finding("watches", False, what, why, "sudo sysctl fs.inotify.max_user_watches=524288")
    if limits["max_user_instances"] < 16:
        what = f"{limits['max_user_instances']} programs may watch folders"
        return Finding("watches", False, what, why, "sudo sysctl fs.inotify.max_user_instances=512")
    return Finding("watches", True, f"{needed} of {limits['max_user_watches']} watches are needed")


def _conflicts(home: Home, paths: list[Path]) -> Finding:
    found = [str(path.relative_to(home.vault)) for path in paths if _CONFLICT.search(path.name)]
    if not found:
        return Finding("sync conflicts", True, "none in the vault")
    what = f"{len(found)} in the vault: {', '.join(found[:_NAMED])}"
    return Finding(
        "sync conflicts",
        False,
        what,
        "two devices changed one note, and one version is lost from sight",
        "compare them, keep one",
    )


def _queue(home: Home, now: datetime) -> Iterator[Finding]:
    folder = queue_folder(home)
    entries = list(folder.glob("[!.]*.json")) if folder.is_dir() else []
    late = [path for path in entries if _age(path, now) > _QUEUED_TOO_LONG]
    bad = list((folder / "bad").glob("*.json")) if folder.is_dir() else []
    if late:
        what = f"{len(late)} captures have waited in {folder} for more than ten minutes"
        yield Finding("queue", False, what, "only a running daemon takes them in", "narthexd   ·   narthex status")
    if bad:
        yield Finding(
            "queue",
            False,
            f"{len(bad)} queued captures were set aside",
            "each has its reason beside it",
            f"ls '{folder / 'bad'}'",
        )
    if not late and not bad:
        yield Finding("queue", True, f"{len(entries)} captures wait")


def _leftovers(home: Home, notes: list[Path], now: datetime) -> Finding:
    places = [path for path in notes if path.name.endswith(".nx-tmp")]
    for folder, pattern in ((queue_folder(home), ".*.tmp"), (home.state / "incoming", "*")):
        places += list(folder.glob(pattern)) if os.access(folder, os.R_OK | os.X_OK) else []
    old = [str(path) for path in places if _age(path, now) > _LEFT_OVER]
    if not old:
        return Finding("leftovers", True, "none")
    what = f"{len(old)} unfinished files: {', '.join(old[:_NAMED])}"
    return Finding(
        "leftovers", False, what, "something was cut off while it wrote", "start narthexd again: it sweeps its own"
    )


def _age(path: Path, now: datetime) -> timedelta:
    try:
        return now - datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    except FileNotFoundError:
        return timedelta(0)


def _walk(root: Path) -> Iterator[tuple[Path, bool]]:
    """Every path below and whether it is a folder; not into hidden folders, and not through links."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from ((Path(folder, name), True) for name in folders)
        yield from ((Path(folder, name), False) for name in files)
