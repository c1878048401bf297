"""Where the owner decides: list, show, submit, approve, reject, withdraw. Never writes a file itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session

from pipelines.model.actor import Actor, ActorKind
from pipelines.model.errors import (
    Conflict,
    DigestMismatch,
    Invalid,
    NotFound,
    NotPermitted,
    RevisionMoved,
    StaleState,
    Transient,
)
from pipelines.model.failpoint import reach
from pipelines.model.lifecycle import ItemState, ProposalState, RejectReason, Verdict
from pipelines.model.records import Decision, Item, Proposal
from pipelines.model.values import Evidence, SourceLabel, Stage, Suggestion
from pipelines.preflight import dry_run
from pipelines.premises import Premises
from pipelines.promote import project, promote
from pipelines.proposal_view import ProposalView, view
from pipelines.store import events, items, memories, proposals
from pipelines.store.locks import one_at_a_time
from pipelines.store.moves import move_item, move_proposal
from pipelines.store.pages import Page
from pipelines.submission import Origin
from pipelines.submission import submit as submit_suggestion

_AGENTS_ACTIONS = frozenset({"create_memory"})
_OURS = frozenset({"memory_id", "path", "created", "scope", "source"})


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision and where the memory's file is; ``projected`` False: it holds an outside edit, or follows later."""

    decision: Decision
    path: str | None
    projected: bool


def list_proposals(
    p: Premises,
    reader: Actor,
    *,
    state: ProposalState | None = ProposalState.PENDING,
    item_id: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[ProposalView]:
    """Newest first. Anyone but the owner sees only what its own credential submitted."""
    with p.database.read() as session:
        page = proposals.list_proposals(
            session,
            state=state,
            item_id=item_id,
            submitter=None if reader.is_owner else reader,
            limit=limit,
            cursor=cursor,
        )
        return Page([view(session, row) for row in page.rows], page.next_cursor)


def show(p: Premises, proposal_id: str, reader: Actor) -> ProposalView:
    """Raises ``NotFound``, also for a proposal that is not the reader's to know of."""
    with p.database.read() as session:
        row = proposals.proposal(session, proposal_id)
        if not _may_see(reader, row):
            raise NotFound(f"there is no proposal {proposal_id}")
        return view(session, row)


def _may_see(reader: Actor, row: Proposal | Item) -> bool:
    # by kind and name: a token may be called like a worker or a producer of ours
    return reader.is_owner or (row.actor_kind, row.actor_name) == (reader.kind, reader.name)


def submit(
    p: Premises,
    actor: Actor,
    *,
    action: str,
    payload: dict[str, object],
    rationale: str,
    quotes: Sequence[tuple[str, str]] = (),
) -> ProposalView:
    """Stores what a client or agent proposes, always pending; ``quotes`` are (item id, quote), located here.

    Raises ``Invalid``, ``Duplicate``, ``Busy`` and, for fields that only narthex may fill in, ``NotPermitted``.
    """
    if action not in _AGENTS_ACTIONS:
        raise Invalid(
            f"'{action[:40]}' cannot be proposed here", hint=f"possible: {', '.join(sorted(_AGENTS_ACTIONS))}"
        )
    if chosen := _OURS & payload.keys():
        raise NotPermitted(f"{', '.join(sorted(chosen))} is for narthex to fill in")
    scope = actor.scope or p.policy.default_scope
    label = SourceLabel.OWNER if actor.is_owner else SourceLabel.AGENT
    with p.database.read() as session:
        evidence = tuple(_located(session, item_id, quote, actor) for item_id, quote in quotes)
    suggestion = Suggestion(action, payload, rationale, confidence=0.5, evidence=evidence)
    origin = Origin(actor.name, "1", scope, label, capped=not actor.is_owner)
    row = p.database.write(lambda session: submit_suggestion(p, session, suggestion, origin, actor))
    return show(p, row.id, actor)


def _located(session: Session, item_id: str, quote: str, actor: Actor) -> Evidence:
    """Found or not would tell an agent what unapproved text holds: it quotes only what it captured itself."""
    artefact = items.artefact(session, item_id, Stage.NORMALIZED)
    known = artefact is not None and _may_see(actor, items.item(session, item_id))
    start = artefact.text.find(quote) if artefact is not None and known else -1
    if start < 0:
        return Evidence(item_id, quote, 0, 0, inferred=True)
    return Evidence(item_id, quote, start, start + len(quote))


def approve(p: Premises, proposal_id: str, *, revision: int, digest: str, shown_ms: int, owner: Actor) -> Decided:
    """Makes exactly what was shown a memory: decision, revision, events and projection wish are one transaction.

    Raises ``RevisionMoved`` for an older revision, ``DigestMismatch`` when the digest is not that of the pending plan,
    ``StaleState`` when it is no longer pending or its target has changed (then it is stale), ``NotPermitted`` for
    anyone but the owner. When it returns, the file is in the vault and the memory can be found.
    """
    outcome = p.database.write(lambda session: _approve(p, session, proposal_id, revision, digest, shown_ms, owner))
    if isinstance(outcome, str):
        raise StaleState(f"it can no longer be applied: {outcome}", hint="look at it again")
    reach("promote.committed")
    return _projected(p, outcome, str(outcome.memory_id))


def _projected(p: Premises, decision: Decision, memory_id: str) -> Decided:
    """The decision stands whatever the vault does; a file that cannot be written now follows when it can."""
    try:
        projected = project(p, memory_id)
    except Transient:
        projected = False
    with p.database.read() as session:
        return Decided(decision, memories.memory(session, memory_id).path, projected)


def _approve(
    p: Premises, session: Session, proposal_id: str, revision: int, digest: str, shown_ms: int, owner: Actor
) -> Decision | str:
    row = _decidable(session, proposal_id, revision, digest, owner, {ProposalState.PENDING})
    now = p.clock()
    try:
        plan = dry_run(session, row)
    except Conflict as conflict:
        move_proposal(session, row.id, "went_stale", owner, now, reason=conflict.message, problem=conflict.message)
        return conflict.message
    if plan.digest != digest:
        raise DigestMismatch("what would be written now is not what was shown", hint="look at it again")
    decision = _decision(p, row, Verdict.APPROVE, digest, shown_ms, owner)
    move_proposal(session, row.id, "approved", owner, now, seen=revision, reason=digest, decided_by=owner.kind)
    revision_id = promote(p, session, row, plan, decision.id, owner)
    decision.memory_id, decision.revision_id = plan.memory_id, revision_id
    proposals.add_decision(session, decision)
    reach("promote.decided")
    for other in proposals.undecided_on_memory(session, plan.memory_id):
        if other.id != row.id and other.state is ProposalState.PENDING and other.base_revision != revision_id:
            problem = "the memory was changed by another approval"
            move_proposal(session, other.id, "went_stale", owner, now, reason=row.id, problem=problem)
    _resolve(p, session, row, owner)
    return decision


def reject(
    p: Premises,
    proposal_id: str,
    *,
    revision: int,
    digest: str,
    shown_ms: int,
    owner: Actor,
    code: RejectReason = RejectReason.UNSPECIFIED,
    reason: str = "",
) -> Decided:
    """Says no to what was shown, for good: the same is not proposed again. Raises like ``approve``."""

    def decide(session: Session) -> Decision:
        undecided = {ProposalState.PENDING, ProposalState.STALE}
        row = _decidable(session, proposal_id, revision, digest, owner, undecided)
        decision = _decision(p, row, Verdict.REJECT, digest, shown_ms, owner, code, reason)
        move_proposal(session, row.id, "rejected", owner, p.clock(), seen=revision, reason=code, decided_by=owner.kind)
        proposals.add_decision(session, decision)
        _resolve(p, session, row, owner)
        stays = row.action == "retract_memory" and row.base_revision is not None
        if stays and memories.want_file_again(session, row.memory_id, str(row.base_revision), p.clock()):
            wanted.append(row.memory_id)
        return decision

    wanted: list[str] = []
    decision = p.database.write(decide)
    return _projected(p, decision, wanted[0]) if wanted else Decided(decision, None, False)


def withdraw(p: Premises, proposal_id: str, actor: Actor) -> ProposalView:
    """Takes a proposal back: for the owner and for the credential that submitted it."""

    def take_back(session: Session) -> None:
        row = proposals.proposal(session, proposal_id)
        if not _may_see(actor, row):
            raise NotFound(f"there is no proposal {proposal_id}")
        move_proposal(session, row.id, "withdrawn", actor, p.clock(), problem=f"taken back by {actor.name}")
        _resolve(p, session, row, actor)

    p.database.write(take_back)
    return show(p, proposal_id, actor)


def note_refused(p: Premises, actor: Actor, *, because: str, program: str) -> None:
    """Records that a program of this machine would not let its user approve; changes nothing else."""

    def append(session: Session) -> None:
        reason = f"{because}: {program}"
        events.append(session, actor, "approval_refused", "approval", now=p.clock(), reason=reason)

    p.database.write(append)


def _decidable(
    session: Session, proposal_id: str, revision: int, digest: str, owner: Actor, states: set[ProposalState]
) -> Proposal:
    if owner.kind is not ActorKind.OWNER:
        raise NotPermitted("only the owner decides")
    row = proposals.proposal(session, proposal_id)
    if row.state not in states:
        raise StaleState(f"{row.id} is {row.state}, it waits for no decision", hint="look at it again")
    if row.revision != revision:
        raise RevisionMoved(f"{row.id} is at revision {row.revision}, you saw {revision}", hint="look at it again")
    if row.plan_digest != digest:
        raise DigestMismatch(f"{row.id} has another digest than the one you name", hint="look at it again")
    return row


def _decision(
    p: Premises,
    row: Proposal,
    verdict: Verdict,
    digest: str,
    shown_ms: int,
    owner: Actor,
    code: RejectReason | None = None,
    reason: str = "",
) -> Decision:
    return Decision(
        id=p.ids.new("dec"),
        proposal_id=row.id,
        proposal_revision=row.revision,
        verdict=verdict,
        digest=digest,
        shown_ms=shown_ms,
        reason_code=code,
        reason=reason,
        actor_kind=owner.kind,
        actor_name=owner.name,
        channel=owner.channel,
        decided_at=p.clock(),
    )


def _resolve(p: Premises, session: Session, row: Proposal, actor: Actor) -> None:
    """An item whose proposals are all final is resolved, in the same transaction as the last decision."""
    if row.item_id is not None:
        one_at_a_time(session, f"resolve {row.item_id}")
    if row.item_id is None or proposals.undecided_on_item(session, row.item_id) > 0:
        return
    if items.item(session, row.item_id).state is ItemState.PROPOSED:
        move_item(session, row.item_id, "resolved", actor, p.clock())
