"""Names in the drop folder: which are not for us, what a person is shown, what a twin is called. Touches no disk.

A name on disk is bytes. It is moved with its own bytes; only what people and the database see is made clean text.
"""

from __future__ import annotations

import fnmatch
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from pipelines.model.unseen import replaced

DONE: Final = "_done"
DUPLICATES: Final = "_duplicates"
FAILED: Final = "_failed"
NEEDS_HELP: Final = "_needs-help"
STATUS: Final = "STATUS.md"
QUEUE: Final = ".queue"
OUR_FOLDERS: Final = (DONE, DUPLICATES, FAILED, NEEDS_HELP)
NAME_BYTES: Final = 255

BUILT_IN: Final = (
    ".*", "~$*", "*.part", "*.partial", "*.crdownload", "*.download", "*.tmp", "*.nx-tmp", "#*#", "*~",
    "*.sync-conflict-*", "desktop.ini", "Thumbs.db",
)  # fmt: skip
"""Unfinished downloads, editors' and synchronisers' own files. ``.*`` also hides .queue, which is drained apart."""


class IgnoreList:
    """Which names are none of our business: the built-in globs, and those of the setting ``drop_ignore``.

    A glob is compared with each part of a path alone, whole, whatever the case: it hides a file, or a folder with all
    that is in it. The command ``narthex drop ignore-test`` compares in the same way.
    """

    def __init__(self, own: Sequence[str] = ()) -> None:
        globs = [fnmatch.translate(pattern) for pattern in (*BUILT_IN, *own)]
        self._pattern = re.compile("|".join(globs), re.IGNORECASE)

    def hides(self, parts: Sequence[str]) -> bool:
        """Of a path relative to the drop folder; our own folders and page are hidden as well."""
        return parts[0] in OUR_FOLDERS or tuple(parts) == (STATUS,) or any(map(self._pattern.match, parts))


def shown(name: str) -> str:
    """The name for people and the database: NFC, valid Unicode, one line; what cannot be shown becomes U+FFFD."""
    text = os.fsencode(name).decode("utf-8", "replace")
    # what reorders or hides text goes too: a name must not be able to look like another one
    one_line = text.replace("\n", "�").replace("\t", "�")
    return unicodedata.normalize("NFC", replaced(one_line, lambda character: "�"))


def stored(relative: str) -> str:
    """The path for the database: its own characters where they are UTF-8, else with ``\\xNN`` for the odd bytes."""
    return os.fsencode(relative).decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Labels:
    """What the folders above a dropped file say about it."""

    scope: str | None
    tags: tuple[str, ...]


def labels(parts: Sequence[str], scopes: Sequence[str]) -> Labels:
    """From the folders between the drop folder and the file: the first is a scope if declared, all others are tags."""
    folders = [shown(part) for part in parts]
    if folders and folders[0] in scopes:
        return Labels(folders[0], _tags(folders[1:]))
    return Labels(None, _tags(folders))


def _tags(folders: Sequence[str]) -> tuple[str, ...]:
    tags = (re.sub(r"[^\w/-]+", "-", folder.casefold()).strip("-")[:60] for folder in folders)
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def twins(name: str) -> Iterator[str]:
    """``name``, then ``name-2``, ``name-3``… before the extension; each at most 255 bytes, for ever."""
    yield fitting(name, "")
    number = 2
    while True:
        yield fitting(name, f"-{number}")
        number += 1


def fitting(name: str, suffix: str, extension: str | None = None) -> str:
    """``name`` with ``suffix`` before its extension (or with ``extension`` behind all of it), cut to fit 255 bytes.

    Where something is cut off, eight characters of the whole name's digest stand in for it.
    """
    raw = os.fsencode(name)
    stem, dot, last = raw.rpartition(b".")
    ending = dot + last
    if extension is not None:
        stem, ending = raw, extension.encode()
    elif not stem or len(ending) > 40:
        stem, ending = raw, b""
    tail = suffix.encode() + ending
    if len(stem) + len(tail) > NAME_BYTES:
        mark = b"~" + sha256(raw).hexdigest()[:8].encode()
        stem = _cut(stem, NAME_BYTES - len(tail) - len(mark)) + mark
    return os.fsdecode(stem + tail)


def _cut(raw: bytes, length: int) -> bytes:
    """At most ``length`` bytes, not in the middle of a UTF-8 character."""
    while length > 0 and raw[length : length + 1] and raw[length] & 0xC0 == 0x80:
        length -= 1
    return raw[:length]
