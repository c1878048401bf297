"""How this narthex is, on one screen: counts, checks, runs; never a text."""

from __future__ import annotations

from fastapi import APIRouter

from api.doorway import DeclaredRoute
from api.standing import Chain, CheckAnswer, Inbox, ProgressAnswer, Review, RunAnswer, Status
from api.surface import Acting, Here
from pipelines.model.lifecycle import ItemState, ProposalState
from pipelines.store import events, items, memories, progress, proposals, runs

router = APIRouter(route_class=DeclaredRoute, tags=["status"], prefix="/v1/status")


@router.get("", operation_id="show_status")
def show_status(here: Here, reader: Acting) -> Status:
    """Counts, checks, the latest scheduled runs and the head of the event chain."""
    premises, daemon = here.premises, here.daemon
    with premises.database.read() as session:
        by_state = items.count_items(session)
        waiting = proposals.count_proposals(session)
        oldest = proposals.oldest_pending(session)
        known = memories.count_active(session, reader.scope)
        latest = runs.list_runs(session)
        getting_on = progress.progress(session, by_state, premises.clock())
        seq, head = events.chain_head(session)
    return Status(
        version=daemon.version,
        home=str(premises.home.root),
        drop=str(premises.home.drop),
        vault=str(premises.home.vault),
        address=daemon.address,
        uptime_s=int((premises.clock() - daemon.started_at).total_seconds()),
        inbox=Inbox(
            working=getting_on.working,
            needs_help=by_state.get(ItemState.QUARANTINED, 0),
        ),
        progress=ProgressAnswer.model_validate(getting_on),
        review=Review(
            pending=waiting.get(ProposalState.PENDING, 0),
            stale=waiting.get(ProposalState.STALE, 0),
            oldest_submitted_at=oldest,
        ),
        memories=known,
        checks={
            name: CheckAnswer(ok=check.ok, detail=check.detail if reader.is_owner else "")
            for name, check in daemon.checks().items()
        },
        runs=[RunAnswer.model_validate(run) for run in latest],
        chain=Chain(seq=seq, hash=head),
    )
