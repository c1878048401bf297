"""Which names a vault may hold, and the only way from a relative path to a folder on disk. Never writes a note."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pipelines.durable import make_folders
from pipelines.model.errors import Away, Invalid, NotFound, Transient
from pipelines.model.unseen import replaced

COMPONENT_BYTES: Final = 143  # what encrypting file systems leave of the usual 255
SUFFIX: Final = ".md"
TEMPORARY_SUFFIX: Final = ".nx-tmp"

_NAME_BYTES: Final = 255
_DEPTH: Final = 32
_UNTITLED: Final = "Untitled"
_RESERVED: Final = re.compile(r"(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(COM|LPT)[0-9¹²³])(\..*)?", re.IGNORECASE)
# no Windows name holds the first group, no wiki link the second
_FORBIDDEN: Final = re.compile(r'[\\/:*?"<>|]|[#^\[\]]')
_NO_TEXT: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")  # control characters, undecodable bytes


def note_path(folder: str, title: str, taken: Callable[[str], bool]) -> str:
    """A path for a new note: the title as far as a file name can carry it, in NFC, and a number if it is ``taken``.

    Raises ``Invalid`` when ``folder`` is not a folder that notes may lie in. Nothing is created.
    """
    parent = "/".join(_components(folder)) if folder else ""
    stem = _stem(title)
    number = 1
    while True:
        ending = SUFFIX if number == 1 else f" {number}{SUFFIX}"
        name = _cut(stem, COMPONENT_BYTES - len(ending)) + ending
        path = f"{parent}/{name}" if parent else name
        if not taken(path):
            return path
        number += 1


def name_key(relative: str) -> str:
    """Equal for paths that some file system takes for the same: NFC and NFD, upper and lower case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", relative).casefold())


def name_taken(vault: Path, path: str) -> bool:
    """Whether the folder of ``path`` holds that name now, in any case or Unicode form; raises like ``open_folder``."""
    folder, _, name = path.rpartition("/")
    try:
        with open_folder(vault, folder) as fd:
            return any(name_key(other) == name_key(name) for other in names_in(fd))
    except NotFound:
        return False


def is_note(relative: str) -> bool:
    """Whether a file at this path is a note: Markdown, outside dot folders, with a name that is text."""
    parts = relative.split("/")
    hidden = any(not part or part.startswith(".") for part in parts)
    return not hidden and parts[-1].lower().endswith(SUFFIX) and not _NO_TEXT.search(relative) and len(parts) <= _DEPTH


def check_path(relative: str) -> None:
    """Raises ``Invalid`` unless narthex may create a note at this path. Looks at the text only."""
    *folders, name = _components(relative)
    if len(name.encode()) > COMPONENT_BYTES or not is_note("/".join([*folders, name])):
        raise Invalid(f"{relative[:80]!r} is not a path for a note", hint=f"It must end in {SUFFIX}.")


def inside(vault: Path, relative: str) -> Path:
    """Where ``relative`` lies on disk. A name that exists only in another Unicode form is found in that form.

    Raises ``Invalid`` when the path is absolute, goes up, names a dot folder or leads through a symbolic link.
    """
    path = vault
    for part in _parts(relative):
        path = path / existing_name(path, part)
        if path.is_symlink():
            raise Invalid(f"{relative[:80]!r} leads through a symbolic link", hint="narthex never follows one.")
    return path


def existing_name(folder: Path | int, name: str) -> str:
    """``name`` as the folder spells it: as it is, or else in another Unicode form; unchanged when there is none."""
    if name.isascii() or _exists(folder, name):
        return name
    key = unicodedata.normalize("NFC", name)
    try:
        return min((other for other in names_in(folder) if unicodedata.normalize("NFC", other) == key), default=name)
    except (FileNotFoundError, NotADirectoryError):
        return name


def names_in(folder: Path | int) -> list[str]:
    """The names in a folder, as they are spelled. Raises ``OSError``."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


@contextmanager
def open_folder(vault: Path, relative: str, *, create: bool = False) -> Iterator[int]:
    """An open descriptor of a folder of the vault ("" is the vault itself), reached without following any link.

    Raises ``Invalid`` for a path that leads outside, ``NotFound`` when the folder is missing and not to be created, and
    ``Transient`` when the vault itself is not there: an unmounted vault is not an empty one.
    """
    fd = _open_root(vault)
    try:
        walked = vault
        for part in _parts(relative) if relative else []:
            name = existing_name(fd, part)
            walked = walked / name
            if create:
                make_folders(walked, vault)
            below = open_below(fd, name, relative)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def _exists(folder: Path | int, name: str) -> bool:
    if isinstance(folder, Path):
        return os.path.lexists(folder / name)
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:  # a composed name may be longer than the one on disk
            raise
        return False
    return True


def _open_root(vault: Path) -> int:
    try:
        return os.open(vault, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise Away(f"the vault cannot be opened: {error.strerror}", hint="Is its disk there?") from error


def open_below(fd: int, name: str, relative: str) -> int:
    """The folder ``name`` of an open folder, opened; raises like ``open_folder``. ``relative`` is for messages."""
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    except FileNotFoundError as error:
        raise NotFound(f"the vault has no folder {relative[:80]!r}") from error
    except NotADirectoryError as error:  # also what O_NOFOLLOW and O_DIRECTORY answer for a symbolic link
        raise Invalid(f"{relative[:80]!r} leads through something that is no folder of the vault") from error
    except OSError as error:
        raise Transient(f"the folder {relative[:80]!r} cannot be opened: {error.strerror}") from error


def _parts(relative: str) -> list[str]:
    parts = relative.split("/")
    if len(parts) > _DEPTH or any(not _may_exist(part) for part in parts):
        raise Invalid(f"{relative[:80]!r} is not a path inside the vault")
    return parts


def _may_exist(part: str) -> bool:
    return bool(part) and not part.startswith(".") and not _NO_TEXT.search(part) and len(part.encode()) <= _NAME_BYTES


def _components(relative: str) -> list[str]:
    parts = _parts(relative)
    for part in parts:
        if part != part.strip(" .") or _FORBIDDEN.search(part) or _RESERVED.fullmatch(part) or _NO_TEXT.search(part):
            raise Invalid(f"{part[:80]!r} cannot be a name in the vault")
        if len(part.encode()) > COMPONENT_BYTES or part != unicodedata.normalize("NFC", part):
            raise Invalid(f"{part[:80]!r} is too long for a name, or not in composed form")
    return parts


def _stem(title: str) -> str:
    text = replaced(unicodedata.normalize("NFC", title), lambda letter: " " if _NO_TEXT.match(letter) else "")
    text = _FORBIDDEN.sub(" ", text)
    text = " ".join(text.split()).strip(" .-~")
    if text.lower().endswith(SUFFIX):
        text = text[: -len(SUFFIX)].rstrip(" .")
    text = unicodedata.normalize("NFC", text) or _UNTITLED
    reserved = _RESERVED.fullmatch(text)
    return f"{reserved[1]}_{reserved[3] or ''}" if reserved else text


def _cut(stem: str, room: int) -> str:
    encoded = stem.encode()
    if len(encoded) <= room:
        return stem
    mark = " " + hashlib.sha256(encoded).hexdigest()[:8]  # two long titles seldom differ at their beginning
    shorter = encoded[: room - len(mark)].decode(errors="ignore")
    while shorter and unicodedata.combining(stem[len(shorter)]):
        shorter = shorter[:-1]
    return shorter.rstrip(" .") + mark


def temporary_name(name: str) -> str:
    """The name beside ``name`` that its new bytes are written under; editors and sync programs ignore it."""
    return f".{_cut(name, COMPONENT_BYTES - 1 - len(TEMPORARY_SUFFIX))}{TEMPORARY_SUFFIX}"
