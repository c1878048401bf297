"""The page of one proposal, and what a decision sent from it leads to. Too hasty a decision decides nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.responses import HTMLResponse, RedirectResponse, Response

from api.access import Caller
from api.surface import Surface
from api.web.card import card
from api.web.looks import LEAST_MS, LEAST_RISKY_MS, shown_ms, stamp
from api.web.render import page
from api.web.shown import show
from api.web.words import APPROVED, DECIDED, KEPT, NOT_WRITTEN, PROPOSAL_STATE, REASON, REJECTED
from pipelines import review
from pipelines.model.actor import Actor
from pipelines.model.errors import Conflict
from pipelines.model.identity import check_id
from pipelines.model.lifecycle import PROPOSAL_UNDECIDED, ProposalState
from pipelines.proposal_view import ProposalView
from pipelines.store import proposals

Decide = Callable[[int], bool]
"""Given for how long the form was on the screen, in milliseconds; answers whether the vault's file shows it."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a decision is made and by whom."""

    here: Surface
    caller: Caller
    owner: Actor


@dataclass(frozen=True, slots=True)
class Seen:
    """What the form says that it showed."""

    proposal_id: str
    revision: int
    digest: str
    shown_at: str


def proposal_page(
    desk: Desk, proposal_id: str, *, problem: str = "", status: int = 200, written: bool = True
) -> HTMLResponse:
    """The proposal as it is now: with its form, or with what was decided and the way to the next.

    ``problem`` says why a decision was not taken; ``written`` False: the file does not show the decision.
    """
    view = review.show(desk.here.premises, proposal_id, desk.owner)
    row = view.proposal
    values = {**card(view), "csrf": desk.caller.csrf, "problem": problem, "state": PROPOSAL_STATE[row.state]}
    if row.state not in PROPOSAL_UNDECIDED:
        return page("decided.html", status, **values, **_decided(view, written), **_next(desk))
    return page(
        "proposal.html",
        status,
        **values,
        reasons=[(code.value, words) for code, words in REASON.items()],
        shown_at=stamp(desk.caller.csrf, row.id, row.revision, desk.here.premises.clock()),
    )


def decide(desk: Desk, seen: Seen, goal: ProposalState, act: Decide) -> Response:
    """Lets ``act`` decide on what was seen, then leads to the page that names what was decided.

    A form that comes sooner than anyone can read gets the page again; the same form once more changes nothing.
    """
    premises, check = desk.here.premises, check_id(seen.proposal_id, "prp")
    look = shown_ms(seen.shown_at, desk.caller.csrf, check, seen.revision, premises.clock())
    least = LEAST_RISKY_MS if card(review.show(premises, check, desk.owner))["risky"] else LEAST_MS
    if look < least:
        problem = f"That was too quick: the page had not been on the screen for {least / 1000:g} seconds yet."
        return proposal_page(desk, check, problem=f"{problem} Nothing was decided. Read it, then decide.", status=409)
    try:
        written = act(look)
    except Conflict as moved:
        row = review.show(premises, check, desk.owner).proposal
        if row.state is goal and (row.revision, row.plan_digest) == (seen.revision, seen.digest):
            return RedirectResponse(f"/review/{check}", 303)
        problem = f"{moved.title}: {moved.message}. Nothing was changed; this is what there is now."
        return proposal_page(desk, check, problem=problem, status=moved.status)
    desk.here.daemon.wake()
    return RedirectResponse(f"/review/{check}{'' if written else '?file=later'}", 303)


def _decided(view: ProposalView, written: bool) -> dict[str, Any]:
    """What became of it, as words around its path."""
    row = view.proposal
    if row.state is ProposalState.PROMOTED:
        words = APPROVED.get(row.action, "It was applied to")
        return {"lead": DECIDED[row.state], "became": words, "more": "" if written else NOT_WRITTEN}
    if row.state is ProposalState.REJECTED:
        words = KEPT if row.action == "retract_memory" else REJECTED
        return {"lead": DECIDED[row.state], "became": words, "more": ""}
    return {"lead": DECIDED[row.state], "became": "It is no longer proposed for", "more": row.problem}


def _next(desk: Desk) -> dict[str, Any]:
    """The next one that waits, and how many there are."""
    premises = desk.here.premises
    waiting = review.list_proposals(premises, desk.owner, state=ProposalState.PENDING, limit=1).rows
    with premises.database.read() as session:
        count = proposals.count_proposals(session).get(ProposalState.PENDING, 0)
    following = waiting[0] if waiting else None
    return {
        "next_id": None if following is None else following.proposal.id,
        "next_title": None if following is None else show(following.title),
        "waiting": count,
    }
