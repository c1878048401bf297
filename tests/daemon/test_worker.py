"""The worker takes what is due to a proposal, parks what cannot be read, and stops for what should not be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

from daemon.worker import Worker
from pipelines import capture, originals
from pipelines.model.actor import daemon_actor
from pipelines.model.lifecycle import ItemState, QuarantineReason
from pipelines.model.records import Item
from pipelines.premises import Premises
from pipelines.store import items
from tests.clock import SettableClock
from tests.waiting import until

TEXT = "# Porches\n\nA narthex is the porch of a church, where those wait who are not yet let in. It faces west.\n"


def one(premises: Premises, item_id: str) -> Item:
    """An item, now."""
    with premises.database.read() as session:
        return items.item(session, item_id)


@contextmanager
def at_work(premises: Premises) -> Iterator[tuple[Worker, list[Exception]]]:
    """A worker, and what it called broken."""
    broken: list[Exception] = []
    worker = Worker(premises, broken.append, lambda: None)
    worker.start()
    try:
        yield worker, broken
    finally:
        assert worker.stop()


def test_what_is_captured_becomes_proposed(premises: Premises) -> None:
    with at_work(premises) as (worker, broken):
        captured = capture.capture_text(premises, TEXT, daemon_actor())
        worker.wake()
        until(lambda: one(premises, captured.item.id).state is ItemState.PROPOSED)
        until(lambda: worker.check().detail == "idle")
        assert not broken


def test_content_that_cannot_be_read_is_quarantined(premises: Premises) -> None:
    captured = capture.capture_text(premises, "\x00\x01\x02", daemon_actor(), title="noise")
    with at_work(premises) as (_, broken):
        until(lambda: one(premises, captured.item.id).state is ItemState.QUARANTINED)
        assert not broken
    assert one(premises, captured.item.id).problem


def test_a_passing_fault_is_tried_again_and_then_parked(premises: Premises, clock: SettableClock) -> None:  # S-068
    captured = capture.capture_text(premises, TEXT, daemon_actor())
    away = originals.path_of(premises.home.originals, captured.item.original_digest)
    away.rename(away.with_name("away"))
    with at_work(premises) as (worker, broken):
        for attempt in range(1, premises.policy.max_attempts):
            until(lambda expected=attempt: one(premises, captured.item.id).attempts == expected)  # type: ignore[misc]
            until(lambda: one(premises, captured.item.id).problem)
            clock.advance(minutes=30)
            worker.wake()
        until(lambda: one(premises, captured.item.id).state is ItemState.QUARANTINED)
        assert not broken
    assert one(premises, captured.item.id).quarantine_reason is QuarantineReason.FAILED


def test_a_poisoned_item_does_not_hold_up_the_others(premises: Premises) -> None:  # S-068
    bad = capture.capture_text(premises, "\x00\x01", daemon_actor(), title="noise").item.id
    good = capture.capture_text(premises, TEXT, daemon_actor()).item.id
    with at_work(premises):
        until(lambda: one(premises, good).state is ItemState.PROPOSED)
        until(lambda: one(premises, bad).state is ItemState.QUARANTINED)


def test_a_lease_that_ran_out_is_taken_up_again(premises: Premises, clock: SettableClock) -> None:  # L-048
    captured = capture.capture_text(premises, TEXT, daemon_actor())
    from pipelines import process

    assert [lease.item_id for lease in process.lease_due(premises, 5)] == [captured.item.id]  # and then it was killed
    with at_work(premises) as (worker, _):
        clock.advance(seconds=(premises.policy.lease + timedelta(seconds=1)).total_seconds())
        worker.wake()
        until(lambda: one(premises, captured.item.id).state is ItemState.PROPOSED)


def test_an_invariant_that_fails_stops_the_worker_and_the_process(premises: Premises) -> None:
    captured = capture.capture_text(premises, TEXT, daemon_actor())
    clocks = iter([premises.clock()])  # the second call raises what no family of errors knows
    odd = replace(premises, clock=lambda: next(clocks))
    broken: list[Exception] = []
    worker = Worker(odd, broken.append, lambda: None)
    worker.start()
    until(lambda: broken)
    until(lambda: not worker.check().ok)
    assert worker.stop()
    assert one(premises, captured.item.id).state in {ItemState.FETCHED, ItemState.EXTRACTED}
