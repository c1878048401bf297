"""Where a capture waits while no daemon runs: ``drop/.queue``. What is put there is complete and survives a power cut;
taking it out is the daemon's business."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

from api.cli._captures import Capture
from api.client import Json
from pipelines.model.errors import Conflict, NotFound
from pipelines.model.values import Home, ItemKind

_FOLDER_MODE: Final = 0o700
_CHUNK: Final = 1024 * 1024


def queue_folder(home: Home) -> Path:
    """A folder that the drop folder's watcher does not take for captures."""
    return home.drop / ".queue"


def waiting(home: Home) -> int:
    """How many captures wait for the daemon."""
    folder = queue_folder(home)
    return sum(1 for _ in folder.glob("[!.]*.json")) if folder.is_dir() else 0


def put(home: Home, capture: Capture, key: str, now: datetime) -> Path:
    """Writes the capture; on return it is durable, and before its last step the daemon does not see it.

    ``key`` makes the file name and becomes the item's source key, so that a second delivery is known. Raises
    ``NotFound`` when there is no such home, ``Conflict`` when the file changes while it is copied, and ``OSError``.
    """
    if not home.root.is_dir():
        raise NotFound(f"there is no narthex at {home.root}, and no daemon answers", hint="narthex init")
    folder = queue_folder(home)
    for path in (home.drop, folder):
        if not path.is_dir():
            path.mkdir(mode=_FOLDER_MODE)
            _fsync_folder(path.parent)
    if capture.kind is ItemKind.FILE:
        with capture.opened() as source:
            _place(folder / f"{key}.bytes", lambda file: _copy(source, file))
    note: dict[str, Json] = {"kind": capture.kind.value, **capture.fields(), "queued_at": now.isoformat(), "key": key}
    # the note makes it a capture: it comes last, when the bytes that it names are safe
    content = json.dumps(note).encode()
    _place(folder / f"{key}.json", lambda file: file.write(content))
    return folder / f"{key}.json"


def _place(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    with _removed_on_failure(temporary):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
        _fsync_folder(path.parent)


@contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    before = os.fstat(source.fileno())
    while chunk := source.read(_CHUNK):
        target.write(chunk)
    after = os.fstat(source.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise Conflict("the file changed while it was copied", hint="Add it again when nothing writes it any more.")


def _fsync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
