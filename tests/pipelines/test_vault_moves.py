"""Notes that others move, swap, copy and put into the vault: followed, or waiting to be adopted. F-046, L-131"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines.model.errors import RevisionMoved
from pipelines.premises import Premises
from pipelines.search import search
from pipelines.vault_edits import VaultReport, reconcile
from tests.pipelines.line import a_memory, current, file_of, pending, yes
from tests.pipelines.rows import OWNER

NOTHING = VaultReport()


def words(premises: Premises, query: str) -> list[str]:
    """Memory ids that a search finds."""
    return [hit.memory_id for hit in search(premises, query, OWNER).hits]


@pytest.mark.parametrize("target", ["Notes/Cold seeds.md", "Garden/Seeds.md", "Seeds.md", "Notes/Samen é 種.md"])
def test_a_rename_or_move_is_followed(premises: Premises, target: str) -> None:
    memory = a_memory(premises)
    place = premises.home.vault / target
    place.parent.mkdir(exist_ok=True)
    file_of(premises, memory.id).rename(place)
    assert reconcile(premises).moved == [memory.id]
    assert current(premises, memory.id)[0].path == target
    assert pending(premises) == []
    assert [(hit.memory_id, hit.path) for hit in search(premises, "seeds", OWNER).hits] == [(memory.id, target)]
    assert reconcile(premises) == NOTHING


def test_a_move_with_an_edit_is_followed_and_proposed(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    target = premises.home.vault / "Elsewhere.md"
    place.rename(target)
    target.write_text(target.read_text() + "And kiwifruit.\n")
    report = reconcile(premises)
    assert (report.moved, report.edited, report.missing) == ([memory.id], [memory.id], [])
    yes(premises, pending(premises)[0])
    assert file_of(premises, memory.id) == target


def test_a_move_after_the_edit_was_proposed_shows_it_anew(premises: Premises) -> None:  # F-032
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    place.write_text(place.read_text() + "And kiwifruit.\n")
    reconcile(premises)
    before = pending(premises)[0]
    place.rename(place.with_name("Cold.md"))
    reconcile(premises)
    after = pending(premises)[0]
    assert (after.id, after.revision, after.path) == (before.id, 2, "Notes/Cold.md")
    with pytest.raises(RevisionMoved):
        yes(premises, before)
    yes(premises, after)
    assert words(premises, "kiwifruit") == [memory.id]


def test_a_copy_is_a_new_unreviewed_file(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    copy = place.with_name("Seeds copy.md")
    shutil.copy(place, copy)
    report = reconcile(premises)
    assert report.unreviewed == ["Notes/Seeds copy.md"]
    assert (report.moved, report.missing) == ([], [])
    row = pending(premises)[0]
    assert (row.action, row.path) == ("adopt_note", "Notes/Seeds copy.md")
    assert row.memory_id != memory.id
    assert words(premises, "seeds") == [memory.id]
    yes(premises, row)
    assert f"nx_id: {row.memory_id}" in copy.read_text()
    assert f"nx_id: {memory.id}" in place.read_text()
    assert reconcile(premises) == NOTHING


def test_adopting_a_foreign_note_changes_nothing_but_the_id_line(premises: Premises) -> None:  # L-064
    place = premises.home.vault / "Old note.md"
    foreign = b"\xef\xbb\xbf---\r\ncustom: [a, b]  # mine\r\n---\r\nBody *text*"
    place.write_bytes(foreign)
    reconcile(premises)
    row = pending(premises)[0]
    assert place.read_bytes() == foreign
    yes(premises, row)
    added = f"nx_id: {row.memory_id}\r\n".encode()
    assert place.read_bytes().replace(added, b"") == foreign
    assert words(premises, "body") == [row.memory_id]


def test_a_flood_of_foreign_notes_waits_its_turn(premises: Premises) -> None:  # L-130
    for number in range(50):
        (premises.home.vault / f"n{number}.md").write_text(f"note {number}")
    report = reconcile(premises)
    assert len(report.unreviewed) == 50
    assert len(pending(premises)) == premises.policy.pending_per_producer


def test_two_notes_that_change_places_are_followed(premises: Premises) -> None:
    first = a_memory(premises, "Seeds keep at 4 C.", title="Seeds")
    second = a_memory(premises, "Moss wants shade.", title="Moss")
    here, there = file_of(premises, first.id), file_of(premises, second.id)
    aside = here.with_name("aside.txt")
    here.rename(aside)
    there.rename(here)
    aside.rename(there)
    assert sorted(reconcile(premises).moved) == sorted([first.id, second.id])
    assert (file_of(premises, first.id), file_of(premises, second.id)) == (there, here)
    assert pending(premises) == []
    assert reconcile(premises) == NOTHING


def test_a_copy_of_an_edited_note_stays_a_copy(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    copy = place.with_name("Seeds copy.md")
    shutil.copy(place, copy)
    place.write_text(place.read_text() + "And kiwifruit.\n")
    report = reconcile(premises)
    assert (report.edited, report.unreviewed, report.moved) == ([memory.id], ["Notes/Seeds copy.md"], [])


def test_a_note_at_the_path_of_a_retracted_memory_is_seen(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    place.unlink()
    reconcile(premises)
    yes(premises, pending(premises)[0])
    place.write_text("Something new about lichen.\n")
    assert reconcile(premises).unreviewed == [memory.path]
    yes(premises, pending(premises)[0])
    assert len(words(premises, "lichen")) == 1


def test_one_note_is_proposed_once_however_often_it_is_saved(premises: Premises) -> None:
    note = premises.home.vault / "draft.md"
    for number in range(5):
        note.write_text(f"Draft {number}.\n")
        reconcile(premises)
    assert [row.path for row in pending(premises)] == ["draft.md"]
    assert "Draft 4" in str(pending(premises)[0].payload["content"])
    note.unlink()
    reconcile(premises)
    assert pending(premises) == []


def test_names_that_only_just_exist_and_links_stop_nothing(premises: Premises, tmp_path: Path) -> None:
    long = premises.home.vault / (84 * "\u0958" + ".md")  # 255 bytes, and more in composed form
    long.write_text("x")
    (premises.home.vault / "link.md").symlink_to(tmp_path / "elsewhere")
    (premises.home.vault / "note.md").write_text("A note.\n")
    assert "note.md" in reconcile(premises).unreviewed
    assert "note.md" in [row.path for row in pending(premises)]
