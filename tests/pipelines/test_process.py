"""One item on its way: every step commits by itself, failures quarantine or wait, poison is parked."""

from __future__ import annotations

import pytest

from pipelines import process
from pipelines.capture import capture_link, capture_text
from pipelines.model.errors import StaleState, StorageFull, Transient, Unreadable
from pipelines.model.lifecycle import ItemState, QuarantineReason
from pipelines.model.records import Item
from pipelines.model.values import Completeness, SourceLabel, Stage
from pipelines.premises import Premises
from pipelines.store import events, items
from pipelines.store.moves import move_item
from tests.clock import SettableClock
from tests.pipelines.line import drop, no, pending, settle
from tests.pipelines.rows import OWNER


def item_of(p: Premises, item_id: str) -> Item:
    """The row as it is now."""
    with p.database.read() as session:
        return items.item(session, item_id)


def test_a_dropped_text_becomes_one_pending_proposal(premises: Premises) -> None:  # F-001, F-036
    text = "# Seed storage\n\nKeep seeds at 4 C, dark and dry. Silica gel takes up the moisture.\n"
    item = drop(premises, "Seed storage.md", text).item
    settle(premises)
    row = pending(premises)[0]
    assert (row.item_id, row.action, row.payload["title"]) == (item.id, "create_memory", "Seed storage")
    assert row.source_label is SourceLabel.DROPPED
    assert item_of(premises, item.id).state is ItemState.PROPOSED
    with premises.database.read() as session:
        told = [event.action for event in events.timeline(session, item.id)]
    assert told == ["captured", "extracted", "normalized", "proposed"]


def test_evidence_stands_where_it_is_said_to_stand(premises: Premises) -> None:  # F-030
    long = " ".join(f"Sentence number {n} says something about silica and seeds." for n in range(60))
    item = drop(premises, "long.txt", f"Storing seeds well\n\n{long}\n").item
    settle(premises)
    row = pending(premises)[0]
    with premises.database.read() as session:
        artefact = items.artefact(session, item.id, Stage.NORMALIZED)
    assert artefact is not None
    assert row.evidence
    for quote in row.evidence:
        assert not quote["inferred"]
        assert artefact.text[quote["start"] : quote["end"]] == quote["quote"]
    assert len(row.payload["l1"].split()) <= 150
    assert row.payload["l2"]


def test_a_step_is_repeated_after_a_crash_and_ends_the_same(premises: Premises, clock: SettableClock) -> None:
    drop(premises, "a.txt", "Water boils at 100 C.")
    lease = process.lease_due(premises, 1)[0]
    assert process.advance(premises, lease) is ItemState.EXTRACTED
    clock.advance(seconds=premises.policy.lease.total_seconds() + 1)  # the worker died here
    settle(premises)
    assert len(pending(premises)) == 1
    with pytest.raises(StaleState):
        process.advance(premises, lease)


def test_what_cannot_be_read_is_quarantined_with_its_reason(premises: Premises) -> None:  # F-022, L-076
    item = drop(premises, "x.bin", b"\x7fELF\x02\x01\x01" + bytes(200)).item
    settle(premises)
    row = item_of(premises, item.id)
    assert (row.state, row.quarantine_reason) == (ItemState.QUARANTINED, QuarantineReason.UNSUPPORTED)
    assert row.problem
    assert row.due is None


def test_a_passing_fault_waits_longer_each_time_and_then_parks(premises: Premises, clock: SettableClock) -> None:
    item = drop(premises, "a.txt", "hello there")  # B-W16, L20
    for attempt, wait in enumerate((5, 60), start=1):
        lease = process.lease_due(premises, 1)[0]
        assert lease.token == attempt
        process.give_back(premises, lease, Transient("the disk is busy"))
        row = item_of(premises, item.item.id)
        assert row.problem == "the disk is busy"
        assert row.due is not None
        assert (row.due - clock()).total_seconds() == wait
        assert process.lease_due(premises, 1) == []
        clock.advance(seconds=wait)
    lease = process.lease_due(premises, 1)[0]
    process.give_back(premises, lease, Transient("the disk is busy"))
    row = item_of(premises, item.item.id)
    assert (row.state, row.quarantine_reason) == (ItemState.QUARANTINED, QuarantineReason.FAILED)


def test_a_full_disk_or_an_absent_vault_parks_nothing(premises: Premises, clock: SettableClock) -> None:
    item = drop(premises, "a.txt", "hello there").item
    away = premises.home.root / "away"
    premises.home.vault.rename(away)
    for _ in range(6):
        settle(premises)
        row = item_of(premises, item.id)
        assert row.state is ItemState.NORMALIZED
        assert row.due is not None
        clock.set(row.due)
    away.rename(premises.home.vault)
    settle(premises)
    assert item_of(premises, item.id).state is ItemState.PROPOSED
    other = drop(premises, "b.txt", "hello again").item
    for _ in range(6):
        lease = process.lease_due(premises, 1)[0]
        process.give_back(premises, lease, StorageFull("no space left"))
        row = item_of(premises, other.id)
        assert row.due is not None
        clock.set(row.due)
    settle(premises)
    assert item_of(premises, other.id).state is ItemState.PROPOSED


def test_an_old_lease_does_not_come_back_by_a_release(premises: Premises, clock: SettableClock) -> None:
    item = drop(premises, "a.txt", "hello there").item
    old = process.lease_due(premises, 1)[0]
    process.give_back(premises, old, Unreadable("cannot be read"))
    process.release(premises, item.id, OWNER)
    process.lease_due(premises, 1)
    with pytest.raises(StaleState):
        process.advance(premises, old)


def test_an_item_that_kills_its_workers_is_parked(premises: Premises, clock: SettableClock) -> None:  # S-068
    item = drop(premises, "poison.txt", "hello there").item
    for _ in range(premises.policy.max_attempts):
        assert process.lease_due(premises, 1)
        clock.advance(seconds=premises.policy.lease.total_seconds() + 1)  # each worker is gone without a word
    lease = process.lease_due(premises, 1)[0]
    with pytest.raises(Unreadable, match="3 tries") as raised:
        process.advance(premises, lease)
    process.give_back(premises, lease, raised.value)
    assert item_of(premises, item.id).state is ItemState.QUARANTINED


def test_a_discarded_item_is_worked_on_no_further(premises: Premises, clock: SettableClock) -> None:
    item = drop(premises, "a.txt", "hello there").item
    lease = process.lease_due(premises, 1)[0]
    premises.database.write(lambda session: move_item(session, item.id, "discarded", OWNER, clock(), due=None))
    with pytest.raises(StaleState):
        process.advance(premises, lease)
    assert item_of(premises, item.id).state is ItemState.DISCARDED


def test_a_link_says_that_its_page_was_not_fetched(premises: Premises) -> None:  # L-075
    item = capture_link(premises, "https://example.org/seeds", OWNER, title="Cold storage of seeds").item
    settle(premises)
    assert item_of(premises, item.id).completeness is Completeness.LINK_ONLY
    row = pending(premises)[0]
    assert "link_only" in row.flags
    assert row.payload["source"] == "https://example.org/seeds"
    assert row.source_label is SourceLabel.CAPTURED


def test_what_was_rejected_is_not_proposed_again_from_another_item(premises: Premises) -> None:  # L-078
    capture_text(premises, "The office is in Berlin.", OWNER, title="Office")
    settle(premises)
    no(premises, pending(premises)[0])
    again = capture_text(premises, "The office is in Berlin.  ", OWNER, title="Office").item
    other = capture_text(premises, "The garden is in Potsdam.", OWNER, title="Garden").item  # the positive control
    settle(premises)
    assert [row.item_id for row in pending(premises)] == [other.id]
    assert item_of(premises, again.id).state is ItemState.RESOLVED
