"""What others do in the vault: never overwritten, never served, followed or proposed. F-046, L-131"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines.model.errors import RevisionMoved, Transient
from pipelines.model.lifecycle import MemoryState, ProposalState, Verification
from pipelines.premises import Premises
from pipelines.promote import recover
from pipelines.review import show
from pipelines.search import search
from pipelines.store import memories
from pipelines.vault_edits import VaultReport, claim_vault, reconcile
from tests.pipelines.line import a_memory, current, file_of, no, pending, state_of, yes
from tests.pipelines.rows import OWNER

NOTHING = VaultReport()


def words(premises: Premises, query: str) -> list[str]:
    """Memory ids that a search finds."""
    return [hit.memory_id for hit in search(premises, query, OWNER).hits]


def test_an_untouched_vault_has_nothing_to_say(premises: Premises) -> None:
    a_memory(premises)
    assert reconcile(premises) == NOTHING


def test_an_edit_is_proposed_with_a_diff_and_not_served(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    edited = place.read_text().replace("4 C", "9 C") + "And kiwifruit.\n"
    place.write_text(edited)
    assert reconcile(premises).edited == [memory.id]
    row = pending(premises)[0]
    view = show(premises, row.id, OWNER)
    assert "+And kiwifruit." in view.diff
    assert any(line.startswith("-") and "4 C" in line for line in view.diff.splitlines())
    assert place.read_text() == edited
    assert words(premises, "kiwifruit") == []
    assert words(premises, "seeds") == [memory.id]  # the control: the approved text goes on being served
    assert "4 C" in str(current(premises, memory.id)[1].content)
    assert current(premises, memory.id)[0].verification is Verification.UNREVIEWED


def test_adopting_an_edit_makes_it_the_memory_byte_for_byte(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    edited = place.read_bytes().replace(b"\n", b"\r\n") + "And kiwifruit: 1 °C.".encode()  # no final newline, CRLF
    place.write_bytes(edited)
    reconcile(premises)
    yes(premises, pending(premises)[0])
    assert place.read_bytes() == edited
    after, revision = current(premises, memory.id)
    assert str(revision.content).encode() == edited
    assert (revision.number, after.verification) == (2, Verification.VERIFIED)
    assert words(premises, "kiwifruit") == [memory.id]
    assert reconcile(premises) == NOTHING


def test_a_rejected_edit_stays_in_the_file_and_is_not_proposed_again(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    edited = place.read_text() + "Nonsense.\n"
    place.write_text(edited)
    reconcile(premises)
    no(premises, pending(premises)[0])
    reconcile(premises)
    assert pending(premises) == []
    assert place.read_text() == edited
    assert words(premises, "nonsense") == []
    place.write_text(edited + "Better.\n")  # the control: another edit is another question
    reconcile(premises)
    assert len(pending(premises)) == 1


def test_looking_twice_proposes_once_and_a_newer_edit_replaces_the_older(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    true = place.read_text()
    place.write_text(true + "One.\n")
    reconcile(premises)
    reconcile(premises)
    first = pending(premises)
    assert len(first) == 1
    place.write_text(true + "Two.\n")
    reconcile(premises)
    second = pending(premises)
    assert len(second) == 1
    assert state_of(premises, first[0]) is ProposalState.WITHDRAWN
    place.write_text(true)
    assert reconcile(premises).restored == [memory.id]
    assert pending(premises) == []
    assert current(premises, memory.id)[0].verification is Verification.VERIFIED


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


def test_a_deletion_is_a_proposal_to_retract(premises: Premises) -> None:
    memory = a_memory(premises)
    file_of(premises, memory.id).unlink()
    assert reconcile(premises).missing == [memory.id]
    row = pending(premises)[0]
    assert row.action == "retract_memory"
    assert words(premises, "seeds") == [memory.id]
    yes(premises, row)
    assert current(premises, memory.id)[0].state is MemoryState.RETRACTED
    assert words(premises, "seeds") == []
    assert reconcile(premises) == NOTHING
    with premises.database.read() as session:
        assert [revision.number for revision in memories.history(session, memory.id)] == [2, 1]


def test_a_file_that_is_no_text_is_reported_not_proposed(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    place.write_bytes(b"\xff\xfe\x00broken")
    report = reconcile(premises)
    assert list(report.refused) == [memory.path]
    assert pending(premises) == []
    assert words(premises, "seeds") == [memory.id]


@pytest.mark.parametrize("how", ["emptied", "gone"])
def test_an_absent_vault_is_not_a_deletion(premises: Premises, how: str) -> None:  # S-053
    memory = a_memory(premises)
    away = premises.home.root / "away"
    premises.home.vault.rename(away)
    if how == "emptied":
        premises.home.vault.mkdir()
    with pytest.raises(Transient):
        reconcile(premises)
    with pytest.raises(Transient):
        claim_vault(premises)
    assert pending(premises) == []
    if how == "emptied":
        premises.home.vault.rmdir()
    away.rename(premises.home.vault)
    assert reconcile(premises) == NOTHING
    assert words(premises, "seeds") == [memory.id]


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


def test_a_rejected_deletion_brings_the_file_back_and_may_be_asked_again(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    whole = place.read_bytes()
    for _ in range(2):
        place.unlink()
        reconcile(premises)
        decided = no(premises, pending(premises)[0])
        assert decided.projected
        assert place.read_bytes() == whole
        assert reconcile(premises) == NOTHING
    assert current(premises, memory.id)[0].state is MemoryState.ACTIVE


def test_an_edit_during_an_approval_that_is_taken_back_lets_the_newer_text_follow(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    first = place.read_text()
    place.write_text(first + "Second.\n")
    reconcile(premises)
    place.write_text(first + "Third.\n")  # while the owner looks at the second
    yes(premises, pending(premises)[0])
    assert place.read_text() == first + "Third.\n"
    place.write_text(first)
    reconcile(premises)
    recover(premises)
    assert place.read_text() == first + "Second.\n"
    assert reconcile(premises) == NOTHING
    assert current(premises, memory.id)[0].verification is Verification.VERIFIED


def test_an_edit_that_ends_as_the_approved_text_is_verified(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    first = place.read_text()
    place.write_text(first + "Second.\n")
    reconcile(premises)
    place.write_text(first + "Third.\n")
    yes(premises, pending(premises)[0])
    place.write_text(first + "Second.\n")
    reconcile(premises)
    assert current(premises, memory.id)[0].verification is Verification.VERIFIED
    assert pending(premises) == []
    assert reconcile(premises) == NOTHING


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


def test_an_edit_that_cannot_be_a_memory_is_said(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    place.write_text(place.read_text() + "x" * 200_000)
    big = premises.home.vault / "big.md"
    big.write_text("y" * 200_000)
    report = reconcile(premises)
    assert sorted(report.refused) == sorted([memory.path, "big.md"])
    assert all("131072 bytes" in why for why in report.refused.values())
    assert pending(premises) == []


def test_names_that_only_just_exist_and_links_stop_nothing(premises: Premises, tmp_path: Path) -> None:
    long = premises.home.vault / (84 * "\u0958" + ".md")  # 255 bytes, and more in composed form
    long.write_text("x")
    (premises.home.vault / "link.md").symlink_to(tmp_path / "elsewhere")
    (premises.home.vault / "note.md").write_text("A note.\n")
    assert "note.md" in reconcile(premises).unreviewed
    assert "note.md" in [row.path for row in pending(premises)]
