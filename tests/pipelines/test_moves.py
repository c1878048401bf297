"""State moves along the tables only, by one guarded statement, with its event. Three of the four locks are here."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from pipelines.model import lifecycle
from pipelines.model.actor import ActorKind
from pipelines.model.errors import Broken, NotPermitted, StaleState
from pipelines.model.identity import Ids
from pipelines.model.lifecycle import ItemState, Move, ProposalState
from pipelines.model.records import Proposal
from pipelines.store import events, items, moves, proposals
from pipelines.store.database import Database
from tests.clock import SettableClock
from tests.pipelines.rows import AGENT, CLIENT, DAEMON, OWNER, a_proposal, an_item


def pending(database: Database, ids: Ids, clock: SettableClock) -> Proposal:
    """A stored pending proposal."""
    row = a_proposal(ids, clock())
    database.write(lambda session: moves.create_proposal(session, row, DAEMON, clock()))
    return row


def test_a_move_changes_state_and_writes_its_event(database: Database, ids: Ids, clock: SettableClock) -> None:
    item = an_item(ids, clock())
    database.write(lambda session: moves.create_item(session, item, DAEMON, clock()))
    database.write(lambda session: moves.move_item(session, item.id, "extracted", DAEMON, clock(), problem=""))
    with database.read() as session:
        assert items.item(session, item.id).state is ItemState.EXTRACTED
        told = [(event.action, event.before, event.after) for event in events.timeline(session, item.id)]
        assert told == [("captured", None, "d" * 64), ("extracted", "fetched", "extracted")]


@pytest.mark.parametrize("event", ["normalized", "proposed", "resolved", "released"])
def test_a_move_from_another_state_changes_nothing(
    database: Database, ids: Ids, clock: SettableClock, event: str
) -> None:
    item = an_item(ids, clock())
    database.write(lambda session: moves.create_item(session, item, DAEMON, clock()))
    with pytest.raises(StaleState, match="fetched"):
        database.write(lambda session: moves.move_item(session, item.id, event, DAEMON, clock()))
    with database.read() as session:
        assert items.item(session, item.id).state is ItemState.FETCHED
        assert events.verify_chain(session).seq == 1


def test_a_worker_whose_lease_passed_on_moves_nothing(database: Database, ids: Ids, clock: SettableClock) -> None:
    item = an_item(ids, clock())
    database.write(lambda session: moves.create_item(session, item, DAEMON, clock()))
    from datetime import timedelta

    first = database.write(lambda session: items.lease_due(session, clock(), timedelta(seconds=60), 10))
    assert database.write(lambda session: items.lease_due(session, clock(), timedelta(seconds=60), 10)) == []
    clock.advance(seconds=61)
    second = database.write(lambda session: items.lease_due(session, clock(), timedelta(seconds=60), 10))
    assert (first[0].token, second[0].token) == (1, 2)
    with pytest.raises(StaleState):
        database.write(
            lambda session: moves.move_item(session, item.id, "extracted", DAEMON, clock(), token=first[0].token)
        )
    database.write(
        lambda session: moves.move_item(session, item.id, "extracted", DAEMON, clock(), token=second[0].token)
    )


@pytest.mark.parametrize("actor", [AGENT, CLIENT, DAEMON])
def test_lock_one_the_table_lets_only_the_owner_approve(
    database: Database, ids: Ids, clock: SettableClock, actor: object
) -> None:  # F-031, L-071
    assert lifecycle.PROPOSAL_MOVES["approved"].actors == {ActorKind.OWNER}
    row = pending(database, ids, clock)
    with pytest.raises(NotPermitted):
        database.write(
            lambda session: moves.move_proposal(
                session,
                row.id,
                "approved",
                actor,  # type: ignore[arg-type]
                clock(),
                decided_by=ActorKind.OWNER,
            )
        )


def test_lock_two_move_refuses_even_when_the_table_is_wrong(
    database: Database, ids: Ids, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:  # F-031
    everyone = Move("approved", frozenset({ProposalState.PENDING}), ProposalState.PROMOTED, frozenset(ActorKind))
    monkeypatch.setattr(moves, "PROPOSAL_MOVES", {"approved": everyone})
    row = pending_with(monkeypatch, database, ids, clock)
    with pytest.raises(NotPermitted, match="only the owner"):
        database.write(
            lambda session: moves.move_proposal(session, row.id, "approved", AGENT, clock(), decided_by=ActorKind.OWNER)
        )


def pending_with(monkeypatch: pytest.MonkeyPatch, database: Database, ids: Ids, clock: SettableClock) -> Proposal:
    """A pending proposal, stored with the true table."""
    with monkeypatch.context() as true:
        true.setattr(moves, "PROPOSAL_MOVES", lifecycle.PROPOSAL_MOVES)
        return pending(database, ids, clock)


@pytest.mark.parametrize("decided_by", ["NULL", "'agent'", "'daemon'", "'client'", "''"])
def test_lock_three_the_database_refuses_a_promotion_without_the_owner(
    database: Database, ids: Ids, clock: SettableClock, decided_by: str
) -> None:  # F-031: raw SQL, as a bug or a forger would write it
    row = pending(database, ids, clock)
    forged = f"UPDATE proposal SET state = 'promoted', decided_by = {decided_by} WHERE id = '{row.id}'"
    with pytest.raises(Broken):
        database.write(lambda session: session.execute(text(forged)))
    with database.read() as session:
        assert proposals.proposal(session, row.id).state is ProposalState.PENDING
    allowed = f"UPDATE proposal SET state = 'promoted', decided_by = 'owner' WHERE id = '{row.id}'"
    database.write(lambda session: session.execute(text(allowed)))  # the control: the CHECK is about who, not about all


def test_the_owner_moves_a_pending_proposal(database: Database, ids: Ids, clock: SettableClock) -> None:
    row = pending(database, ids, clock)
    database.write(
        lambda session: moves.move_proposal(
            session, row.id, "approved", OWNER, clock(), seen=1, decided_by=ActorKind.OWNER
        )
    )
    with pytest.raises(StaleState):
        database.write(
            lambda session: moves.move_proposal(
                session, row.id, "approved", OWNER, clock(), seen=1, decided_by=ActorKind.OWNER
            )
        )


def test_nothing_is_created_in_a_later_state(database: Database, ids: Ids, clock: SettableClock) -> None:
    row = a_proposal(ids, clock())
    row.state = ProposalState.PROMOTED
    with pytest.raises(Broken):
        database.write(lambda session: moves.create_proposal(session, row, OWNER, clock()))


@pytest.mark.parametrize("kind", ["ITEM_MOVES", "PROPOSAL_MOVES", "MEMORY_MOVES", "VERIFICATION_MOVES"])
def test_every_state_can_be_reached_and_left_or_is_final(kind: str) -> None:  # L-057
    table = getattr(lifecycle, kind)
    states = {move.target for move in table.values()} | {s for move in table.values() for s in move.sources}
    assert states == set(type(next(iter(states))).__members__.values())
