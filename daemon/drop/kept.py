"""Which files stay where they lie although they were looked at: so that none is read, or complained of, twice.

A cache: the database knows what was captured, by path and content. Without this file everything is read once more.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from daemon.drop.probe import Signature
from daemon.drop.settle import Parts

_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """One file as it was when it was looked at. ``source_key`` leads to its item; empty: it was not taken in."""

    inode: int
    size: int
    changed_ns: int
    source_key: str
    stuck: bool = False
    """It ought to be filed, but may not be moved away."""

    def is_still(self, seen: Signature) -> bool:
        """Whether this is that file, and unchanged as far as times tell. Device numbers change with every start."""
        return (self.inode, self.size, self.changed_ns) == (seen.inode, seen.size, seen.changed_ns)


def content_key(parts: Sequence[str], digest: str) -> str:
    """The source key of a file that stays: the same bytes at the same path are one capture, whatever their times."""
    where = b"\0".join(os.fsencode(part) for part in parts)
    return "kept:" + hashlib.sha256(where + b"\0\0" + digest.encode()).hexdigest()


class KeptFiles:
    """Safe to share between threads. ``place`` is where it outlives a restart; None: nowhere."""

    def __init__(self, place: Path | None) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._changed = False
        self._known: dict[Parts, Kept] = {} if place is None else _read(place)
        self._stuck = {parts for parts, kept in self._known.items() if kept.stuck}

    def find(self, parts: Parts, seen: Signature) -> Kept | None:
        """What is known of the file that looks like ``seen``; None when it is new or changed."""
        kept = self._known.get(parts)
        return kept if kept is not None and kept.is_still(seen) else None

    def remember(self, parts: Parts, seen: Signature, source_key: str, *, stuck: bool = False) -> None:
        """It was looked at, and stays."""
        with self._lock:
            self._known[parts] = Kept(seen.inode, seen.size, seen.changed_ns, source_key, stuck)
            (self._stuck.add if stuck else self._stuck.discard)(parts)
            self._changed = True

    def forget(self, parts: Parts) -> None:
        """It no longer stays there."""
        with self._lock:
            self._changed = self._known.pop(parts, None) is not None or self._changed
            self._stuck.discard(parts)

    def count(self, *, stuck: bool = False) -> int:
        """How many stay; with ``stuck`` how many of them against our will."""
        return len(self._stuck if stuck else self._known)

    def unstick(self, movable: Callable[[Parts], bool]) -> None:
        """Those that may be moved away after all are taken up again."""
        for parts in [parts for parts in tuple(self._stuck) if movable(parts)]:
            with self._lock:
                self._known[parts] = replace(self._known[parts], stuck=False)
                self._stuck.discard(parts)
                self._changed = True

    def retain(self, present: set[Parts]) -> None:
        """Forgets all that a complete listing did not find."""
        for parts in [parts for parts in self._known if parts not in present]:
            self.forget(parts)

    def save(self) -> None:
        """Writes what changed. A disk that takes nothing costs a second reading after the next start, no more."""
        if self._place is None or not self._changed:
            return
        with self._lock:
            self._changed = False
            files = [
                [list(parts), kept.inode, kept.size, kept.changed_ns, kept.source_key, kept.stuck]
                for parts, kept in self._known.items()
            ]
        temporary = self._place.with_name(f".{self._place.name}.tmp")
        with suppress(OSError):
            self._place.parent.mkdir(mode=0o700, exist_ok=True)
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:  # noqa: PTH123
                json.dump({"format": _FORMAT, "files": files}, file)
            temporary.replace(self._place)


def _read(place: Path) -> dict[Parts, Kept]:
    try:
        stored = json.loads(place.read_text("ascii"))
        if stored["format"] != _FORMAT:
            return {}
        return {tuple(parts): Kept(*rest) for parts, *rest in stored["files"]}
    except (OSError, ValueError, KeyError, TypeError):  # none yet, or torn by a power cut
        return {}
