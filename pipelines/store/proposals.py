"""Queries about proposals and decisions. State changes are in ``moves``."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import func
from sqlmodel import Session, col, select

from pipelines.model.actor import Actor
from pipelines.model.errors import NotFound
from pipelines.model.lifecycle import PROPOSAL_UNDECIDED, ProposalState
from pipelines.model.records import Decision, Proposal
from pipelines.store.pages import Page, page


def proposal(session: Session, proposal_id: str) -> Proposal:
    """Raises ``NotFound``."""
    found = session.get(Proposal, proposal_id)
    if found is None:
        raise NotFound(f"there is no proposal {proposal_id}")
    return found


def list_proposals(
    session: Session,
    *,
    state: ProposalState | None,
    item_id: str | None = None,
    submitter: Actor | None = None,
    limit: int,
    cursor: str | None,
) -> Page[Proposal]:
    """Newest first; ``submitter`` confines it to what one credential submitted."""
    query = select(Proposal)
    if state is not None:
        query = query.where(col(Proposal.state) == state)
    if item_id is not None:
        query = query.where(col(Proposal.item_id) == item_id)
    if submitter is not None:
        query = query.where(col(Proposal.actor_kind) == submitter.kind, col(Proposal.actor_name) == submitter.name)
    return page(session, query, Proposal.id, limit, cursor)


def proposals_of_item(session: Session, item_id: str) -> list[Proposal]:
    """All proposals made from one item, oldest first."""
    return list(session.exec(select(Proposal).where(col(Proposal.item_id) == item_id).order_by(col(Proposal.id))))


def undecided_on_memory(session: Session, memory_id: str) -> list[Proposal]:
    """Pending and stale proposals that would change one memory, oldest first."""
    query = select(Proposal).where(col(Proposal.memory_id) == memory_id, col(Proposal.state).in_(PROPOSAL_UNDECIDED))
    return list(session.exec(query.order_by(col(Proposal.id))))


def pending_of_action(session: Session, action: str) -> list[Proposal]:
    """What waits for the owner and is of one kind, oldest first."""
    query = select(Proposal).where(col(Proposal.action) == action, col(Proposal.state) == ProposalState.PENDING)
    return list(session.exec(query.order_by(col(Proposal.id))))


def undecided_on_item(session: Session, item_id: str) -> int:
    """How many proposals of an item still wait for the owner."""
    query = select(func.count()).where(col(Proposal.item_id) == item_id, col(Proposal.state).in_(PROPOSAL_UNDECIDED))
    return session.exec(query).one()


def alike(session: Session, fingerprint: str, states: Iterable[ProposalState]) -> Proposal | None:
    """A proposal in one of ``states`` that suggests the same."""
    query = select(Proposal).where(col(Proposal.fingerprint) == fingerprint, col(Proposal.state).in_(list(states)))
    return session.exec(query.limit(1)).one_or_none()


def wants_path(session: Session, path: str) -> bool:
    """Whether a pending proposal would write this path of the vault."""
    query = select(Proposal.id).where(col(Proposal.path) == path, col(Proposal.state) == ProposalState.PENDING)
    return session.exec(query.limit(1)).one_or_none() is not None


def count_proposals(session: Session) -> dict[ProposalState, int]:
    """How many proposals are in each state that any is in."""
    rows = session.exec(select(Proposal.state, func.count()).group_by(col(Proposal.state)))
    return {ProposalState(state): count for state, count in rows}


def pending_of(session: Session, proposal: Proposal) -> int:
    """How many proposals of the submitter of ``proposal`` wait for the owner."""
    query = select(func.count()).where(
        col(Proposal.actor_kind) == proposal.actor_kind,
        col(Proposal.actor_name) == proposal.actor_name,
        col(Proposal.state) == ProposalState.PENDING,
    )
    return session.exec(query).one()


def oldest_pending(session: Session) -> datetime | None:
    """When the longest waiting proposal was submitted."""
    query = select(func.min(Proposal.submitted_at)).where(col(Proposal.state) == ProposalState.PENDING)
    return session.exec(query).one_or_none()


def add_decision(session: Session, decision: Decision) -> None:
    """The owner's answer; the move of the proposal, in the same transaction, carries the event."""
    session.add(decision)
    session.flush()


def decision(session: Session, decision_id: str) -> Decision:
    """Raises ``NotFound``."""
    found = session.get(Decision, decision_id)
    if found is None:
        raise NotFound(f"there is no decision {decision_id}")
    return found


def decision_on(session: Session, proposal_id: str) -> Decision | None:
    """The newest decision on one proposal."""
    query = select(Decision).where(col(Decision.proposal_id) == proposal_id).order_by(col(Decision.id).desc())
    return session.exec(query.limit(1)).one_or_none()


def list_decisions(session: Session, *, limit: int, cursor: str | None) -> Page[Decision]:
    """Newest first."""
    return page(session, select(Decision), Decision.id, limit, cursor)
