"""What ``add`` takes in: tells text, link and file apart, and sends one of them to the daemon."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from api.cli._session import Usage
from api.client import Client, Json, JsonObject
from pipelines.model.errors import NotFound, Unreadable
from pipelines.model.values import ItemKind

_LINK: Final = re.compile(r"https?://[^\s/]+\S*", re.IGNORECASE)
_FILE_NAME: Final = re.compile(r"(?:~?/|\.\.?/)\S*|\S*[^\s.]\.(?=\w*[^\W\d_])[^\W_]{1,10}")
"""What can hardly be meant as text: a path, or a name with an extension of letters and digits (``3.14`` has none)."""
_NOT_TEXT: Final = b"\0"


@dataclass(frozen=True, slots=True)
class Labels:
    """What the person says about a capture; empty means not said."""

    title: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Capture:
    """One thing: ``words`` is the text or URL; ``file`` says where the bytes are, or ``content`` has them."""

    kind: ItemKind
    labels: Labels
    words: str = ""
    file: Path | None = None
    content: bytes = b""

    def __str__(self) -> str:
        return self.file_name if self.kind is ItemKind.FILE else self.words[:60]

    @property
    def file_name(self) -> str:
        """The name without its folder; what came from standard input has none of its own."""
        return _utf8(self.file.name) if self.file else self.labels.title or "stdin"

    def opened(self) -> BinaryIO:
        """The bytes of a file. Raises ``NotFound``, ``Unreadable`` for what is no regular file, and ``OSError``."""
        if self.file is None:
            import tempfile  # rarely needed, and slow to import

            spooled = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
            spooled.write(self.content)
            spooled.seek(0)
            return spooled
        # without O_NONBLOCK, opening a pipe waits for its writer
        descriptor = os.open(self.file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise Unreadable(f"{self.file} is no file", hint="Copy a folder into drop/; give a stream to narthex add -")
        return os.fdopen(descriptor, "rb")

    def fields(self) -> dict[str, Json]:
        """What travels beside the bytes, under the names of the API."""
        content = {ItemKind.TEXT: "text", ItemKind.LINK: "url", ItemKind.FILE: "name"}[self.kind]
        return {
            content: self.file_name if self.kind is ItemKind.FILE else self.words,
            "title": self.labels.title,
            "note": self.labels.note,
            "tags": list(self.labels.tags),
            "scope": self.labels.scope,
        }


def guessed(words: Sequence[str], labels: Labels) -> list[Capture]:
    """A capture for each word when every one is a file or a link, else one text made of all words.

    Raises ``NotFound`` when files are meant and one is not there: beside a file that is, or where every word looks
    like a file's name. ``Usage`` for nothing at all.
    """
    _require_something(words)
    missing = [word for word in words if not _LINK.fullmatch(word) and not _is_path(word)]
    if not missing:
        if labels.title and not all(map(_LINK.fullmatch, words)):
            raise Usage("a file keeps its own name: --title is for text and links", hint="narthex add --help")
        return [_named(word, labels) for word in words]
    if all(map(_FILE_NAME.fullmatch, missing)) or any(map(_is_file, words)):
        raise NotFound(
            f"no such file: {', '.join(missing)[:200]}; nothing was taken in",
            hint="Check the name, or say that it is text: narthex add --text …",
        )
    return [as_text(words, labels)]


def as_text(words: Sequence[str], labels: Labels) -> Capture:
    """One text made of all words, whatever they look like. Raises ``Usage`` for nothing at all."""
    _require_something(words)
    return Capture(ItemKind.TEXT, labels, _utf8(" ".join(words)))


def _require_something(words: Sequence[str]) -> None:
    if not any(word.strip() for word in words):
        raise Usage("say what to take in", hint='narthex add "a thought"   ·   narthex add FILE   ·   narthex add -')


def _named(word: str, labels: Labels) -> Capture:
    if _LINK.fullmatch(word):
        return Capture(ItemKind.LINK, labels, _utf8(word))
    return Capture(ItemKind.FILE, labels, file=Path(word))


def from_stream(content: bytes, labels: Labels) -> Capture:
    """Text when it is UTF-8 without NUL, else a file. Raises ``Usage`` when it is empty."""
    if not content.strip():
        raise Usage("standard input is empty", hint="narthex add -")
    if _NOT_TEXT not in content:
        try:
            return Capture(ItemKind.TEXT, labels, content.decode("utf-8"))
        except UnicodeDecodeError:
            pass
    return Capture(ItemKind.FILE, labels, content=content)


def send(client: Client, capture: Capture, key: str) -> JsonObject:
    """Gives it to the daemon; the item that the daemon answers is safe on its disk."""
    headers = {"Idempotency-Key": key}
    if capture.kind is not ItemKind.FILE:
        stated = {field: value for field, value in capture.fields().items() if value}
        return client.call("POST", "/v1/captures", {"kind": capture.kind.value, **stated}, headers=headers)
    labels = capture.labels
    fields = [("note", labels.note), *(("tags", tag) for tag in labels.tags), ("scope", labels.scope)]
    with capture.opened() as file:
        named = [(field, value) for field, value in fields if value]
        return client.send_file("/v1/captures/file", file, capture.file_name, named, headers)


def _utf8(word: str) -> str:
    """What the system handed over as bytes that are no UTF-8 gets replacement characters: JSON cannot carry them."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _is_path(word: str) -> bool:
    try:
        return "\0" not in word and Path(word).exists()
    except OSError:  # a text longer than any file name
        return False


def _is_file(word: str) -> bool:
    """A folder that has a word's name is a coincidence more often than not."""
    return _is_path(word) and not Path(word).is_dir()
