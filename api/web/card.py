"""What the pages show of a proposal and of an item, as values for templates; every text of others is made visible."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import HTMLResponse

from api.web.looks import stamp
from api.web.render import page
from api.web.shown import Piece, Shown, pieces, show
from api.web.words import ITEM_STATE, NEXT_STEP, PROPOSAL_STATE, REASON, SOURCE, action_words, flag_words
from pipelines import review
from pipelines.model.actor import Actor
from pipelines.model.errors import Conflict
from pipelines.model.lifecycle import ProposalState
from pipelines.model.records import Item, Proposal
from pipelines.premises import Premises
from pipelines.review import ProposalView
from pipelines.store import items

_RATIONALE_CHARACTERS: Final = 300  # an agent's own words are capped: they are a claim, not the text


@dataclass(frozen=True, slots=True)
class Entry:
    """A proposal in the list."""

    id: str
    title: Shown
    path: Shown
    action: str
    submitted_by: str
    submitted_at: str
    flags: list[str]
    problem: str


@dataclass(frozen=True, slots=True)
class ItemEntry:
    """An item in the inbox."""

    id: str
    name: Shown
    state: str
    problem: str
    next_step: str
    captured_at: str


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff; ``tag`` is the element that says what happened to it."""

    tag: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class QuoteShown:
    """A quote beside the text."""

    shown: Shown
    item_id: str
    start: int
    end: int
    inferred: bool


def entry(view: ProposalView) -> Entry:
    """For the list: what it is, not what it says."""
    row = view.proposal
    return Entry(
        id=row.id,
        title=show(view.title),
        path=show(row.path),
        action=action_words(row.action),
        submitted_by=row.actor_name,
        submitted_at=row.submitted_at.isoformat(timespec="minutes"),
        flags=[flag_words(flag) for flag in row.flags],
        problem=row.problem,
    )


def item_entry(row: Item) -> ItemEntry:
    """For the inbox: how far it is, what is wrong, what to do."""
    return ItemEntry(
        id=row.id,
        name=show(row.name),
        state=ITEM_STATE[row.state],
        problem=row.problem,
        next_step="" if row.quarantine_reason is None else NEXT_STEP[row.quarantine_reason],
        captured_at=row.captured_at.isoformat(timespec="minutes"),
    )


def answer(
    premises: Premises,
    proposal_id: str,
    owner: Actor,
    csrf: str,
    *,
    notice: str = "",
    moved: Conflict | None = None,
) -> HTMLResponse:
    """The page of one proposal as it is now. ``moved``: a decision was refused, nothing was changed by it."""
    view = review.show(premises, proposal_id, owner)
    row = view.proposal
    problem = ""
    if moved is not None:
        problem = f"{moved.title}: {moved.message}. Nothing was changed; this is what there is now."
    return page(
        "proposal.html",
        200 if moved is None else moved.status,
        csrf=csrf,
        notice=notice,
        problem=problem,
        row=row,
        title=show(view.title),
        path=show(row.path),
        action=action_words(row.action),
        state=PROPOSAL_STATE[row.state],
        rejectable=row.state in (ProposalState.PENDING, ProposalState.STALE),
        evidence=[_quote(quote) for quote in row.evidence],
        flags=[flag_words(flag) for flag in row.flags],
        source=SOURCE[row.source_label],
        rationale=show(row.rationale[:_RATIONALE_CHARACTERS]) if row.rationale else None,
        reasons=[(code.value, words) for code, words in REASON.items()],
        shown_at=stamp(csrf, row.id, row.revision, premises.clock()),
        **_effect(view),
        **_origin(premises, row),
    )


def _effect(view: ProposalView) -> dict[str, Any]:
    """What an approval would store, and whether one is possible."""
    plan = view.plan
    return {
        "decidable": view.proposal.state is ProposalState.PENDING and plan is not None,
        "diff": [] if plan is None or plan.before is None else _diff(plan.before, plan.content or ""),
        "after": None if plan is None or plan.content is None else show(plan.content),
    }


def _origin(premises: Premises, row: Proposal) -> dict[str, Any]:
    """The item that it was made from, if any."""
    if row.item_id is None:
        return {"item": None, "item_name": None, "item_url": None}
    with premises.database.read() as session:
        item = items.item(session, row.item_id)
    return {"item": item, "item_name": show(item.name), "item_url": None if item.url is None else show(item.url)}


def next_place(premises: Premises, owner: Actor, done: str) -> str:
    """Where a decision leads: to the next proposal, or to the list when nothing waits."""
    waiting = review.list_proposals(premises, owner, state=ProposalState.PENDING, limit=1)
    return f"/review/{waiting.rows[0].proposal.id}?done={done}" if waiting.rows else f"/review?done={done}"


def _diff(before: str, after: str) -> list[DiffLine]:
    # lines end at LF only: at any other line end a hidden character would fall out of sight
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="")
    tags = {"+": "ins", "-": "del"}
    # the first two lines name the sides; they are no content
    return [DiffLine(tags.get(line[:1], "span"), pieces(line)) for line in list(lines)[2:]]


def _quote(quote: dict[str, object]) -> QuoteShown:
    return QuoteShown(
        shown=show(str(quote["quote"])),
        item_id=str(quote["item_id"]),
        start=int(str(quote["start"])),
        end=int(str(quote["end"])),
        inferred=bool(quote["inferred"]),
    )
