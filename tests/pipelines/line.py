"""Drives the straight line in the test's own thread: what the daemon's worker does, without the daemon."""

from __future__ import annotations

from pathlib import Path

from pipelines import process
from pipelines.capture import Captured, capture_file, capture_text
from pipelines.model.actor import Actor, Channel, daemon_actor
from pipelines.model.errors import NarthexError
from pipelines.model.lifecycle import ProposalState
from pipelines.model.records import Memory, MemoryRevision, Proposal
from pipelines.premises import Premises
from pipelines.review import Decided, approve, list_proposals, reject, show
from pipelines.store import memories
from tests.pipelines.rows import OWNER

DROP = daemon_actor(Channel.DROP)


def drop(p: Premises, name: str, content: str | bytes) -> Captured:
    """Captures a file as the drop folder does."""
    path = p.home.drop / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return capture_file(p, path, DROP, source_key=f"{name}:{path.stat().st_mtime_ns}")


def settle(p: Premises) -> None:
    """Works off everything that is due now."""
    while leases := process.lease_due(p, 100):
        for lease in leases:
            try:
                while process.advance(p, lease) in process.STEPS:
                    pass
            except NarthexError as error:
                process.give_back(p, lease, error)


def pending(p: Premises) -> list[Proposal]:
    """What waits for the owner, oldest first."""
    page = list_proposals(p, OWNER, state=ProposalState.PENDING, limit=200)
    return [view.proposal for view in reversed(page.rows)]


def yes(p: Premises, row: Proposal, owner: Actor = OWNER) -> Decided:
    """The owner approves what the proposal is now."""
    return approve(p, row.id, revision=row.revision, digest=row.plan_digest, shown_ms=900, owner=owner)


def no(p: Premises, row: Proposal) -> Decided:
    """The owner rejects what the proposal is now."""
    return reject(p, row.id, revision=row.revision, digest=row.plan_digest, shown_ms=900, owner=OWNER)


def a_memory(p: Premises, text: str = "Seeds keep best at 4 C, in the dark and dry.", title: str = "Seeds") -> Memory:
    """An approved memory whose file is in the vault."""
    capture_text(p, text, OWNER, title=title)
    settle(p)
    decided = yes(p, pending(p)[-1])
    with p.database.read() as session:
        return memories.memory(session, str(decided.decision.memory_id))


def current(p: Premises, memory_id: str) -> tuple[Memory, MemoryRevision]:
    """The memory and its current revision."""
    with p.database.read() as session:
        found = memories.current_revision(session, memory_id)
    assert found is not None
    return found


def file_of(p: Premises, memory_id: str) -> Path:
    """Where the memory's file is said to be."""
    return p.home.vault / current(p, memory_id)[0].path


def state_of(p: Premises, row: Proposal) -> ProposalState:
    """The state of a proposal now."""
    return show(p, row.id, OWNER).proposal.state
