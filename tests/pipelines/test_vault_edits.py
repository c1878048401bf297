"""What others do in the vault: never overwritten, never served, followed or proposed. F-046, L-131"""

from __future__ import annotations

import pytest

from pipelines.model.errors import Transient
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
