"""Captures that the command line left in ``drop/.queue`` while no daemon ran: each is taken in once, none is lost."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal, Protocol, Union

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from api.idempotency import local_key
from daemon.drop.filing import WHY, FilingCabinet, Note
from daemon.drop.names import QUEUE, shown
from daemon.drop.probe import folder_below
from pipelines.capture import Captured
from pipelines.durable import fsync_folder
from pipelines.model.actor import Actor, ActorKind, Channel
from pipelines.model.errors import Conflict, Invalid, NotFound, Refused, Transient, Unreadable
from pipelines.model.policy import Policy

ACTOR: Final = Actor(ActorKind.CLIENT, "narthex add", Channel.CLI)
BAD: Final = f"{QUEUE}/bad"
_ENTRY: Final = ".json"
_BYTES: Final = ".bytes"
_SLACK: Final = 1024 * 1024  # what an entry may have besides its text


class _Queued(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str = Field(pattern=r"^[A-Za-z0-9_-]{1,80}$")
    queued_at: str | None = None
    title: str | None = None
    note: str | None = None
    tags: tuple[str, ...] = ()
    scope: str | None = None


class QueuedText(_Queued):
    """``narthex add TEXT``."""

    kind: Literal["text"]
    text: str


class QueuedLink(_Queued):
    """``narthex add URL``."""

    kind: Literal["link"]
    url: str


class QueuedFile(_Queued):
    """``narthex add FILE``: its bytes lie beside the entry as ``key.bytes``."""

    kind: Literal["file"]
    name: str


Queued = Annotated[Union[QueuedText, QueuedLink, QueuedFile], Field(discriminator="kind")]  # noqa: UP007
_ENTRY_SHAPE: Final[TypeAdapter[QueuedText | QueuedLink | QueuedFile]] = TypeAdapter(Queued)


class CaptureQueued(Protocol):
    """Captures one entry under the source key; ``bytes_at`` is where a file's bytes lie."""

    def __call__(
        self, entry: QueuedText | QueuedLink | QueuedFile, source_key: str, bytes_at: Path, actor: Actor
    ) -> Captured: ...


@dataclass(slots=True)
class Drained:
    """What one pass did: entries taken in, entries set aside, and why the rest waits."""

    taken: int = 0
    bad: int = 0
    waiting: dict[str, str] = field(default_factory=dict)


class LocalQueue:
    """Drains the folder. One thread owns it: the drop folder's."""

    def __init__(self, root: Path, cabinet: FilingCabinet, capture: CaptureQueued, policy: Policy) -> None:
        self._root = root
        self._folder = root / QUEUE
        self._cabinet = cabinet
        self._capture = capture
        self._most = policy.max_text_bytes * 6 + _SLACK  # JSON may spell one byte with six

    def drain(self) -> Drained:
        """Takes in what lies there, oldest name first. An entry leaves only when its capture is durable."""
        drained = Drained()
        for name in self._entries():
            try:
                self._take(name)
                drained.taken += 1
            except (Conflict, Transient) as error:
                drained.waiting[name] = error.message
            except (Refused, Unreadable) as error:
                self._set_aside(name, error.message)
                drained.bad += 1
        return drained

    def _entries(self) -> list[str]:
        try:
            names = [path.name for path in self._folder.iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in names if name.endswith(_ENTRY) and not name.startswith("."))

    def _take(self, name: str) -> None:
        entry = self._read(name)
        bytes_at = self._folder / (entry.key + _BYTES)
        try:
            self._capture(entry, local_key(entry.key), bytes_at, ACTOR)
        except NotFound as error:
            raise Invalid("the bytes of this queued file are missing") from error
        for done in (self._folder / name, bytes_at):
            with suppress(FileNotFoundError):
                done.unlink()
        fsync_folder(self._folder)

    def _read(self, name: str) -> QueuedText | QueuedLink | QueuedFile:
        content = _read_regular(self._folder / name, self._most)
        try:
            entry = _ENTRY_SHAPE.validate_json(content)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            raise Invalid(f"{'.'.join(map(str, first['loc'])) or 'the entry'}: {first['msg']}") from error
        if entry.key + _ENTRY != name:
            raise Invalid("its key is not its name")
        return entry

    def _set_aside(self, name: str, why: str) -> None:
        """Moves an entry that can never be taken in, and its bytes, to ``.queue/bad`` with a note."""
        note = Note(WHY, f"{shown(why)}\nThis queued capture was not taken in. Its content is beside this note.")
        with folder_below(self._root, (QUEUE,)) as folder:
            self._cabinet.file_away(folder, name, BAD, note)
            with suppress(FileNotFoundError):
                self._cabinet.file_away(folder, name.removesuffix(_ENTRY) + _BYTES, BAD)


def _read_regular(path: Path, most: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise Conflict("the entry is gone") from error
    except OSError as error:
        raise Transient(f"the entry cannot be opened: {error.strerror}") from error
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise Invalid("the entry is not a file")
        if status.st_size > most:
            raise Invalid(f"the entry is larger than {most} bytes")
        return file.read(most + 1)
