"""The header of a Markdown file: reads it within limits, writes single lines, never serializes a header anew."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import yaml

from pipelines.model.errors import Invalid

_HEADER: Final = re.compile(r"(\ufeff?)(---[ \t]*(\r?\n))(.*?)(^---[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE)
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NEEDS_ESCAPES: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
# other readers of YAML take 1e3 or 0o17 for numbers, which the one used here does not
_NUMBER_LIKE: Final = re.compile(r"[-+.0-9]")

_HEADER_CHARACTERS: Final = 64 * 1024
_DEPTH: Final = 8
_EVENTS: Final = 10_000

Value = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Parts:
    """A text cut in pieces that join to it again; the middle three are empty where there is no header."""

    bom: str
    opening: str
    header: str
    closing: str
    body: str
    eol: str


def cut(text: str) -> Parts:
    """Finds the header: between a first line ``---`` and the next line ``---``."""
    found = _HEADER.match(text)
    if found:
        bom, opening, eol, header, closing = found.groups()
        return Parts(bom, opening, header, closing, text[found.end() :], eol)
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    first_line = text.partition("\n")[0]
    return Parts(bom, "", "", "", text[len(bom) :], "\r\n" if first_line.endswith("\r") else "\n")


def read(header: str) -> tuple[Mapping[str, object], str]:
    """The keys, with every scalar as the text that stands there, and why they could not be read (then there are none).

    Never raises: a header may be anybody's. Anchors, more than 8 levels and more than 64 Ki characters are not read.
    """
    try:
        problem = _beyond_limits(header)
        if problem:
            return {}, problem
        found = yaml.load(header, yaml.BaseLoader)  # makes nothing but texts, lists and mappings
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        return {}, f"the front matter is not YAML: {str(error).splitlines()[0]}"
    if not found:
        return {}, ""
    if not isinstance(found, dict):
        return {}, "the front matter has no keys"
    return {str(key): value for key, value in found.items()}, ""


def line(key: str, value: Value, eol: str = "\n") -> str:
    """One line ``key: value`` that every YAML reader takes for exactly this text or list of texts."""
    if not _KEY.fullmatch(key):
        raise Invalid(f"{key!r} cannot be a front-matter key")
    return f"{key}: {_value(key, value)}{eol}"


def with_values(text: str, values: Mapping[str, Value]) -> str:
    """``text`` with these header lines replaced or added; every other byte stays, comments and spelling included.

    Raises ``Invalid`` when the header is not simple enough to be sure of that.
    """
    parts = cut(text)
    if not parts.opening:
        lines = "".join(line(key, value, parts.eol) for key, value in values.items())
        return f"{parts.bom}---{parts.eol}{lines}---{parts.eol}{parts.body}"
    before, problem = read(parts.header)
    header = parts.header if problem else _edited(parts, values)
    wanted = {key: value if isinstance(value, str) else list(value) for key, value in values.items()}
    if problem or read(header) != ({**before, **wanted}, ""):
        raise Invalid(problem or "the front matter is too unusual to be changed", hint="Simplify it by hand first.")
    return parts.bom + parts.opening + header + parts.closing + parts.body


def _beyond_limits(header: str) -> str:
    if len(header) > _HEADER_CHARACTERS:
        return "the front matter is too long"
    depth = 0
    for number, event in enumerate(yaml.parse(header, yaml.BaseLoader)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEPTH or number > _EVENTS:
            return "the front matter is nested too deeply or too long"
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            return "the front matter uses anchors"
        if isinstance(event, yaml.ScalarEvent):
            event.value.encode()  # half of a surrogate pair can be written in YAML and stored nowhere
    return ""


def _value(key: str, value: Value) -> str:
    if not isinstance(value, str):
        return "[" + ", ".join(_scalar(entry, inside_list=True) for entry in value) + "]"
    if key == "created" and _is_day(value):
        return value  # bare, so that editors offer a calendar
    return _scalar(value)


def _is_day(value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _scalar(value: str, *, inside_list: bool = False) -> str:
    style = '"' if _NEEDS_ESCAPES.search(value) else "'" if _NUMBER_LIKE.match(value) else None
    around: list[str] | dict[str, str] = [value] if inside_list else {"k": value}
    written: str = yaml.safe_dump(
        around, default_style=style, default_flow_style=inside_list, allow_unicode=True, width=sys.maxsize
    )
    return written[1:-2] if inside_list else written.partition(": ")[2][:-1]


def _edited(parts: Parts, values: Mapping[str, Value]) -> str:
    header = parts.header
    root = yaml.compose(header, yaml.BaseLoader)
    pairs: list[tuple[yaml.Node, yaml.Node]] = root.value if isinstance(root, yaml.MappingNode) else []
    present = {key.value for key, _ in pairs}
    for key, node in reversed(pairs):
        if isinstance(key.value, str) and key.value in values:
            start, end = _span(header, key, node)
            gap = " " if header[start - 1] == ":" else ""
            header = header[:start] + gap + _value(key.value, values[key.value]) + header[end:]
    return header + "".join(line(key, value, parts.eol) for key, value in values.items() if key not in present)


def _span(header: str, key: yaml.Node, node: yaml.Node) -> tuple[int, int]:
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        return header.index(":", key.end_mark.index) + 1, _end(header, node)
    return node.start_mark.index, _end(header, node)


def _end(header: str, node: yaml.Node) -> int:
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        last = node.value[-1]
        return _end(header, last[1] if isinstance(last, tuple) else last)
    start, end = node.start_mark.index, node.end_mark.index
    return start + len(header[start:end].rstrip())
