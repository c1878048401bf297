"""The Markdown form of a memory, on examples; the properties are in ``tests/properties``."""

from __future__ import annotations

import pytest

from pipelines.model.errors import Invalid
from pipelines.model.memory import MemoryText, MemoryType
from pipelines.vault.memory_file import memory_id_of, parse, render, with_changes

MEMORY = MemoryText(
    id="mem_01jq7r3k8v2m",
    title="Seeds: how cold?",
    type=MemoryType.CONCEPT,
    l0="Keep seeds at 4 °C.",
    l1="Seeds keep longest at 4 °C.",
    l2="## Detail\n\nMore.",
    tags=("garden", "seed bank"),
    scope="personal",
    created="2026-11-30",
    source="https://example.org/seeds",
)


def test_the_file_is_flat_and_in_a_fixed_order() -> None:
    assert render(MEMORY) == (
        "---\n"
        "title: 'Seeds: how cold?'\n"
        "description: Keep seeds at 4 °C.\n"
        "tags: [garden, seed bank]\n"
        "nx_id: mem_01jq7r3k8v2m\n"
        "nx_type: concept\n"
        "nx_scope: personal\n"
        "created: 2026-11-30\n"
        "source: https://example.org/seeds\n"
        "---\n"
        "\n"
        "Seeds keep longest at 4 °C.\n"
        "\n"
        "<!-- L2 -->\n"
        "\n"
        "## Detail\n\nMore.\n"
    )


@pytest.mark.parametrize(
    "title", ["CON", "a: b", "- x", "#t", "x.", '"q"', 'a/b: c? "d"', "!!python/object/apply:os.system [id]"]
)
def test_titles_that_broke_other_programs_come_back(title: str) -> None:
    # B-A05, S-059
    header = f"---\ntitle: {title}\n---\n" if title == "!!python/object/apply:os.system [id]" else ""
    assert parse(header).front_matter.get("title", ["id"]) == ["id"]  # foreign: a tag makes nothing
    memory = MemoryText("mem_01jq7r3k8v2m", title, MemoryType.SOURCE, "", "", "", (), "personal", "2026-11-30")
    assert parse(render(memory)).title == title


@pytest.mark.parametrize(
    ("body", "l1", "l2"),
    [
        ("all of it\n", "all of it", ""),
        ("before\n<!-- L2 -->\nbehind\n", "before", "behind"),
        ("<!-- L1 -->\nshort\n<!-- L2 -->\nlong\n", "short", "long"),
        ("# Title\n<!-- L1 -->\nshort\n<!-- L2 -->\nlong", "# Title\n\nshort", "long"),
        ("<!-- L2 -->\nlong\n<!-- L1 -->\nshort\n", "short", "long"),
        ("a\n<!-- L2 -->\nb\n<!-- L2 -->\nc\n", "a", "b\n\nc"),
        ("```\n<!-- L2 -->\n```\nall\n", "```\n<!-- L2 -->\n```\nall", ""),
        ("~~~~ x\n~~~\n<!-- L2 -->\n", "~~~~ x\n~~~\n<!-- L2 -->", ""),
        ("a <!-- L2 --> b\n  <!-- L2 -->\n", "a <!-- L2 --> b\n  <!-- L2 -->", ""),
        ("", "", ""),
    ],
)
def test_levels_are_told_apart_by_lines_of_their_own(body: str, l1: str, l2: str) -> None:
    for text in (
        body,
        f"---\nnx_scope: home\n---\n{body}",
        f"---\r\nnx_scope: home\r\n---\r\n{body}".replace("\n", "\r\n"),
    ):
        parsed = parse(text.replace("\r\r", "\r"))
        assert (parsed.l1, parsed.l2) == (l1, l2)


def test_a_code_block_cut_in_half_does_not_swallow_the_detail() -> None:
    memory = MemoryText(
        "mem_01jq7r3k8v2m", "t", MemoryType.SOURCE, "", "```sh\nls", "```\nx", (), "personal", "2026-11-30"
    )
    text = render(memory)
    assert "\n\\```sh\n" in text
    assert (parse(text).l1, parse(text).l2) == (memory.l1, memory.l2)


def test_a_foreign_file_has_a_title_all_the_same() -> None:
    assert parse("```\n# no\n```\n## Yes ##\ntext").title == "Yes"
    assert parse("text", "A name").title == "A name"
    assert parse("---\ntitle: 007\ndescription: yes\ncreated: 2024-01-01\ntags: '#a, b'\n---\n").title == "007"
    assert parse("---\ntags: '#a, b'\n---\n").tags == ("a", "b")
    assert parse("---\nnx_type: Evergreen\n---\n").type is None


@pytest.mark.parametrize(
    "header",
    [
        "[" * 2000,
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
        "a: " + "x" * 70_000,
        "\n".join(f"k{number}: v" for number in range(6_000)),
        "a: \x00",
        'a: "\\uD800"',
        'a: "\\UFFFFFFFF"',
        "just text",
        "- a\n- b",
        "a: [",
        "{" * 3000,
    ],
)
def test_a_hostile_header_is_flagged_and_kept_as_text(header: str) -> None:
    # S-059: limits on depth, aliases and size
    parsed = parse(f"---\n{header}\n---\nbody\n")
    assert parsed.problem
    assert parsed.front_matter == {}
    assert header in parsed.body
    with pytest.raises(Invalid):
        with_changes(f"---\n{header}\n---\nbody\n", {"title": "x"})


def test_an_id_counts_only_in_its_strict_form() -> None:
    # L-139
    assert memory_id_of(render(MEMORY)) == MEMORY.id
    for text in ("", "nx_id: mem_01jq7r3k8v2m", "---\nnx_id: ../../etc\n---\n", "---\nnx_id: itm_01jq7r3k8v2m\n---\n"):
        assert memory_id_of(text) is None


def test_a_header_is_made_where_there_was_none() -> None:
    assert with_changes("\ufeffbody\r\n", {"nx_id": "x"}) == "\ufeff---\r\nnx_id: x\r\n---\r\nbody\r\n"


@pytest.mark.parametrize(
    ("header", "changed"),
    [
        ("title: |\n  two\n  lines\n# c\nb: 1\n", "title: new\n# c\nb: 1\n"),
        ("title:\nb: 1\n", "title: new\nb: 1\n"),
        ("title:\n  folded\n  over\nb: 1\n", "title:\n  new\nb: 1\n"),
        ('"title": x # c\n', '"title": new # c\n'),
        ("title: [a,\n  b] # c\n", "title: new # c\n"),
        ("title:\n  - a\n  -\nb: 1\n", "title: new\nb: 1\n"),
        ("b: 1\n", "b: 1\ntitle: new\n"),
        ("", "title: new\n"),
        ("subtitle: x\n", "subtitle: x\ntitle: new\n"),
    ],
)
def test_only_the_value_changes(header: str, changed: str) -> None:
    assert with_changes(f"---\n{header}---\nx", {"title": "new"}) == f"---\n{changed}---\nx"
