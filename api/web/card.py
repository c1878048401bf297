"""What the pages show of a proposal and of an item, as values for templates; every text of others is made visible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from api.web.looks import is_risky
from api.web.shown import Piece, Shown, pieces, show
from api.web.words import EFFECT, ITEM_STATE, NEXT_STEP, SOURCE, VAULT_EDIT, change_words, flag_words, moment
from pipelines.model.lifecycle import ProposalState
from pipelines.model.records import Item, Proposal
from pipelines.model.values import SourceLabel
from pipelines.proposal_view import ProposalView

_RATIONALE_CHARACTERS: Final = 300  # an agent's own words are capped: they are a claim, not the text
_DIFF_TAGS: Final = {"+": "ins", "-": "del"}
_DIFF_HEADER: Final = 2  # the first two lines name the sides; they are no content


@dataclass(frozen=True, slots=True)
class From:
    """Where a proposal comes from, in words and in what others called it."""

    lead: str
    name: Shown | None = None
    url: Shown | None = None
    captured: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A proposal in the list."""

    id: str
    title: Shown
    path: Shown
    change: str
    origin: From
    submitted: str
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
    captured: str


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff; ``tag`` is the element that says what happened to it, ``sign`` the character that does."""

    tag: str
    sign: str
    pieces: tuple[Piece, ...]
    note: bool


@dataclass(frozen=True, slots=True)
class QuoteShown:
    """A quote beside the text."""

    shown: Shown
    place: str
    inferred: bool


def entry(view: ProposalView) -> Entry:
    """For the list: what it is and where from, not what it says."""
    row = view.proposal
    return Entry(
        id=row.id,
        title=show(view.title),
        path=show(row.path),
        change=change_words(row.action),
        origin=origin(view),
        submitted=moment(row.submitted_at),
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
        captured=moment(row.captured_at),
    )


def origin(view: ProposalView) -> From:
    """The file or link that it was made from, else whose words or which note it is."""
    row, source = view.proposal, view.source
    if source is not None:
        named = source.url is not None and source.name != source.url
        url = show(source.url) if named and source.url is not None else None
        return From("from", show(source.name), url, moment(source.captured_at))
    if row.source_label is SourceLabel.VAULT:
        return From(VAULT_EDIT.get(row.action, "an edit in the vault, outside narthex"))
    if row.source_label is SourceLabel.OWNER:
        return From("your own words")
    return From("in the words of", show(row.actor_name))


def card(view: ProposalView) -> dict[str, Any]:
    """One proposal in full: what an approval would store, and all that is known of where it comes from."""
    row, plan = view.proposal, view.plan
    lines = _diff(view.diff)
    after = None if plan is None or plan.content is None else show(plan.content)
    return {
        "row": row,
        "title": show(view.title),
        "path": show(row.path),
        "change": change_words(row.action),
        "origin": origin(view),
        "effect": EFFECT.get(row.action, "Approving changes"),
        "decidable": row.state is ProposalState.PENDING and plan is not None,
        "risky": is_risky(row.action, row.flags) or bool(after and after.hidden),
        # of a new memory the whole text stands there anyway
        "diff": lines if plan is not None and plan.before is not None else [],
        "compared": _compared(row),
        "added": sum(line.tag == "ins" for line in lines),
        "removed": sum(line.tag == "del" for line in lines),
        "after": after,
        "evidence": [_quote(quote, row) for quote in row.evidence],
        "unsourced": "the file itself" if row.source_label is SourceLabel.VAULT else "asserted without a source",
        "flags": [flag_words(flag) for flag in row.flags],
        "source_words": SOURCE[row.source_label],
        "submitted": moment(row.submitted_at),
        "rationale": show(row.rationale[:_RATIONALE_CHARACTERS]) if row.rationale else None,
    }


def _compared(row: Proposal) -> str:
    if row.state is ProposalState.PROMOTED:
        return "the text before it"
    if row.action == "adopt_note":
        return "the note in the vault now, which nobody has reviewed"
    return "the approved text"


def _diff(diff: str) -> list[DiffLine]:
    lines = diff.split("\n")[_DIFF_HEADER:]
    return [_diff_line(line) for line in lines]


def _diff_line(line: str) -> DiffLine:
    if line.startswith(("@@", "\\")):  # where a hunk is, and that a line has no end: said about the text, not in it
        return DiffLine("span", "", pieces(line), note=True)
    return DiffLine(_DIFF_TAGS.get(line[:1], "span"), line[:1], pieces(line[1:]), note=False)


def _quote(quote: dict[str, object], row: Proposal) -> QuoteShown:
    place = "the source" if quote["item_id"] == row.item_id else str(quote["item_id"])
    characters = f"characters {quote['start']} to {quote['end']}"
    return QuoteShown(show(str(quote["quote"])), f"{place}, {characters}", bool(quote["inferred"]))
