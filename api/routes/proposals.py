"""What is suggested, and the one route by which it may become a memory: the owner's decision on what was shown."""

from __future__ import annotations

import re
from typing import Annotated, Final

from fastapi import APIRouter, Header, Request
from starlette.responses import JSONResponse

from api.answers import DecisionAnswer, EvidenceAnswer, ProposalAnswer, SourceAnswer
from api.doorway import DeclaredRoute
from api.idempotency import answer_once, idempotency_key
from api.paging import DEFAULT_LIMIT, Cursor, Limit, Listing, cursor_of, last_id
from api.routes.decisions import decision_answer
from api.schemas import DecideProposal, Empty, SubmitProposal
from api.surface import Acting, Here, Surface
from pipelines import review
from pipelines.model.errors import Invalid, PreconditionMissing, RevisionMoved, StaleState
from pipelines.model.identity import check_id
from pipelines.model.lifecycle import ProposalState, RejectReason
from pipelines.proposal_view import ProposalView
from pipelines.review import Decided
from pipelines.store import memories, proposals

router = APIRouter(route_class=DeclaredRoute, tags=["proposals"], prefix="/v1/proposals")

_STRONG_TAG: Final = re.compile(r'"([1-9][0-9]{0,8})"')
_VIEWED: Final = {"digest", "title", "before", "after", "diff", "evidence", "source", "submitted_by"}
_SAME_NAME: Final = set(ProposalAnswer.model_fields) - _VIEWED
IfMatch = Annotated[str | None, Header(description='the quoted revision that was seen, as in "3"')]


@router.post("", operation_id="submit_proposal", status_code=201, response_model=ProposalAnswer)
def submit_proposal(body: SubmitProposal, here: Here, actor: Acting, request: Request) -> JSONResponse:
    """Suggests a change. It waits for the owner, whatever it says."""
    quotes = [(evidence.item_id, evidence.quote) for evidence in body.evidence]
    for item_id, _ in quotes:
        check_id(item_id, "itm")

    def submit() -> tuple[int, ProposalAnswer]:
        view = review.submit(
            here.premises,
            actor,
            action=body.action,
            payload=dict(body.payload),
            rationale=body.rationale,
            quotes=quotes,
        )
        return 201, proposal_answer(view)

    return answer_once(here.premises, here.running, request, actor, submit)


@router.get("", operation_id="list_proposals")
def list_proposals(
    here: Here,
    reader: Acting,
    state: ProposalState | None = ProposalState.PENDING,
    item_id: str | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Listing[ProposalAnswer]:
    """Proposals, newest first; a token sees those that it submitted."""
    page = review.list_proposals(
        here.premises,
        reader,
        state=state,
        item_id=None if item_id is None else check_id(item_id, "itm"),
        limit=limit,
        cursor=last_id(cursor, "prp"),
    )
    entries = [proposal_answer(view) for view in page.rows]
    return Listing(items=entries, next_cursor=cursor_of(page.next_cursor))


@router.get("/{proposal_id}", operation_id="show_proposal", response_model=ProposalAnswer)
def show_proposal(proposal_id: str, here: Here, reader: Acting) -> JSONResponse:
    """One proposal with its exact effect; its ETag is the revision that a decision must name."""
    view = review.show(here.premises, check_id(proposal_id, "prp"), reader)
    answer = proposal_answer(view)
    return JSONResponse(answer.model_dump(mode="json"), headers={"ETag": f'"{answer.revision}"'})


@router.post("/{proposal_id}/decision", operation_id="decide_proposal", response_model=DecisionAnswer)
def decide_proposal(
    proposal_id: str,
    body: DecideProposal,
    here: Here,
    owner: Acting,
    request: Request,
    if_match: IfMatch = None,
) -> JSONResponse:
    """The owner approves or rejects exactly what was shown: this revision with this digest."""
    check_id(proposal_id, "prp")
    seen = _revision_seen(body.revision, if_match)

    def decide() -> tuple[int, DecisionAnswer]:
        try:
            return answered()
        except StaleState:
            first = None if idempotency_key(request) is None else _decided_before(here, proposal_id, seen, body)
            if first is None:
                raise
            return 200, first

    def answered() -> tuple[int, DecisionAnswer]:
        shown = {"revision": seen, "shown_ms": body.shown_ms}
        if body.action == "approve":
            decided = review.approve(here.premises, proposal_id, digest=body.digest, owner=owner, **shown)
        else:
            code = body.reason_code or RejectReason.UNSPECIFIED
            decided = review.reject(
                here.premises, proposal_id, digest=body.digest, owner=owner, code=code, reason=body.reason, **shown
            )
        here.daemon.wake()
        return 200, decided_answer(decided, review.show(here.premises, proposal_id, owner))

    return answer_once(here.premises, here.running, request, owner, decide)


@router.post("/{proposal_id}/withdraw", operation_id="withdraw_proposal", response_model=ProposalAnswer)
def withdraw_proposal(
    proposal_id: str, here: Here, actor: Acting, request: Request, body: Empty | None = None
) -> JSONResponse:
    """Takes a proposal back: for its author and for the owner."""
    check_id(proposal_id, "prp")

    def withdraw() -> tuple[int, ProposalAnswer]:
        return 200, proposal_answer(review.withdraw(here.premises, proposal_id, actor))

    return answer_once(here.premises, here.running, request, actor, withdraw)


def proposal_answer(view: ProposalView) -> ProposalAnswer:
    """The proposal with its effect, as clients see it."""
    row, plan = view.proposal, view.plan
    return ProposalAnswer(
        **row.model_dump(include=_SAME_NAME),
        digest=row.plan_digest,
        title=view.title,
        before=None if plan is None else plan.before,
        after=None if plan is None else plan.content,
        diff=view.diff,
        evidence=[EvidenceAnswer(**evidence) for evidence in row.evidence],
        source=None if view.source is None else SourceAnswer.model_validate(view.source),
        submitted_by=row.actor_name,
    )


def decided_answer(decided: Decided, view: ProposalView) -> DecisionAnswer:
    """The decision that was just made."""
    return decision_answer(decided.decision, decided.path or view.proposal.path)


def _decided_before(here: Surface, proposal_id: str, seen: int, body: DecideProposal) -> DecisionAnswer | None:
    """The same decision, when it was made but its answer was never kept: the process may end between the two."""
    with here.premises.database.read() as session:
        row = proposals.decision_on(session, proposal_id)
        if row is None or (row.verdict, row.digest, row.proposal_revision) != (body.action, body.digest, seen):
            return None
        memory = None if row.memory_id is None else memories.find_memory(session, row.memory_id)
        return decision_answer(row, proposals.proposal(session, proposal_id).path if memory is None else memory.path)


def _revision_seen(revision: int | None, if_match: str | None) -> int:
    if if_match is None and revision is None:
        raise PreconditionMissing(
            "say which revision you saw", hint='send "revision" in the body, or If-Match with the ETag'
        )
    if if_match is None:
        return revision or 0
    tag = _STRONG_TAG.fullmatch(if_match.strip())
    if tag is None:
        raise Invalid('If-Match must be one strong tag, as in "3"')
    if revision is not None and revision != int(tag[1]):
        raise RevisionMoved("the body names another revision than If-Match")
    return int(tag[1])
