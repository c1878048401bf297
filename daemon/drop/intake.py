"""One settled file: claim, capture, move out of the root. Decides what an error means for the file, not the item."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Final, Protocol

from daemon.drop.filing import SAME_AS, WHY, FilingCabinet, Note
from daemon.drop.kept import KeptFiles, content_key
from daemon.drop.names import DONE, DUPLICATES, FAILED, labels, shown, stored
from daemon.drop.probe import (
    GONE,
    NOT_OURS,
    PASSING,
    Signature,
    being_written,
    digest_of,
    folder_below,
    holds,
    signature_of,
)
from daemon.drop.settle import Parts
from pipelines.capture import Captured
from pipelines.model.actor import Actor, Channel, daemon_actor
from pipelines.model.errors import Conflict, Invalid, NotFound, Refused, Transient, Unreadable
from pipelines.model.identity import Clock
from pipelines.model.policy import Policy
from pipelines.model.records import Item

ACTOR: Final[Actor] = daemon_actor(Channel.DROP, "drop folder")


class CaptureFile(Protocol):
    """``pipelines.capture.capture_file`` of one narthex."""

    def __call__(
        self,
        path: Path,
        actor: Actor,
        *,
        name: str,
        tags: tuple[str, ...],
        scope: str | None,
        source_key: str,
        filed_as: str,
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
        kept: KeptFiles,
        policy: Policy,
        clock: Clock,
        *,
        capture_file: CaptureFile,
        note_filed: Callable[[str, str], None],
        known: Callable[[str], Item | None],
    ) -> None:
        self._root = root
        self._cabinet = cabinet
        self._kept = kept
        self._policy = policy
        self._clock = clock
        self._capture_file = capture_file
        self._note_filed = note_filed
        self._known = known
        self.keeping = False
        """Files stay where they are. Set by the drop folder's thread."""

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
        if signature_of(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)) != seen:
            return Outcome(Fate.STILL_WRITTEN)
        oddity = seen.oddity()
        if oddity is not None:
            hint = "Put a copy of the file itself into the drop folder."
            return self._refuse(folder, parts, seen, f"this is {oddity}.", hint)
        if being_written(folder, parts[-1]):
            return Outcome(Fate.STILL_WRITTEN)
        try:
            return self._keep(folder, parts, seen) if self.keeping else self._move(folder, parts, seen)
        except (Unreadable, Refused) as error:
            if isinstance(error, NotFound):
                raise
            return self._refuse(folder, parts, seen, error.message, error.hint)

    def _capture(self, folder: int, parts: Parts, source_key: str, filed_as: str) -> Captured:
        said = labels(parts[:-1], self._policy.scopes)
        return self._capture_file(
            # through the open folder: a link that takes a folder's place meanwhile leads nowhere
            Path(f"/proc/self/fd/{folder}/{parts[-1]}"),
            ACTOR,
            name=shown(parts[-1]),
            tags=said.tags,
            scope=said.scope,
            source_key=source_key,
            filed_as=stored(filed_as),
        )

    def _keep(self, folder: int, parts: Parts, seen: Signature) -> Outcome:
        """Captures a file that stays, once for each content that it has."""
        # one that is too large is not read to its end only to be refused
        small = seen.size <= self._policy.max_original_bytes
        key = content_key(parts, digest_of(folder, parts[-1])) if small else seen.source_key(parts)
        line = None
        if self._known(key) is None:
            captured = self._capture(folder, parts, key, "/".join(parts))
            line = Line(self._clock(), _what(captured), shown(parts[-1]), "/".join(parts))
        if not seen.same_bytes(signature_of(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False))):
            return Outcome(Fate.STILL_WRITTEN, line=line)
        self._kept.remember(parts, seen, key)
        return Outcome(Fate.FILED, line=line)

    def _move(self, folder: int, parts: Parts, seen: Signature) -> Outcome:
        """Captures a file and files it; one that was captured while it had to stay is only filed."""
        kept = self._kept.find(parts, seen)
        item = self._known(kept.source_key) if kept is not None and kept.source_key else None
        if item is not None:
            return self._file(folder, parts, seen, Captured(item, duplicate_of=item.duplicate_of, known=True), "")
        with self._cabinet.reserved(f"{DONE}/{self._today()}", parts[-1]) as place:
            captured = self._capture(folder, parts, seen.source_key(parts), place)
            if not captured.known and captured.duplicate_of is None:  # its row says already where it will lie
                return self._file(folder, parts, seen, captured, place)
        return self._file(folder, parts, seen, captured, "")

    def _today(self) -> str:
        return f"{self._clock().astimezone():%Y-%m-%d}"

    def _file(self, folder: int, parts: Parts, seen: Signature, captured: Captured, place: str) -> Outcome:
        """Moves a captured file out of the root, to ``place`` if its row says that already."""
        now, name, what = self._clock(), parts[-1], _what(captured)
        try:
            place = self._put(folder, name, captured, place)
        except OSError as error:
            if error.errno not in NOT_OURS:
                raise
            # what is stored is stored: that the file may not be moved away is said, and is no reason to take it again
            self._kept.remember(parts, seen, captured.item.source_key or "", stuck=True)
            self._note_filed(captured.item.id, stored("/".join(parts)))
            what = f"{what}; it stays, since it may not be moved away: {error.strerror}"
            return Outcome(Fate.FILED, line=Line(now, what, shown(name), "/".join(parts)))
        self._kept.forget(parts)
        if not self._is_what_was_captured(self._root / place, seen, captured):
            # somebody replaced it between the copy and the move: the newer file was not captured yet
            self._cabinet.put_back(place, folder, name)
            return Outcome(Fate.STILL_WRITTEN)
        return Outcome(Fate.FILED, line=Line(now, what, shown(name), place))

    def _put(self, folder: int, name: str, captured: Captured, place: str) -> str:
        if place:
            with suppress(FileExistsError):  # somebody else put something there: another name then
                self._cabinet.move_to(folder, name, place)
                return place
        note, target = None, f"{DONE}/{self._today()}"
        if captured.duplicate_of is not None:
            note = Note(SAME_AS, f"the same bytes are known as {captured.duplicate_of}.\nNothing else was stored.")
            target = DUPLICATES

        def announce(announced: str) -> None:
            self._note_filed(captured.item.id, announced)

        return self._cabinet.file_away(folder, name, target, note, announce)

    def _is_what_was_captured(self, path: Path, seen: Signature, captured: Captured) -> bool:
        if seen.same_bytes(signature_of(os.lstat(path))):
            return True
        return holds(path, captured.item.original_size, captured.item.original_digest)  # only touched

    def _refuse(self, folder: int, parts: Parts, seen: Signature, why: str, hint: str) -> Outcome:
        """Puts what is never taken in where a person looks for it, or says so where it has to stay."""
        name, place = parts[-1], "/".join(parts)
        if not self.keeping:
            text = f"{why}\n{hint or 'Put it back into the drop folder to have it tried again.'}\nIt was not taken in."
            try:
                place = self._cabinet.file_away(folder, name, FAILED, Note(WHY, text))
                return Outcome(Fate.FILED, line=Line(self._clock(), f"not taken in: {why}", shown(name), place))
            except OSError as error:
                if error.errno not in NOT_OURS:
                    raise
        self._kept.remember(parts, seen, "", stuck=not self.keeping)
        return Outcome(Fate.FILED, line=Line(self._clock(), f"not taken in: {why}", shown(name), place))


def _what(captured: Captured) -> str:
    if captured.duplicate_of is not None:
        return f"already known as {captured.duplicate_of}"
    return "tried again" if captured.released else "taken in"
