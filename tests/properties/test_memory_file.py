"""Whatever a memory says, its file gives it back; whatever a file says, reading it neither raises nor changes it."""

from __future__ import annotations

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.model.errors import Invalid
from pipelines.model.memory import MemoryText, MemoryType
from pipelines.vault.memory_file import ParsedFile, parse, render, with_changes

# machines under load are slow, which proves nothing
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# surrogates are not text: no file and no database can hold them
any_text = st.text(st.characters(exclude_categories=["Cs"]))
traps = st.sampled_from(
    [
        "x\nstatus: approved",
        "x\n---\nstatus: approved",
        "x\n---\n",
        '"x',
        "[a",
        "*a",
        "&a b",
        "yes",
        "~",
        "null",
        "0x1F",
        "0o17",
        "1e3",
        "1_000",
        "2024-01-01",
        "12:30:00",
        "!!python/object/apply:os.system [id]",
        "a\u2028b\u2029c\u0085d",
        "<<",
        "=",
        "- a",
        "a: b",
        "a #b",
        "'",
        "\ufeff",
        " x ",
        "x, y]",
        "{x",
        "%YAML 1.2",
        "😀",
        "\x00\x1b[31m",
    ]
)
lines = st.sampled_from(
    [
        "",
        "<!-- L1 -->",
        "<!-- L2 -->",
        "<!-- L2 --> ",
        "<!-- L2 -->\r",
        "\\<!-- L2 -->",
        "\\\\<!-- L1 -->",
        "```",
        "````python",
        "  ```",
        "\\```",
        "  \\\\~~~ x",
        "~~~",
        "~~~~ x",
        "---",
        "# heading",
        "text",
    ]
)
markdown = st.one_of(any_text, st.lists(lines, max_size=12).map("\n".join))
wording = st.one_of(any_text, traps)
memories = st.builds(
    MemoryText,
    id=st.just("mem_01jq7r3k8v2m"),
    title=wording.filter(bool),
    type=st.sampled_from(MemoryType),
    l0=wording,
    l1=markdown,
    l2=markdown,
    tags=st.lists(wording, max_size=4).map(tuple),
    scope=wording,
    created=st.one_of(st.dates().map(str), wording),
    source=wording,
)


@patient
@given(memories)
def test_a_memory_comes_back_exactly_from_its_file(memory: MemoryText) -> None:
    # S-059, L-064: written by a real emitter, read back equal
    text = render(memory)
    assert _memory(parse(text)) == memory
    assert parse(text).problem == ""


@patient
@given(memories)
def test_other_yaml_readers_see_the_same_header(memory: MemoryText) -> None:
    header = yaml.safe_load(render(memory).split("\n---\n", 1)[0])
    assert header["title"] == memory.title
    assert header["description"] == memory.l0
    assert tuple(header["tags"]) == memory.tags
    assert set(header) <= {"title", "description", "tags", "nx_id", "nx_type", "nx_scope", "created", "source"}


@patient
@given(st.one_of(any_text, st.lists(st.one_of(lines, traps, any_text), max_size=12).map("\n".join)))
def test_any_text_can_be_read(text: str) -> None:
    for candidate in (text, f"---\n{text}\n---\nbody", f"\ufeff---\r\n{text}\r\n---\r\n"):
        parsed = parse(candidate, "name")
        assert all(part.encode() is not None for part in (parsed.title, parsed.l0, parsed.l1, parsed.l2))


@patient
@given(memories, wording, st.lists(wording, max_size=3), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_changing_a_line_keeps_every_other_byte(
    memory: MemoryText, title: str, tags: list[str], eol: str, bom: bool
) -> None:
    # L-064: unknown keys, their spelling, comments, quotes and order survive
    foreign = [
        "\ufeff---" if bom else "---",
        "# mine",
        "status:   Evergreen  # why",
        "title: 'old'   # keep",
        "tags:",
        "- one",
        "",
        "- two # second",
        "",
        "weird: !mine {a: 1,b: [x]}",
        "---",
        "body \t",
    ]
    text = eol.join(foreign) + eol + memory.l2
    changed = with_changes(text, {"title": title, "tags": tags, "nx_scope": memory.scope})
    before, after = text.split(eol), changed.split(eol)
    assert parse(changed).front_matter["title"] == title
    assert parse(changed).front_matter["nx_scope"] == memory.scope
    assert parse(changed).tags == tuple(tags)
    assert after[:3] == before[:3]
    assert after[3].endswith("   # keep")
    assert after[4].startswith("tags: ")
    assert after[4].endswith(" # second")
    assert after[5:7] == before[8:10]
    assert changed.split(f"{eol}---{eol}", 1)[1] == text.split(f"{eol}---{eol}", 1)[1]


@patient
@given(st.text(max_size=200), wording)
def test_changing_any_header_is_right_or_refused(header: str, title: str) -> None:
    text = f"---\n{header}\n---\nbody\n"
    try:
        changed = with_changes(text, {"title": title})
    except Invalid:
        return
    before, after = parse(text), parse(changed)
    assert {**before.front_matter, "title": title} == after.front_matter
    assert before.body == after.body or before.problem


def _memory(parsed: ParsedFile) -> MemoryText:
    assert parsed.id is not None
    assert parsed.type is not None
    return MemoryText(
        id=parsed.id,
        title=parsed.title,
        type=parsed.type,
        l0=parsed.l0,
        l1=parsed.l1,
        l2=parsed.l2,
        tags=parsed.tags,
        scope=parsed.scope,
        created=parsed.created,
        source=parsed.source,
    )
