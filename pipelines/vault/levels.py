"""L1 and L2 in one Markdown body, told apart by marker lines; knows fenced code, nothing else of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_MARKER: Final = re.compile(r"<!-- L([12]) -->[ \t]*\r?")
_ESCAPED_MARKER: Final = re.compile(r"\\+<!-- L[12] -->[ \t]*\r?")
_FENCE: Final = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)")
_ESCAPED_FENCE: Final = re.compile(r" {0,3}\\+(?:`{3,}[^`]*|~{3,}.*)")
_CLOSING: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*\r?")


def join_levels(l1: str, l2: str) -> str:
    """The body of a file. ``split_levels`` gives back exactly these two texts, whatever they are.

    A line of theirs that reads as a marker gets a backslash, which Markdown does not show. So does, in an L1 with an L2
    behind it, the first line of a code block that is never closed: it would swallow the marker.
    """
    if not l2:
        return f"\n{_escaped(l1, followed=False)}\n"
    return f"\n{_escaped(l1, followed=True)}\n\n<!-- L2 -->\n\n{_escaped(l2, followed=False)}\n"


def split_levels(body: str) -> tuple[str, str]:
    """``(l1, l2)`` of any Markdown: no marker means all is L1, what stands before the first marker is L1."""
    sections: dict[str, list[str]] = {"1": [], "2": []}
    level, start = "1", 0
    lines = body.split("\n")
    for number, line in _outside_code(lines):
        if marker := _MARKER.fullmatch(line):
            sections[level].append(_unescaped(lines[start:number], followed=True))
            level, start = marker[1], number + 1
    sections[level].append(_unescaped(lines[start:], followed=False))
    return _together(sections["1"]), _together(sections["2"])


def first_heading(body: str) -> str:
    """The text of the first ``#`` heading outside code, or nothing."""
    for _, line in _outside_code(body.split("\n")):
        if found := re.match(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\r?$", line):
            return found[1]
    return ""


def _together(sections: list[str]) -> str:
    if len(sections) == 1:
        return sections[0]
    return "\n\n".join(section for section in sections if section.strip())


def _escaped(text: str, *, followed: bool) -> str:
    lines = text.split("\n")
    endings = _Endings(lines)
    number = 0
    while number < len(lines):
        line = lines[number]
        end = endings.of(number) if _FENCE.fullmatch(line) else number
        if end is None and not followed:
            break  # code up to the end of the file, where nothing follows that it could swallow
        if end is None or (end == number and _reads_as_ours(line, followed=followed)):
            indent = len(line) - len(line.lstrip(" "))
            lines[number] = f"{line[:indent]}\\{line[indent:]}"
        number = (number if end is None else end) + 1
    return "\n".join(lines)


def _unescaped(lines: list[str], *, followed: bool) -> str:
    kept = lines[1:] if lines and not lines[0] else lines[:]
    if kept and not kept[-1]:
        kept.pop()
    for number, line in _outside_code(kept):
        if _ESCAPED_MARKER.fullmatch(line) or (followed and _ESCAPED_FENCE.fullmatch(line)):
            kept[number] = line.replace("\\", "", 1)
    return "\n".join(kept)


def _reads_as_ours(line: str, *, followed: bool) -> bool:
    if _MARKER.fullmatch(line) or _ESCAPED_MARKER.fullmatch(line):
        return True
    return followed and _ESCAPED_FENCE.fullmatch(line) is not None


def _outside_code(lines: list[str]) -> Iterator[tuple[int, str]]:
    endings = _Endings(lines)
    number = 0
    while number < len(lines):
        if _FENCE.fullmatch(lines[number]):
            end = endings.of(number)
            if end is None:
                return
            number = end + 1
            continue
        yield number, lines[number]
        number += 1


class _Endings:
    """Finds the lines that close code blocks, in linear time however many blocks are left open."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._hopeless = {"`": len(lines) + 1_000_000, "~": len(lines) + 1_000_000}

    def of(self, opening: int) -> int | None:
        """The line that closes the fence at ``opening``; call it with rising numbers."""
        fence = _FENCE.fullmatch(self._lines[opening])
        marks = (fence[1] or fence[2]) if fence else ""
        if len(marks) >= self._hopeless[marks[0]]:
            return None
        for number in range(opening + 1, len(self._lines)):
            closing = _CLOSING.fullmatch(self._lines[number])
            if closing and closing[1].startswith(marks):
                return number
        self._hopeless[marks[0]] = len(marks)
        return None
