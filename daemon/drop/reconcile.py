"""Keeps the folder of a filed file in step with its item: quarantined ones lie where a person looks for them.

Compares the database with the disk and moves files; never changes an item.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from daemon.drop.filing import NOTE_HEAD, WHY, FilingCabinet, Note
from daemon.drop.intake import Line
from daemon.drop.names import DONE, FAILED, NEEDS_HELP, OUR_FOLDERS, fitting, stored
from daemon.drop.probe import folder_below, holds
from pipelines.model.identity import Clock
from pipelines.model.lifecycle import ItemState, QuarantineReason
from pipelines.model.records import Item
from pipelines.store import items
from pipelines.store.database import Database

_PLACES: Final = (NEEDS_HELP, FAILED)
_RECENT: Final = 1000
_PERSON: Final = frozenset({QuarantineReason.NEEDS_PASSWORD, QuarantineReason.NEEDS_OCR})
_HINTS: Final = {
    QuarantineReason.NEEDS_PASSWORD: "Save a copy without the password and drop that.",
    QuarantineReason.NEEDS_OCR: "It holds pictures of text. Run text recognition over it and drop what comes out.",
    QuarantineReason.TOO_LARGE: "Drop a smaller part of it.",
    QuarantineReason.EMPTY: "There is no text in it.",
    QuarantineReason.UNSUPPORTED: "Save it in another format and drop that.",
    QuarantineReason.FAILED: "Put it back into the drop folder to have it tried again.",
}


class Reconciler:
    """One thread owns it: the drop folder's."""

    def __init__(
        self,
        root: Path,
        database: Database,
        cabinet: FilingCabinet,
        note_filed: Callable[[str, str], None],
        clock: Clock,
    ) -> None:
        self._root = root
        self._database = database
        self._cabinet = cabinet
        self._note_filed = note_filed
        self._clock = clock
        self._missing: set[str] = set()
        self._told: set[str] | None = None

    def reconcile(self) -> list[Line]:
        """Moves what lies in the wrong folder; the lines say what moved. The next call heals what a crash cut short."""
        ours: dict[bool, list[Item]] = {True: [], False: []}
        for item in self._misfiled():
            ours[(item.filed_as or "").partition("/")[0] in OUR_FOLDERS].append(item)
        lines = [line for item in ours[True] for line in self._to_a_person(item)]
        lines += self._where_they_are(ours[False])
        if any(_has_files(self._root / place) for place in _PLACES):
            lines += [line for item in self._set_free() for line in self._to_done(item)]
            for place in _PLACES:
                _sweep_orphaned_notes(self._root / place)
        return lines

    def _misfiled(self) -> list[Item]:
        with self._database.read() as session:
            return items.misfiled(session, _PLACES)

    def _set_free(self) -> list[Item]:
        with self._database.read() as session:
            recent = items.recent_drops(session, _RECENT)
        freed = (item for item in recent if item.state not in {ItemState.QUARANTINED, ItemState.DISCARDED})
        return [item for item in freed if (item.filed_as or "").partition("/")[0] in _PLACES]

    def _where_they_are(self, items: list[Item]) -> list[Line]:
        """Says of files that are not ours to move what became of them; once, and not of earlier runs."""
        told, self._told = self._told, {item.id for item in items}
        return [
            Line(self._clock(), f"{_called(item)}: {item.problem}", item.name, item.filed_as or "")
            for item in items
            if told is not None and item.id not in told
        ]

    def _to_a_person(self, item: Item) -> Iterator[Line]:
        if item.id in self._missing or item.filed_as is None or item.quarantine_reason is None:
            return
        target = NEEDS_HELP if item.quarantine_reason in _PERSON else FAILED
        why = f"{item.problem or 'This could not be read.'}\n{_HINTS[item.quarantine_reason]}\nIts bytes are kept."
        yield from self._refile(item, target, Note(WHY, why), _called(item))

    def _to_done(self, item: Item) -> Iterator[Line]:
        yield from self._refile(item, f"{DONE}/{self._clock().astimezone():%Y-%m-%d}", None, "tried again")

    def _refile(self, item: Item, target: str, note: Note | None, what: str) -> Iterator[Line]:
        found = self._lies_at(item)
        if found is None:  # a person took it; the original is kept
            self._missing.add(item.id)
            return
        folder, name = found
        place = f"{folder}/{name}"
        if folder.partition("/")[0] != target.partition("/")[0]:
            with folder_below(self._root, tuple(folder.split("/"))) as source:
                place = self._cabinet.file_away(source, name, target, note)
                if folder in _PLACES:
                    with suppress(FileNotFoundError):
                        os.unlink(fitting(name, "", WHY), dir_fd=source)
        self._note_filed(item.id, stored(place))
        yield Line(self._clock(), what, item.name, place)

    def _lies_at(self, item: Item) -> tuple[str, str] | None:
        """Folder and name of the item's file. If not as noted (a crash, a name that is no text), its bytes tell."""
        folder, _, name = (item.filed_as or "").rpartition("/")
        if folder and os.path.lexists(self._root / folder / name):
            return folder, name
        for place in (*_PLACES, *_days(self._root / DONE)):
            for path in sorted((self._root / place).glob("*")):
                if holds(path, item.original_size, item.original_digest):
                    return place, path.name
        return None


def _called(item: Item) -> str:
    return "needs you" if item.quarantine_reason in _PERSON else "failed"


def _days(done: Path) -> list[str]:
    if not done.is_dir():
        return []
    return [f"{DONE}/{day.name}" for day in sorted(done.iterdir(), reverse=True) if day.is_dir()]


def _has_files(folder: Path) -> bool:
    with suppress(OSError):
        return any(folder.iterdir())
    return False


def _sweep_orphaned_notes(folder: Path) -> None:
    """Removes our notes whose file a person took away or put back into the drop folder."""
    with suppress(OSError):
        names = {path.name for path in folder.iterdir()}
        beside = {fitting(name, "", WHY) for name in names if not name.endswith(WHY)}
        for name in names - beside:
            if name.endswith(WHY) and _is_our_note(folder / name):
                (folder / name).unlink()


def _is_our_note(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(NOTE_HEAD)) == NOTE_HEAD.encode()
