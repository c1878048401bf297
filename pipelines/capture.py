"""A text, link or file arrives: its bytes are made safe, then its row is written. Never reads what it captured."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import urlsplit

from sqlmodel import Session

from pipelines import originals
from pipelines.model.actor import Actor
from pipelines.model.errors import Conflict, Invalid, NotFound, NotPermitted, TooLarge, Transient, Unreadable
from pipelines.model.failpoint import reach
from pipelines.model.lifecycle import ITEM_MOVES, ItemState, QuarantineReason
from pipelines.model.records import Item
from pipelines.model.values import ItemKind, Original
from pipelines.premises import Premises
from pipelines.store import items
from pipelines.store.locks import one_at_a_time
from pipelines.store.moves import create_item, move_item, release_item

_SCHEMES: Final = frozenset({"http", "https"})
_NAME_CHARACTERS: Final = 200
_TAG_CHARACTERS: Final = 60
_URL_CHARACTERS: Final = 8192
_PASSING: Final = frozenset(
    {errno.EBUSY, errno.EACCES, errno.EPERM, errno.ESTALE, errno.EIO, errno.EAGAIN, errno.EMFILE}
)


@dataclass(frozen=True, slots=True)
class Captured:
    """``known``: this very capture was made before; ``released``: the bytes are a quarantined item's, tried again now.

    ``duplicate_of`` names the earlier item with the same bytes.
    """

    item: Item
    duplicate_of: str | None = None
    known: bool = False
    released: bool = False


@dataclass(frozen=True, slots=True)
class _Arrival:
    kind: ItemKind
    name: str
    note: str
    tags: tuple[str, ...]
    scope: str
    url: str | None = None
    source_key: str | None = None
    filed_as: str | None = None


def capture_text(
    p: Premises,
    text: str,
    actor: Actor,
    *,
    title: str = "",
    note: str = "",
    tags: Sequence[str] = (),
    scope: str | None = None,
    source_key: str | None = None,
) -> Captured:
    """Durable when it returns. Raises ``Invalid`` for an empty text, ``TooLarge`` past ``policy.max_text_bytes``."""
    if not text.strip():
        raise Invalid("the text is empty")
    content = _encoded(text)
    if len(content) > p.policy.max_text_bytes:
        raise TooLarge(f"a text may have {p.policy.max_text_bytes} bytes", hint="capture it as a file")
    first_line = text.strip().splitlines()[0].lstrip("# ")
    arrival = _arrival(p, ItemKind.TEXT, title or first_line, note, tags, scope, actor, source_key)
    return _take(p, io.BytesIO(content), arrival, actor)


def capture_link(
    p: Premises,
    url: str,
    actor: Actor,
    *,
    title: str = "",
    note: str = "",
    tags: Sequence[str] = (),
    scope: str | None = None,
    source_key: str | None = None,
) -> Captured:
    """Stores the address as given; nothing is fetched. Raises ``Invalid`` for anything but http and https."""
    address = url.strip()
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError as error:
        raise Invalid(f"that is not an address: {error}") from error
    odd = any(character.isspace() or unicodedata.category(character) == "Cc" for character in address)
    if parts.scheme not in _SCHEMES or not host or odd or len(address) > _URL_CHARACTERS:
        raise Invalid("a link is an http or https address", hint="capture other things as text or as a file")
    arrival = _arrival(p, ItemKind.LINK, title or address, note, tags, scope, actor, source_key, url=address)
    content = _encoded(f"{address}\n{arrival.name}\n{note.strip()}\n")
    return _take(p, io.BytesIO(content), arrival, actor)


def capture_file(
    p: Premises,
    path: Path,
    actor: Actor,
    *,
    name: str | None = None,
    note: str = "",
    tags: Sequence[str] = (),
    scope: str | None = None,
    source_key: str | None = None,
    filed_as: str | None = None,
) -> Captured:
    """Copies a regular file; the file itself stays where it is, and may leave once this returns.

    Never follows a link and never waits for a writer. Raises ``Unreadable`` for what is no regular file, ``Conflict``
    when it changed while it was copied, ``Transient`` when it cannot be opened now, ``TooLarge``, ``NotFound``.
    """
    shown = name if name is not None else os.fsencode(path.name).decode("utf-8", "replace")
    arrival = _arrival(p, ItemKind.FILE, shown, note, tags, scope, actor, source_key, filed_as=filed_as)
    with _open_regular(path) as file:
        before = os.fstat(file.fileno())
        if before.st_size > p.policy.max_original_bytes:
            raise TooLarge(f"the file has {before.st_size} bytes; {p.policy.max_original_bytes} are allowed")
        original = originals.keep(p.home.originals, file, p.policy.max_original_bytes)
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or original.size != after.st_size:
        raise Conflict("the file changed while it was read", hint="it is tried again when it is at rest")
    return _record(p, original, arrival, actor)


def note_filed(p: Premises, item_id: str, filed_as: str) -> None:
    """Records where the drop folder put the file of an item, relative to the drop folder."""
    p.database.write(lambda session: items.note_filed(session, item_id, filed_as))


def _open_regular(path: Path) -> BinaryIO:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path.name!r} any more") from error
    except OSError as error:
        if error.errno in _PASSING:
            raise Transient(f"the file cannot be opened now: {error.strerror}") from error
        raise Unreadable(f"the file cannot be opened: {error.strerror}", reason=QuarantineReason.UNSUPPORTED) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Unreadable("only regular files are captured", reason=QuarantineReason.UNSUPPORTED)
    return os.fdopen(fd, "rb")


def _take(p: Premises, source: BinaryIO, arrival: _Arrival, actor: Actor) -> Captured:
    original = originals.keep(p.home.originals, source, p.policy.max_original_bytes)
    return _record(p, original, arrival, actor)


def _record(p: Premises, original: Original, arrival: _Arrival, actor: Actor) -> Captured:
    """The shared tail: one transaction that finds the row, or makes it, or links it to the survivor."""
    captured = p.database.write(lambda session: _row(p, session, original, arrival, actor))
    reach("capture.committed")
    return captured


def _row(p: Premises, session: Session, original: Original, arrival: _Arrival, actor: Actor) -> Captured:
    one_at_a_time(session, f"capture {arrival.scope} {original.digest}")
    if arrival.source_key is not None:
        known = items.item_by_source(session, arrival.source_key)
        if known is not None and known.original_digest != original.digest:
            raise Invalid("this key was used for another capture", hint="make a new key for a new capture")
        if known is not None:
            return Captured(known, duplicate_of=known.duplicate_of, known=True)
    now = p.clock()
    survivor = items.survivor(session, arrival.scope, original.digest)
    if survivor is not None and survivor.state is ItemState.QUARANTINED and not _confined(actor):
        filed = {} if arrival.filed_as is None else {"filed_as": arrival.filed_as}
        release_item(session, survivor.id, actor, now, **filed)
        return Captured(items.item(session, survivor.id), released=True)
    item = Item(
        id=p.ids.new("itm"),
        kind=arrival.kind,
        state=ItemState.FETCHED,
        scope=arrival.scope,
        channel=actor.channel,
        actor_kind=actor.kind,
        actor_name=actor.name,
        captured_at=now,
        original_digest=original.digest,
        original_size=original.size,
        name=arrival.name,
        url=arrival.url,
        note=arrival.note,
        tags=list(arrival.tags),
        source_key=arrival.source_key,
        filed_as=arrival.filed_as,
        due=now if survivor is None else None,
    )
    create_item(session, item, actor, now)
    if survivor is None:
        return Captured(item)
    move_item(session, item.id, "duplicated", actor, now, reason=survivor.id, duplicate_of=survivor.id)
    return Captured(items.item(session, item.id), duplicate_of=survivor.id)


def _confined(actor: Actor) -> bool:
    # a token may add; only the owner and the daemon's own doors set a quarantined item going again
    return actor.kind not in ITEM_MOVES["released"].actors


def _arrival(
    p: Premises,
    kind: ItemKind,
    name: str,
    note: str,
    tags: Sequence[str],
    scope: str | None,
    actor: Actor,
    source_key: str | None,
    *,
    url: str | None = None,
    filed_as: str | None = None,
) -> _Arrival:
    chosen = scope or actor.scope or p.policy.default_scope
    if chosen not in p.policy.scopes:
        raise Invalid(f"there is no scope '{chosen[:40]}'", hint=f"declared scopes: {', '.join(p.policy.scopes)}")
    if actor.scope is not None and chosen != actor.scope:
        raise NotPermitted(f"this credential captures into '{actor.scope}' only")
    shown = _printable(unicodedata.normalize("NFC", name))[:_NAME_CHARACTERS] or "untitled"
    cleaned = tuple(dict.fromkeys(tag for tag in map(clean_tag, tags) if tag))
    return _Arrival(kind, shown, _encoded(note).decode(), cleaned, chosen, url, source_key, filed_as)


def clean_tag(tag: str) -> str:
    """A tag as Obsidian takes it: in NFC, letters of any script, digits, ``_ - /``, no digits alone; may be empty.

    Spaces become hyphens, other signs go.
    """
    spaced = "-".join(_printable(unicodedata.normalize("NFC", tag)).split())
    kept = "".join(one for one in spaced if one in "_-/" or unicodedata.category(one)[0] in "LM" or one.isdecimal())
    levels = [level.strip("-_") for level in re.sub("-{2,}", "-", kept).split("/")]
    cleaned = "/".join(filter(None, levels))[:_TAG_CHARACTERS].rstrip("-_/")
    return cleaned if any(unicodedata.category(one).startswith("L") for one in cleaned) else ""


def _printable(text: str) -> str:
    kept = (" " if unicodedata.category(c) in {"Cc", "Zl", "Zp"} else c for c in text if not "\ud800" <= c <= "\udfff")
    return " ".join("".join(kept).split())


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Invalid(f"the text holds half of a surrogate pair at character {error.start}") from error
