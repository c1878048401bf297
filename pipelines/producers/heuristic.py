"""Proposes one memory from a text without any model: its own sentences, quoted, never reworded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from pipelines.model.memory import L0_CHARACTERS, TAGS, TITLE_CHARACTERS, MemoryType
from pipelines.model.records import Item
from pipelines.model.values import Completeness, Evidence, ItemKind, Normalized, Suggestion
from pipelines.producers import Producer
from pipelines.producers._first_line import FirstLine, first_line
from pipelines.producers._kinds import PLAIN_TEXT, kind_of
from pipelines.producers._levels import detail, summary
from pipelines.producers._plain import shortened
from pipelines.producers._sentences import LOOKED_AT, Contents, contents

_TYPES: Final = (
    (MemoryType.DECISION, re.compile(r"\b(we|i) (have )?(decided|agreed|chose)\b", re.IGNORECASE)),
    (MemoryType.PREFERENCE, re.compile(r"\b(i|we) (always|never|prefer|like|dislike|hate)\b", re.IGNORECASE)),
    (MemoryType.EPISODE, re.compile(r"\b(today|yesterday|this morning|last night)\b", re.IGNORECASE)),
)
_ADDRESS: Final = re.compile(r"\[[^\n]{1,2000}\]\(<([^<>\n]{1,9000})>\)")
_WHOLE: Final = 0.6
_PARTLY: Final = 0.4  # a part may miss the point; nothing but the order of review depends on these two


def suggest(item: Item, text: Normalized, vocabulary: Sequence[str]) -> list[Suggestion]:
    """One memory of the text, or none when it has no words."""
    if text.words == 0:
        return []
    plain = PLAIN_TEXT in text.flags
    found = Contents() if plain else contents(text.markdown, item.media_type or "")
    l0 = _line(item, text, found)
    l1 = summary(text.markdown, found, item, plain=plain)
    l2 = "" if l1.whole else detail(text.markdown, item.id, fenced=plain)
    payload: dict[str, object] = {
        "title": text.title[:TITLE_CHARACTERS],
        "type": _type_of(item, text.markdown),
        "l0": l0.text,
        "l1": l1.text,
        "l2": l2,
        "tags": _tags(item.tags, text.markdown, vocabulary),
        "source": item.url or (item.name if item.kind is ItemKind.FILE else ""),
    }
    return [
        Suggestion(
            action="create_memory",
            payload=payload,
            rationale=_rationale(item, text, short=not l2),
            confidence=_WHOLE if text.completeness is Completeness.COMPLETE else _PARTLY,
            evidence=_evidence(item.id, text.markdown, l0, l1.quotes),
            flags=_flags(text, l2),
        )
    ]


def _line(item: Item, text: Normalized, found: Contents) -> FirstLine:
    """What stands for the whole: of a link its address, of a file that was not read its kind, else a sentence."""
    if PLAIN_TEXT in text.flags:
        lines = text.markdown.count("\n")
        counted = "1 line" if lines == 1 else f"{lines} lines"
        return FirstLine(f"{kind_of(item.media_type or '', item.name)}, {counted}")
    link = _ADDRESS.search(text.markdown[:LOOKED_AT]) if text.completeness is Completeness.LINK_ONLY else None
    if link is None:
        return first_line(text.markdown, found, text.title)
    host = (urlsplit(link.group(1)).hostname or "").removeprefix("www.")
    words = text.title.removeprefix(f"{host}: ")
    said = f"Link to {host}" if words == host else f"Link to {host}: {words}"
    return FirstLine(shortened(said, L0_CHARACTERS), link.start(), link.end())


def _type_of(item: Item, markdown: str) -> MemoryType:
    if item.kind is not ItemKind.TEXT:
        return MemoryType.SOURCE
    head = markdown[:LOOKED_AT]
    return next((kind for kind, pattern in _TYPES if pattern.search(head)), MemoryType.CONCEPT)


def _tags(given: Sequence[str], markdown: str, vocabulary: Sequence[str]) -> list[str]:
    words = set(re.findall(r"[\w-]+", markdown[:LOOKED_AT].casefold())) if vocabulary else set()
    known = [tag for tag in vocabulary if tag.casefold() in words]
    return list(dict.fromkeys([*given, *known]))[:TAGS]


def _evidence(item_id: str, markdown: str, l0: FirstLine, quotes: Sequence[tuple[int, int]]) -> tuple[Evidence, ...]:
    """L0's own stretch first, as Markdown has it; a line that was put together here is marked inferred."""
    located = [Evidence(item_id, markdown[start:end], start, end) for start, end in quotes]
    if l0.end:
        own = Evidence(item_id, markdown[l0.start : l0.end], l0.start, l0.end)
    else:
        own = Evidence(item_id, l0.text, 0, 0, inferred=True)
    return tuple(dict.fromkeys([own, *located]))


def _rationale(item: Item, text: Normalized, *, short: bool) -> str:
    what = "the whole text" if short else f"sentences of {text.words} words"
    if PLAIN_TEXT in text.flags:
        what = "plain text whose structure was not read"
    wrote = ", ".join(filter(None, (text.author[:80], text.published[:40])))
    by = f" ({wrote})" if wrote else ""
    return f"Quotes {what} captured as '{' '.join(item.name.split())[:80]}'{by} by {item.channel}."


def _flags(text: Normalized, l2: str) -> tuple[str, ...]:
    flags = list(text.flags)
    if text.completeness is not Completeness.COMPLETE:
        flags.append(str(text.completeness))
    if "*Cut here:" in l2:
        flags.append("cut")
    return tuple(dict.fromkeys(flags))


heuristic = Producer(version="2", suggest=suggest)
