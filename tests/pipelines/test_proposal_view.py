"""What is shown of a proposal: a true unified diff that tools can read, its source, and no line that is not there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines import vault_edits
from pipelines.premises import Premises
from pipelines.proposal_view import unified_diff
from pipelines.review import show
from tests.pipelines.line import drop, pending, settle, yes
from tests.pipelines.rows import OWNER


def test_an_absent_side_has_no_lines() -> None:
    twelve = "".join(f"line {number}\n" for number in range(12))
    new = list(unified_diff(None, twelve, "approved"))
    assert new[:3] == ["--- nothing", "+++ proposed", "@@ -0,0 +1,12 @@"]
    assert new[3:] == [f"+line {number}" for number in range(12)]
    gone = list(unified_diff(twelve, None, "approved"))
    assert gone[:3] == ["--- approved", "+++ nothing", "@@ -1,12 +0,0 @@"]
    assert gone[3:] == [f"-line {number}" for number in range(12)]
    assert list(unified_diff(twelve, twelve, "approved")) == []


def test_a_missing_line_end_is_a_change_that_is_seen() -> None:
    assert list(unified_diff("a\nb", "a\nb\n", "approved"))[2:] == [
        "@@ -1,2 +1,2 @@",
        " a",
        "-b",
        "\\ No newline at end of file",
        "+b",
    ]
    assert list(unified_diff("-- x", None, "approved"))[3:] == ["--- x", "\\ No newline at end of file"]


@given(st.text("ab\n\r\u2028-+@ ", max_size=30), st.text("ab\n\r\u2028-+@ ", max_size=30))
def test_the_new_text_can_be_made_from_the_old_and_the_diff(before: str, after: str) -> None:  # S-031
    lines = list(unified_diff(before, after, "approved"))[2:]
    if not lines:
        assert before == after
        return
    sides: dict[str, list[str]] = {"-": [], "+": []}
    last = ""
    for line in lines:
        if line.startswith("\\"):
            for sign in last:
                sides[sign][-1] = sides[sign][-1].removesuffix("\n")
        elif not line.startswith("@@"):
            last = {"-": "-", "+": "+", " ": "-+"}[line[0]]
            for sign in last:
                sides[sign].append(line[1:] + "\n")
    # within three lines of context everything of a text this short is shown, or is the same on both sides
    assert "".join(sides["+"]) in after
    assert "".join(sides["-"]) in before
    assert before.replace("".join(sides["-"]), "", 1) == after.replace("".join(sides["+"]), "", 1)


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch program is installed")
def test_other_tools_read_it(tmp_path: Path) -> None:
    before, after = "a\nb\nc\n", "a\nB\nc\nd"
    target, change = tmp_path / "note.md", tmp_path / "change.diff"
    target.write_text(before)
    change.write_text("\n".join(unified_diff(before, after, "approved")) + "\n")
    subprocess.run(["patch", "-s", str(target), str(change)], check=True)
    assert target.read_text() == after


def test_what_was_never_approved_is_not_called_so(premises: Premises) -> None:
    (premises.home.vault / "Note.md").write_text("# Note\n\nBy hand.\n")
    vault_edits.reconcile(premises)
    (row,) = pending(premises)
    adopting = show(premises, row.id, OWNER)
    assert adopting.source is None
    assert adopting.diff.startswith("--- in the vault now\n+++ proposed\n@@ ")
    yes(premises, row)
    # what was approved stays to be seen as it was shown
    assert show(premises, row.id, OWNER).diff == adopting.diff
    path = premises.home.vault / "Note.md"
    path.write_text(path.read_text() + "More.\n")
    vault_edits.reconcile(premises)
    (row,) = pending(premises)
    assert show(premises, row.id, OWNER).diff.startswith("--- approved\n+++ proposed\n")


def test_the_source_is_what_was_captured(premises: Premises) -> None:  # F-001
    item = drop(premises, "seeds.txt", "Seeds\n\nKeep cold.").item
    settle(premises)
    (row,) = pending(premises)
    source = show(premises, row.id, OWNER).source
    assert source is not None
    assert (source.item_id, source.name, source.url) == (item.id, "seeds.txt", None)
