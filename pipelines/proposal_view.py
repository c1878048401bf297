"""A proposal as it is shown: its exact plan, title, source and true unified diff. Decides nothing, changes no row."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlmodel import Session

from pipelines.model.errors import Conflict
from pipelines.model.lifecycle import ProposalState
from pipelines.model.plan import Plan
from pipelines.model.records import Proposal
from pipelines.preflight import dry_run
from pipelines.store import items, memories
from pipelines.vault.memory_file import parse

_ADOPTED: Final = "adopt_note"
_HEADER_LINES: Final = 2
_NO_LINE_END: Final = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class SourceItem:
    """The captured item that a proposal was made from; ``url`` when it was a link."""

    item_id: str
    name: str
    url: str | None
    captured_at: datetime


@dataclass(frozen=True, slots=True)
class ProposalView:
    """A proposal with its exact effect; ``diff`` is unified, ``plan`` is what approving would do now.

    ``source`` None: it was made from no item, but from an edit of the vault or from a client's own words.
    """

    proposal: Proposal
    plan: Plan | None
    title: str
    diff: str
    source: SourceItem | None


def view(session: Session, row: Proposal) -> ProposalView:
    """What there is to see of ``row`` now; once it is promoted, what was approved."""
    plan: Plan | None = None
    if row.state is ProposalState.PENDING:
        with suppress(Conflict):  # it turns stale when somebody decides on it
            plan = dry_run(session, row)
    elif row.state is ProposalState.PROMOTED:
        plan = _promoted_plan(session, row)
    before, after = (None, None) if plan is None else (plan.before, plan.content)
    title = str(row.payload.get("title") or parse(after or before or "").title or row.path)
    # what a note held before it was adopted was never approved
    left = "in the vault now" if row.action == _ADOPTED else "approved"
    return ProposalView(row, plan, title, "\n".join(unified_diff(before, after, left)), _source(session, row))


def unified_diff(before: str | None, after: str | None, left: str) -> Iterator[str]:
    """The lines of a unified diff with three lines of context; None is a file that is not there and has no lines."""
    names = (left if before is not None else "nothing", "proposed" if after is not None else "nothing")
    for number, line in enumerate(difflib.unified_diff(_lines(before), _lines(after), *names, lineterm="")):
        if number < _HEADER_LINES or line.startswith("@@"):
            yield line
        elif line.endswith("\n"):
            yield line[:-1]
        else:
            yield from (line, _NO_LINE_END)


def _lines(text: str | None) -> list[str]:
    # split at LF only: with splitlines() line separators that a person must see would fall out of sight
    parts = (text or "").split("\n")
    return [f"{part}\n" for part in parts[:-1]] + [part for part in parts[-1:] if part]


def _promoted_plan(session: Session, row: Proposal) -> Plan:
    revisions = memories.history(session, row.memory_id)
    made = next(revision for revision in revisions if revision.proposal_id == row.id)
    before = next((r.content for r in revisions if r.id == row.base_revision), None)
    if row.action == _ADOPTED:
        before = str(row.payload["content"])
    return Plan(row.action, row.memory_id, row.scope, row.base_revision, row.path, before, made.content)


def _source(session: Session, row: Proposal) -> SourceItem | None:
    if row.item_id is None:
        return None
    item = items.item(session, row.item_id)
    return SourceItem(item.id, item.name, item.url, item.captured_at)
