"""Runs a proposal without effect and says whether it may wait for the owner at all. Never changes a row."""

from __future__ import annotations

from typing import Any, Final

from pydantic import ValidationError
from sqlmodel import Session

from pipelines.actions import actions
from pipelines.model.errors import Busy, Conflict, Duplicate, Invalid
from pipelines.model.lifecycle import MemoryState, ProposalState
from pipelines.model.memory import L2_BYTES
from pipelines.model.plan import CurrentMemory, Payload, Plan
from pipelines.model.policy import Policy
from pipelines.model.records import Proposal
from pipelines.store import memories, proposals
from pipelines.store.locks import one_at_a_time

FILE_BYTES: Final = 2 * L2_BYTES  # front matter and L1 come on top of L2


def payload_of(action: str, fields: dict[str, Any]) -> Payload:
    """The fields as the action's own payload; raises ``Invalid`` for an unknown action or field."""
    known = actions.load()
    if action not in known:
        raise Invalid(f"there is no action '{action[:40]}'", hint=f"known: {', '.join(known)}")
    try:
        payload: Payload = known[action].payload.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise Invalid(f"{'.'.join(map(str, first['loc'])) or action}: {first['msg']}") from error
    return payload


def dry_run(session: Session, proposal: Proposal) -> Plan:
    """The exact effect on the world as it is now. Raises ``Conflict`` when it cannot be applied (any more)."""
    payload = payload_of(proposal.action, proposal.payload)
    plan: Plan = actions[proposal.action].plan(payload, _current(session, proposal.memory_id))
    if plan.base_revision != proposal.base_revision:
        raise Conflict("the memory was changed since this was proposed", hint="look at the newer proposal")
    return plan


def plan_first(session: Session, action: str, payload: Payload, memory_id: str) -> Plan:
    """The effect of a change that is not a row yet."""
    plan: Plan = actions[action].plan(payload, _current(session, memory_id))
    if plan.content is not None and len(plan.content.encode()) > FILE_BYTES:
        raise Invalid(f"the file of a memory may have {FILE_BYTES} bytes", hint="shorten it, or drop it as a source")
    return plan


def admit(session: Session, proposal: Proposal, policy: Policy, *, capped: bool) -> None:
    """Raises ``Duplicate`` for what is pending or was rejected, ``Busy`` past the cap of one credential."""
    one_at_a_time(session, f"propose {proposal.fingerprint}")
    if capped:
        one_at_a_time(session, f"submitter {proposal.actor_kind} {proposal.actor_name}")
    pending = proposals.alike(session, proposal.fingerprint, [ProposalState.PENDING])
    if pending is not None:
        raise Duplicate(f"{pending.id} proposes the same and waits for the owner")
    rejected = proposals.alike(session, proposal.fingerprint, [ProposalState.REJECTED])
    if rejected is not None and actions[proposal.action].payload.stays_rejected:
        raise Duplicate(f"the owner rejected the same before, as {rejected.id}", hint="propose something else")
    if capped and proposals.pending_of(session, proposal) >= policy.pending_per_producer:
        raise Busy(f"{policy.pending_per_producer} proposals of '{proposal.actor_name}' wait for the owner already")


def _current(session: Session, memory_id: str) -> CurrentMemory | None:
    found = memories.current_revision(session, memory_id)
    if found is None:
        return None
    memory, revision = found
    if memory.state is not MemoryState.ACTIVE or revision.content is None:
        return None
    return CurrentMemory(memory.id, revision.id, memory.path, memory.scope, revision.content)
