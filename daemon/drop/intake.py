"""One settled file: claim, capture, move out of the root. Decides what an error means for the file, not the item."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Final, Protocol

from daemon.drop.filing import SAME_AS, WHY, FilingCabinet, Note
from daemon.drop.names import DONE, DUPLICATES, FAILED, labels, shown
from daemon.drop.probe import GONE, PASSING, Signature, being_written, folder_below, holds, signature_of
from daemon.drop.settle import Parts
from pipelines.capture import Captured
from pipelines.model.actor import Actor, Channel, daemon_actor
from pipelines.model.errors import Conflict, Invalid, NotFound, Refused, Transient, Unreadable
from pipelines.model.identity import Clock

ACTOR: Final[Actor] = daemon_actor(Channel.DROP, "drop folder")


class CaptureFile(Protocol):
    """``pipelines.capture.capture_file`` of one narthex."""

    def __call__(
        self, path: Path, actor: Actor, *, name: str, tags: tuple[str, ...], scope: str | None, source_key: str
    ) -> Captured: ...


class Fate(Enum):
    """What became of a candidate."""

    FILED = "filed"
    STILL_WRITTEN = "still written"
    LATER = "later"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of STATUS.md: what happened to which file, where it lies now."""

    at: datetime
    what: str
    name: str
    place: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """``why`` is for a person, when it is tried later; ``line`` is there when it was filed."""

    fate: Fate
    why: str = ""
    line: Line | None = None


class Intake:
    """Takes files in. Called from several threads at once, never twice at once for one path."""

    def __init__(
        self,
        root: Path,
        cabinet: FilingCabinet,
        capture_file: CaptureFile,
        note_filed: Callable[[str, str], None],
        scopes: tuple[str, ...],
        clock: Clock,
    ) -> None:
        self._root = root
        self._cabinet = cabinet
        self._capture_file = capture_file
        self._note_filed = note_filed
        self._scopes = scopes
        self._clock = clock

    def take(self, parts: Parts, seen: Signature) -> Outcome:
        """Captures and files the file that looked like ``seen`` when it was found settled.

        Raises ``Broken`` when the store is; every other error is an ``Outcome``.
        """
        try:
            with folder_below(self._root, parts[:-1]) as folder:
                return self._take(folder, parts, seen)
        except (Conflict, FileExistsError):
            return Outcome(Fate.STILL_WRITTEN)
        except NotFound:
            return Outcome(Fate.GONE)
        except (Transient, Invalid) as error:  # Invalid: something that is no folder has the name of one of ours
            return Outcome(Fate.LATER, error.message)
        except OSError as error:
            if error.errno in GONE:
                return Outcome(Fate.GONE)
            if error.errno in PASSING:
                return Outcome(Fate.LATER, f"it cannot be opened or moved now: {error.strerror}")
            raise

    def _take(self, folder: int, parts: Parts, seen: Signature) -> Outcome:
        name = parts[-1]
        if signature_of(os.stat(name, dir_fd=folder, follow_symlinks=False)) != seen:
            return Outcome(Fate.STILL_WRITTEN)
        oddity = seen.oddity()
        if oddity is not None:
            return self._fail(folder, name, f"this is {oddity}.", "Put a copy of the file itself into the drop folder.")
        if being_written(folder, name):
            return Outcome(Fate.STILL_WRITTEN)
        try:
            captured = self._capture(folder, parts, seen)
        except (Unreadable, Refused) as error:
            if isinstance(error, NotFound):
                raise
            return self._fail(folder, name, error.message, error.hint)
        return self._file(folder, name, seen, captured)

    def _capture(self, folder: int, parts: Parts, seen: Signature) -> Captured:
        said = labels(parts[:-1], self._scopes)
        return self._capture_file(
            # through the open folder: a link that takes a folder's place meanwhile leads nowhere
            Path(f"/proc/self/fd/{folder}/{parts[-1]}"),
            ACTOR,
            name=shown(parts[-1]),
            tags=said.tags,
            scope=said.scope,
            source_key=seen.source_key(parts),
        )

    def _file(self, folder: int, name: str, seen: Signature, captured: Captured) -> Outcome:
        now = self._clock()
        note, target, what = None, f"{DONE}/{now.astimezone():%Y-%m-%d}", "taken in"
        if captured.duplicate_of is not None:
            note = Note(SAME_AS, f"the same bytes are known as {captured.duplicate_of}.\nNothing else was stored.")
            target, what = DUPLICATES, f"already known as {captured.duplicate_of}"
        elif captured.released:
            what = "tried again"

        def announce(place: str) -> None:
            self._note_filed(captured.item.id, place)

        place = self._cabinet.file_away(folder, name, target, note, announce)
        if not self._is_what_was_captured(self._root / place, seen, captured):
            # somebody replaced it between the copy and the move: the newer file was not captured yet
            self._cabinet.put_back(place, folder, name)
            return Outcome(Fate.STILL_WRITTEN)
        return Outcome(Fate.FILED, line=Line(now, what, shown(name), place))

    def _is_what_was_captured(self, path: Path, seen: Signature, captured: Captured) -> bool:
        if seen.same_bytes(signature_of(os.lstat(path))):
            return True
        return holds(path, captured.item.original_size, captured.item.original_digest)  # only touched

    def _fail(self, folder: int, name: str, why: str, hint: str) -> Outcome:
        text = f"{why}\n{hint or 'Put it back into the drop folder to have it tried again.'}\nIt was not taken in."
        place = self._cabinet.file_away(folder, name, FAILED, Note(WHY, text))
        return Outcome(Fate.FILED, line=Line(self._clock(), f"not taken in: {why}", shown(name), place))
