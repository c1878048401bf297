"""The READMEs say what the code does: generated tables are up to date, and the two commands are where they belong."""

from __future__ import annotations

import pytest

from tests.house.docs import END, TABLES, Table, block_in, written
from tests.house.readme_commands import first_command
from tests.house.source_tree import ROOT


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_generated_table_is_up_to_date(table: Table) -> None:
    if not table.ready:
        pytest.skip(f"{table.source} or {table.readme} does not exist yet")
    block = block_in((ROOT / table.readme).read_text("utf-8"), table.name)
    assert block is not None, f"{table.readme} lacks {table.name}: python -m tests.house.docs --write"
    assert block[0] == table.render(), f"{table.readme} is stale: python -m tests.house.docs --write"


def test_writing_changes_the_block_alone() -> None:
    table = Table("x", "README.md", "X", "tests.house.docs", lambda: iter(["| new |"]))
    before = f"# Title\n\n<!-- generated: x -->\n| old |\n{END}\n\nby hand\n"
    after = written(before, table)
    assert after == f"# Title\n\n<!-- generated: x -->\n| new |\n{END}\n\nby hand\n"
    assert written(after, table) == after
    assert block_in(written("# Title\n", table), "x") is not None


def test_each_of_the_two_commands_is_the_first_block_of_its_section() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert first_command(readme, "Run").endswith(".venv/bin/narthexd")
    assert first_command(readme, "Test").endswith(".venv/bin/python -m pytest")
