"""Fills L1 and L2 from a text: its own sentences verbatim, or its beginning; says where it was cut."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from pipelines.model.memory import L1_WORDS, L2_BYTES
from pipelines.model.records import Item
from pipelines.producers._first_line import is_sentence
from pipelines.producers._plain import plain_text
from pipelines.producers._sentences import Contents, Sentence

_CHARACTERS: Final = 6_000  # of L1: there are texts without a space
_CUT: Final = "\n\n*Cut here: the whole text is in the original of {item}.*\n"
_TICKS: Final = re.compile(r"`{3,}")
_SENTENCE: Final = 1_500
_FENCES: Final = 2  # they count as words
_NEAR: Final = 2  # characters between two sentences of one paragraph


@dataclass(frozen=True, slots=True)
class Summary:
    """L1, the stretches that it quotes, and whether they are the ``whole`` text: then there is no need for an L2."""

    text: str
    quotes: tuple[tuple[int, int], ...]
    whole: bool


def summary(markdown: str, found: Contents, item: Item, *, plain: bool) -> Summary:
    """A person's note, then all of a short text, else the sentences whose words the text repeats most."""
    note = " ".join(item.note.split()[:60])[:1_000]
    note = "" if not note or note in markdown[:_CHARACTERS] else note
    room = L1_WORDS - len(note.split()) - (_FENCES if plain else 0)
    whole = len(markdown) <= _CHARACTERS and len(markdown.split()) <= room
    if whole:
        chosen = [_trimmed(markdown, 0, len(markdown))]
    else:
        chosen = ([] if plain else _repeated(markdown, found, room)) or [_opening(markdown, room)]
    pieces = [markdown[start:end] for start, end in chosen]
    if plain:
        pieces = [_fenced(piece) for piece in pieces]
    quotes = tuple(bounds for bounds in chosen if bounds[0] < bounds[1])
    return Summary("\n\n".join(filter(None, [note, *pieces])), quotes, whole)


def detail(markdown: str, item_id: str, *, fenced: bool) -> str:
    """The text, cut before the last heading (else the last paragraph or line) that fits L2."""
    note = _CUT.format(item=item_id)
    if len(markdown) <= L2_BYTES and len(markdown.encode()) <= L2_BYTES - 20:
        return _fenced(markdown.strip()) if fenced else markdown.strip()
    head = markdown[:L2_BYTES].encode()[: L2_BYTES - len(note.encode()) - 20].decode("utf-8", "ignore")
    cut = next((at for mark in ("\n#", "\n\n", "\n") if (at := head.rfind(mark)) > len(head) // 2), len(head))
    kept = head[:cut].rstrip()
    return (_fenced(kept) if fenced else kept) + note.rstrip()


def _repeated(markdown: str, found: Contents, room: int) -> list[tuple[int, int]]:
    """The sentences with the most repeated words, in their order; neighbours become one stretch again."""
    bags = [(one, _content_words(markdown[one.start : min(one.end, one.start + _SENTENCE)])) for one in found.sentences]
    frequent = Counter(word for _, words in bags for word in words)
    ranked = sorted(enumerate(bags), key=lambda pair: (-_weight(pair[0], pair[1][1], frequent), pair[0]))
    taken: list[Sentence] = []
    letters = _CHARACTERS // 2
    for _, (one, _) in ranked:
        length = len(markdown[one.start : min(one.end, one.start + _SENTENCE)].split())
        if one.end - one.start > min(letters, _SENTENCE) or length > room:
            continue
        if is_sentence(plain_text(markdown[one.start : one.end])):
            taken.append(one)
            room, letters = room - length, letters - (one.end - one.start)
        if room < 4:
            break
    return _joined(sorted(taken, key=lambda one: one.start))


def _joined(taken: list[Sentence]) -> list[tuple[int, int]]:
    stretches: list[tuple[int, int]] = []
    block = -1
    for one in taken:
        if stretches and block == one.block and one.start - stretches[-1][1] <= _NEAR:
            stretches[-1] = (stretches[-1][0], one.end)
        else:
            stretches.append((one.start, one.end))
        block = one.block
    return stretches


def _weight(position: int, words: list[str], frequent: Counter[str]) -> float:
    # the mean, not the sum, so that length alone wins nothing; early sentences tell what a text is about
    return (sum(frequent[word] for word in words) / len(words) if words else 0.0) / (1 + position / 20)


def _content_words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3]


def _opening(markdown: str, room: int) -> tuple[int, int]:
    """The first lines that fit, as they stand, and of a first line that is longer as much as fits."""
    head = markdown[:_CHARACTERS]
    end, most = 0, room
    for line in head.splitlines(keepends=True):
        room -= len(line.split())
        if room < 0:
            break
        end += len(line)
    if not head[:end].strip():
        words = list(re.finditer(r"\S+", head))
        end = words[min(len(words), most) - 1].end() if words else 0
    return _trimmed(markdown, 0, end)


def _trimmed(markdown: str, start: int, end: int) -> tuple[int, int]:
    stretch = markdown[start:end]
    return start + len(stretch) - len(stretch.lstrip()), start + len(stretch.rstrip())


def _fenced(text: str) -> str:
    """As a block of code, so that a reader shows the text as it stands."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    if longest > 8:
        return text
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"
