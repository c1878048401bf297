"""A suggestion becomes a pending proposal: its ids, path and day are given here. Never decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlmodel import Session

from pipelines.model.actor import Actor
from pipelines.model.lifecycle import ProposalState
from pipelines.model.plan import Payload
from pipelines.model.records import Proposal
from pipelines.model.unseen import INVISIBLE, has_unseen
from pipelines.model.values import SourceLabel, Suggestion
from pipelines.preflight import admit, dry_run, payload_of, plan_first
from pipelines.premises import Premises
from pipelines.store import memories, proposals
from pipelines.store.moves import create_proposal, move_proposal
from pipelines.vault.layout import name_taken, note_path


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a suggestion comes from; ``capped``: so many of one credential may wait, and no more."""

    producer: str
    version: str
    scope: str
    label: SourceLabel
    item_id: str | None = None
    capped: bool = False


def submit(p: Premises, session: Session, suggestion: Suggestion, origin: Origin, actor: Actor) -> Proposal:
    """Dry-runs, deduplicates and stores a suggestion as pending, in the caller's transaction.

    Raises ``Invalid`` for a payload beyond the limits, ``Duplicate``, ``Busy`` past the cap, ``Conflict`` when it does
    not fit the memory it would change.
    """
    return enter(p, session, draft(p, session, suggestion, origin, actor), actor, capped=origin.capped)


def draft(p: Premises, session: Session, suggestion: Suggestion, origin: Origin, actor: Actor) -> Proposal:
    """The row that a suggestion would be, dry-run on what ``session`` sees. Raises like ``submit``; stores nothing."""
    payload = _completed(p, session, suggestion, origin.scope)
    plan = plan_first(session, suggestion.action, payload, str(vars(payload)["memory_id"]))
    return Proposal(
        id=p.ids.new("prp"),
        state=ProposalState.PENDING,
        action=suggestion.action,
        scope=plan.scope,
        item_id=origin.item_id,
        memory_id=plan.memory_id,
        base_revision=plan.base_revision,
        path=plan.path,
        payload=payload.model_dump(mode="json"),
        plan_digest=plan.digest,
        fingerprint=payload.fingerprint(suggestion.action, plan.scope),
        rationale=suggestion.rationale,
        producer=origin.producer,
        producer_version=origin.version,
        confidence=suggestion.confidence,
        evidence=[asdict(evidence) for evidence in suggestion.evidence],
        flags=list(dict.fromkeys([*suggestion.flags, *([INVISIBLE] if has_unseen(plan.content or "") else [])])),
        source_label=origin.label,
        actor_kind=actor.kind,
        actor_name=actor.name,
        submitted_at=p.clock(),
    )


def enter(p: Premises, session: Session, proposal: Proposal, actor: Actor, *, capped: bool) -> Proposal:
    """Stores a draft as pending unless the same waits, was rejected, or too much waits already."""
    admit(session, proposal, p.policy, capped=capped)
    create_proposal(session, proposal, actor, proposal.submitted_at)
    return proposal


def rebase(session: Session, row: Proposal, actor: Actor, now: datetime) -> None:
    """Plans a pending proposal anew on a target that was moved: a new digest and a new revision to look at."""
    plan = dry_run(session, row)
    if plan.digest == row.plan_digest:
        return
    changes: dict[str, Any] = {"path": plan.path, "plan_digest": plan.digest, "revision": row.revision + 1}
    move_proposal(session, row.id, "rebased", actor, now, seen=row.revision, reason=plan.digest, **changes)


def _completed(p: Premises, session: Session, suggestion: Suggestion, scope: str) -> Payload:
    """The producer's fields plus those that are never a producer's to choose."""
    fields = dict(suggestion.payload)
    if suggestion.action == "create_memory":
        title = str(fields.get("title", ""))
        fields |= {
            "memory_id": p.ids.new("mem"),
            "path": note_path(p.policy.notes_folder, title, taken(session, p.home.vault)),
            "created": p.clock().date().isoformat(),
            "scope": scope,
        }
    return payload_of(suggestion.action, fields)


def taken(session: Session, vault: Path) -> Callable[[str], bool]:
    """Whether a path of the vault is used by a memory, wanted by a proposal, or there as a file."""

    def is_taken(path: str) -> bool:
        return spoken_for(session, path) or name_taken(vault, path)

    return is_taken


def spoken_for(session: Session, path: str) -> bool:
    """Whether a path of the vault is used by a memory or wanted by a proposal."""
    return memories.memory_at(session, path) is not None or proposals.wants_path(session, path)
