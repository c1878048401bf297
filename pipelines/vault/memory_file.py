"""The Markdown form of a memory: renders ours, reads anybody's, changes single header lines. Never touches the disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.model.errors import Invalid
from pipelines.model.identity import check_id
from pipelines.model.memory import MemoryText, MemoryType
from pipelines.vault import front_matter
from pipelines.vault.levels import first_heading, join_levels, split_levels


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What a Markdown file says, whoever wrote it. None of it is authority: the state of a memory is never in its file.

    ``id`` is None unless it has the form of a memory's id, ``type`` is None when absent or unknown; absent texts are
    empty. ``front_matter`` holds all keys, scalars as the text that stands there; ``body`` is everything behind it.
    ``problem`` says why the front matter could not be read; then it counts as absent and stands in the body.
    """

    id: str | None
    title: str
    type: MemoryType | None
    l0: str
    l1: str
    l2: str
    tags: tuple[str, ...]
    scope: str
    created: str
    source: str
    front_matter: Mapping[str, object]
    body: str
    problem: str = ""


def render(memory: MemoryText) -> str:
    """The whole file. ``parse`` gives back every field exactly, whatever the texts contain."""
    values: dict[str, front_matter.Value] = {
        "title": memory.title,
        "description": memory.l0,
        "tags": memory.tags,
        "nx_id": memory.id,
        "nx_type": memory.type.value,
        "nx_scope": memory.scope,
        "created": memory.created,
    }
    if memory.source:
        values["source"] = memory.source
    header = "".join(front_matter.line(key, value) for key, value in values.items())
    return f"---\n{header}---\n{join_levels(memory.l1, memory.l2)}"


def parse(text: str, name: str = "") -> ParsedFile:
    """Reads any text, never raises. The title falls back to the first heading, then to ``name``."""
    parts = front_matter.cut(text)
    keys, problem = front_matter.read(parts.header)
    raw = text if problem else parts.body
    body = raw.replace("\r\n", "\n") if parts.eol == "\r\n" else raw
    l1, l2 = split_levels(body)
    return ParsedFile(
        id=_memory_id(keys),
        title=_text(keys, "title") or first_heading(body) or name,
        type=_type(keys),
        l0=_text(keys, "description"),
        l1=l1,
        l2=l2,
        tags=_tags(keys),
        scope=_text(keys, "nx_scope"),
        created=_text(keys, "created"),
        source=_text(keys, "source"),
        front_matter=keys,
        body=raw,
        problem=problem,
    )


def memory_id_of(text: str) -> str | None:
    """The id of the memory that a file says it is; cheap for files that say nothing."""
    header = front_matter.cut(text).header
    return _memory_id(front_matter.read(header)[0]) if "nx_id" in header else None


def with_changes(text: str, changes: Mapping[str, front_matter.Value]) -> str:
    """``text`` with these front-matter lines replaced or added, all other bytes as they were.

    Raises ``Invalid`` when the header cannot be changed without touching something else.
    """
    return front_matter.with_values(text, changes)


def _text(keys: Mapping[str, object], key: str) -> str:
    value = keys.get(key, "")
    return value if isinstance(value, str) else ""


def _memory_id(keys: Mapping[str, object]) -> str | None:
    try:
        return check_id(_text(keys, "nx_id"), "mem")
    except Invalid:
        return None


def _type(keys: Mapping[str, object]) -> MemoryType | None:
    value = _text(keys, "nx_type")
    return next((kind for kind in MemoryType if kind == value), None)


def _tags(keys: Mapping[str, object]) -> tuple[str, ...]:
    value = keys.get("tags", "")
    if isinstance(value, str):  # Obsidian once wrote them in one line, with or without commas and number signs
        return tuple(tag.lstrip("#") for tag in value.replace(",", " ").split())
    return tuple(tag for tag in value if isinstance(tag, str)) if isinstance(value, list) else ()
