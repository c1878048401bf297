"""The only place where a state changes: look the move up, one guarded UPDATE, one event, the same transaction.

Nothing else assigns a state. Called by use cases only.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CursorResult, update
from sqlmodel import Session, SQLModel, col

from pipelines.model.actor import Actor, ActorKind
from pipelines.model.errors import Broken, NotPermitted, StaleState
from pipelines.model.lifecycle import (
    ITEM_MOVES,
    MEMORY_MOVES,
    PROPOSAL_MOVES,
    VERIFICATION_MOVES,
    Move,
    ProposalState,
)
from pipelines.model.records import Item, Memory, Proposal
from pipelines.store import events


def create_item(session: Session, item: Item, actor: Actor, now: datetime) -> None:
    """Adds the row in the state of ``captured``; its digest is the event's ``after``."""
    _create(session, item, item.id, item.state, ITEM_MOVES["captured"], actor, now, after=item.original_digest)


def create_proposal(session: Session, proposal: Proposal, actor: Actor, now: datetime) -> None:
    """Adds the row in the state of ``submitted``; the plan's digest is the event's ``after``."""
    _create(
        session, proposal, proposal.id, proposal.state, PROPOSAL_MOVES["submitted"], actor, now, proposal.plan_digest
    )


def create_memory(session: Session, memory: Memory, digest: str, actor: Actor, now: datetime) -> None:
    """Adds the row in the state of ``created``; ``digest`` is that of its first file."""
    _create(session, memory, memory.id, memory.state, MEMORY_MOVES["created"], actor, now, digest)


def move_item(
    session: Session,
    item_id: str,
    event: str,
    actor: Actor,
    now: datetime,
    *,
    token: int | None = None,
    reason: str = "",
    **changes: Any,
) -> None:
    """``token`` is the lease's attempts: a worker whose lease passed to another moves nothing (``StaleState``)."""
    guard = {} if token is None else {"attempts": token}
    _move(session, Item, item_id, "state", ITEM_MOVES[event], actor, now, guard, changes, reason)


def release_item(session: Session, item_id: str, actor: Actor, now: datetime, **changes: Any) -> None:
    """Out of quarantine, due at once, as if it had just come; raises ``StaleState`` when it is not in quarantine."""
    anew: dict[str, Any] = {"due": now, "tries": 0, "quarantine_reason": None, "problem": ""}
    move_item(session, item_id, "released", actor, now, **anew, **changes)


def move_proposal(
    session: Session,
    proposal_id: str,
    event: str,
    actor: Actor,
    now: datetime,
    *,
    seen: int | None = None,
    reason: str = "",
    **changes: Any,
) -> None:
    """``seen``: the move happens only while the proposal is still at that revision."""
    guard = {} if seen is None else {"revision": seen}
    _move(session, Proposal, proposal_id, "state", PROPOSAL_MOVES[event], actor, now, guard, changes, reason)


def move_memory(
    session: Session,
    memory_id: str,
    event: str,
    actor: Actor,
    now: datetime,
    *,
    base_revision: str,
    digests: tuple[str | None, str | None],
    **changes: Any,
) -> None:
    """Only while ``base_revision`` is current; ``digests`` of the file before and after go into the event."""
    guard = {"revision_id": base_revision}
    move = MEMORY_MOVES[event]
    _move(session, Memory, memory_id, "state", move, actor, now, guard, changes, "", digests=digests)


def move_verification(
    session: Session, memory_id: str, event: str, actor: Actor, now: datetime, *, reason: str = "", **changes: Any
) -> None:
    """The second axis of a memory: does the file in the vault match what was approved?"""
    move = VERIFICATION_MOVES[event]
    _move(session, Memory, memory_id, "verification", move, actor, now, {}, changes, reason)


def _create(
    session: Session,
    row: SQLModel,
    row_id: str,
    state: StrEnum,
    move: Move[Any],
    actor: Actor,
    now: datetime,
    after: str,
) -> None:
    _permit(move, actor)
    if move.sources or state != move.target:
        raise Broken(f"{row_id} cannot be created as {state} by '{move.event}'")
    session.add(row)
    session.flush()
    events.append(session, actor, move.event, row_id, now=now, after=after)


def _move(
    session: Session,
    row_type: type[SQLModel],
    row_id: str,
    column: str,
    move: Move[Any],
    actor: Actor,
    now: datetime,
    guard: Mapping[str, object],
    changes: Mapping[str, Any],
    reason: str,
    digests: tuple[str | None, str | None] | None = None,
) -> None:
    _permit(move, actor)
    before = session.get(row_type, row_id, populate_existing=True)
    was = None if before is None else str(getattr(before, column))
    state = col(getattr(row_type, column))
    statement = update(row_type).where(col(getattr(row_type, "id")) == row_id, state.in_(move.sources))  # noqa: B009
    for name, value in guard.items():
        statement = statement.where(col(getattr(row_type, name)) == value)
    statement = statement.values({column: move.target, **changes}).execution_options(synchronize_session=False)
    outcome = session.execute(statement)
    if before is None or not isinstance(outcome, CursorResult) or outcome.rowcount != 1:
        raise StaleState(f"{row_id} is {was or 'unknown'}: '{move.event}' does not lead on from there")
    session.expire(before)  # whoever holds the row in this session sees what it became
    shown = digests or (was, str(move.target))
    events.append(session, actor, move.event, row_id, now=now, before=shown[0], after=shown[1], reason=reason)


def _permit(move: Move[Any], actor: Actor) -> None:
    if actor.kind not in move.actors:
        raise NotPermitted(f"'{move.event}' is not for a credential of kind {actor.kind}")
    # the second of the four locks: holds even when a row of the table is wrong
    if move.target is ProposalState.PROMOTED and actor.kind is not ActorKind.OWNER:
        raise NotPermitted("only the owner approves")
