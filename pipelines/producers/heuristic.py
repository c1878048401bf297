"""Proposes one memory from a text without any model: its own sentences, quoted, never reworded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from pipelines.model.memory import L0_CHARACTERS, L1_WORDS, L2_BYTES, TAGS, TITLE_CHARACTERS, MemoryType
from pipelines.model.records import Item
from pipelines.model.values import Completeness, Evidence, ItemKind, Normalized, Suggestion
from pipelines.producers import Producer
from pipelines.producers._sentences import Sentence, plain, sentences

_CUT: Final = "\n\n*Cut here: the whole text is in the original of {item}.*\n"
_TYPES: Final = (
    (MemoryType.DECISION, re.compile(r"\b(we|i) (have )?(decided|agreed|chose)\b", re.IGNORECASE)),
    (MemoryType.PREFERENCE, re.compile(r"\b(i|we) (always|never|prefer|like|dislike|hate)\b", re.IGNORECASE)),
    (MemoryType.EPISODE, re.compile(r"\b(today|yesterday|this morning|last night)\b", re.IGNORECASE)),
)
_WHOLE: Final = 0.6
_PARTLY: Final = 0.4  # a part may miss the point; nothing but the order of review depends on these two


def suggest(item: Item, text: Normalized, vocabulary: Sequence[str]) -> list[Suggestion]:
    """One memory of the text, or none when it has no words."""
    if text.words == 0:
        return []
    found = sentences(text.markdown)
    l0 = _first_line(found, text.title)
    l1 = _summary(text, found)
    short = _fits(text)
    payload: dict[str, object] = {
        "title": text.title[:TITLE_CHARACTERS],
        "type": _type_of(item, text.markdown),
        "l0": l0,
        "l1": l1,
        "l2": "" if short else _detail(text.markdown, item.id),
        "tags": _tags(item.tags, text.markdown, vocabulary),
        "source": item.url or (item.name if item.kind is ItemKind.FILE else ""),
    }
    return [
        Suggestion(
            action="create_memory",
            payload=payload,
            rationale=_rationale(item, text, short),
            confidence=_WHOLE if text.completeness is Completeness.COMPLETE else _PARTLY,
            evidence=_evidence(item.id, text.markdown, [l0, *l1.split("\n\n")]),
            flags=_flags(text, payload),
        )
    ]


def _first_line(found: list[Sentence], title: str) -> str:
    wanted = title.casefold().strip()
    for sentence in found:
        if 20 <= len(sentence.text) <= L0_CHARACTERS and sentence.text.casefold().strip(" .") != wanted:
            return sentence.text
    shortest = min((s.text for s in found), key=len, default=title)
    return shortest if len(shortest) <= L0_CHARACTERS else shortest[: L0_CHARACTERS - 1].rsplit(" ", 1)[0] + "…"


def _summary(text: Normalized, found: list[Sentence]) -> str:
    """All of a short text; of a long one the sentences whose words the text repeats most, in their order."""
    if _fits(text):
        return text.markdown.strip()
    frequent = Counter(word for s in found for word in _content_words(s.text))
    ranked = sorted(found, key=lambda s: (-_weight(s, frequent), s.start))
    chosen: list[Sentence] = []
    room = L1_WORDS
    for sentence in ranked:
        length = len(sentence.text.split())
        if 4 <= length <= room:
            chosen.append(sentence)
            room -= length
    return "\n\n".join(s.text for s in sorted(chosen, key=lambda s: s.start)) or _opening(text.markdown)


def _fits(text: Normalized) -> bool:
    return len(text.markdown.split()) <= L1_WORDS


def _opening(markdown: str) -> str:
    """The first lines that fit, as they stand: for a text without a sentence, such as a table."""
    end = room = 0
    for line in markdown.splitlines(keepends=True):
        room += len(line.split())
        if room > L1_WORDS:
            break
        end += len(line)
    return markdown[:end].strip()


def _weight(sentence: Sentence, frequent: Counter[str]) -> float:
    words = _content_words(sentence.text)
    # the mean, not the sum, so that length alone wins nothing; early sentences tell what a text is about
    return (sum(frequent[word] for word in words) / len(words) if words else 0.0) / (1 + sentence.position / 20)


def _content_words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3]


def _detail(markdown: str, item_id: str) -> str:
    """The text, cut before the last heading (else the last paragraph) that fits L2."""
    note = _CUT.format(item=item_id)
    if len(markdown.encode()) <= L2_BYTES:
        return markdown.strip()
    head = markdown.encode()[: L2_BYTES - len(note.encode())].decode("utf-8", "ignore")
    cut = max(head.rfind("\n#"), 0) or max(head.rfind("\n\n"), 0) or len(head)
    return head[:cut].rstrip() + note.rstrip()


def _type_of(item: Item, markdown: str) -> MemoryType:
    if item.kind is not ItemKind.TEXT:
        return MemoryType.SOURCE
    return next((kind for kind, pattern in _TYPES if pattern.search(markdown)), MemoryType.CONCEPT)


def _tags(given: Sequence[str], markdown: str, vocabulary: Sequence[str]) -> list[str]:
    words = set(re.findall(r"[\w-]+", markdown.casefold()))
    known = [tag for tag in vocabulary if tag.casefold() in words]
    return list(dict.fromkeys([*given, *known]))[:TAGS]


def _evidence(item_id: str, markdown: str, quotes: Sequence[str]) -> tuple[Evidence, ...]:
    located: list[Evidence] = []
    for quote in dict.fromkeys(q for q in quotes if q.strip()):
        start = markdown.find(quote)
        found = start >= 0
        located.append(Evidence(item_id, quote, max(start, 0), start + len(quote) if found else 0, inferred=not found))
    return tuple(located)


def _rationale(item: Item, text: Normalized, short: bool) -> str:
    what = "the whole text" if short else f"sentences of {text.words} words"
    return f"Quotes {what} captured as '{plain(item.name)}' by {item.channel}."


def _flags(text: Normalized, payload: dict[str, object]) -> tuple[str, ...]:
    flags = list(text.flags)
    if text.completeness is not Completeness.COMPLETE:
        flags.append(str(text.completeness))
    if "*Cut here:" in str(payload["l2"]):
        flags.append("cut")
    return tuple(dict.fromkeys(flags))


heuristic = Producer(version="1", suggest=suggest)
