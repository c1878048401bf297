"""The shapes of what was captured, suggested, decided and is known, made from rows and views. Reads none itself."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from pipelines.model.actor import Channel
from pipelines.model.lifecycle import (
    ItemState,
    MemoryState,
    ProposalState,
    QuarantineReason,
    RejectReason,
    Verification,
)
from pipelines.model.memory import MemoryType
from pipelines.model.values import Completeness, ItemKind


class Answer(BaseModel):
    """What every answer has in common."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


def example(**fields: Any) -> ConfigDict:
    """The configuration of an answer, with an example of its telling fields for the description of the API."""
    return ConfigDict(frozen=True, from_attributes=True, json_schema_extra={"examples": [fields]})


class ItemAnswer(Answer):
    """Something captured. ``details`` say what of it is missing or was repaired."""

    model_config = example(id="itm_01jq7r3k8v2m", kind="file", state="proposed", name="seeds.pdf", size=18230)
    id: str
    kind: ItemKind
    state: ItemState
    scope: str
    channel: Channel
    actor: str
    name: str
    url: str | None
    note: str
    tags: list[str]
    captured_at: datetime
    media_type: str | None
    size: int
    digest: str
    completeness: Completeness | None
    details: list[str]
    quarantine_reason: QuarantineReason | None
    problem: str
    attempts: int
    due: datetime | None
    duplicate_of: str | None
    filed_as: str | None


class Happening(Answer):
    """One line of a timeline; ``ms``: since the line before, null for the first."""

    at: datetime
    action: str
    actor: str
    ms: int | None


class ItemDetail(ItemAnswer):
    """An item with what came of it."""

    proposals: list[str]
    timeline: list[Happening]


class ItemText(Answer):
    """The normalized text of an item, and what was read about it."""

    model_config = example(markdown="# Seeds\n", title="Seeds", author="", published="", language="en", words=1)
    markdown: str
    title: str
    author: str
    published: str
    language: str
    words: int


class EvidenceAnswer(Answer):
    """A quote with its place in the item's text; ``inferred``: it was not found there."""

    item_id: str
    quote: str
    start: int
    end: int
    inferred: bool


class SourceAnswer(Answer):
    """The captured item that a proposal was made from; ``name`` is its file name or title, ``url`` its address."""

    model_config = example(item_id="itm_01jq7r3k8v2m", name="seeds.pdf", url=None, captured_at="2026-11-30T20:11:00Z")
    item_id: str
    name: str
    url: str | None
    captured_at: datetime


class ProposalAnswer(Answer):
    """One suggested change and its exact effect: ``after`` is the whole text that an approval of ``digest`` writes.

    ``source`` is null for what came from no item: an edit of the vault (``path`` names it) or a client's own words.
    """

    model_config = example(id="prp_01jq7r3k8v2m", revision=1, state="pending", action="create_memory", digest="0" * 64)
    id: str
    revision: int
    state: ProposalState
    action: str
    scope: str
    item_id: str | None
    memory_id: str
    base_revision: str | None
    path: str
    digest: str
    title: str
    before: str | None
    after: str | None
    diff: str
    rationale: str
    producer: str
    producer_version: str
    confidence: float
    evidence: list[EvidenceAnswer]
    flags: list[str]
    source: SourceAnswer | None
    source_label: str
    submitted_at: datetime
    submitted_by: str
    problem: str


class DecisionAnswer(Answer):
    """The owner's recorded answer; ``memory_id`` and ``revision_id`` when it made a revision."""

    model_config = example(id="dec_01jq7r3k8v2m", proposal_id="prp_01jq7r3k8v2m", action="approve", shown_ms=2140)
    id: str
    proposal_id: str
    proposal_revision: int
    action: str
    digest: str
    shown_ms: int
    reason_code: RejectReason | None
    reason: str
    decided_at: datetime
    channel: Channel
    memory_id: str | None
    revision_id: str | None
    path: str


class MemoryAnswer(Answer):
    """One thing known, at its current revision. ``content`` is left out (null) in lists and after a retraction."""

    model_config = example(id="mem_01jq7r3k8v2m", state="active", verification="verified", path="Notes/Seeds.md")
    id: str
    scope: str
    state: MemoryState
    verification: Verification
    path: str
    revision_id: str
    number: int
    title: str
    l0: str
    type: MemoryType
    tags: list[str]
    content: str | None
    digest: str | None
    recorded_at: datetime
    proposal_id: str
    decision_id: str


class RevisionAnswer(Answer):
    """One approved version of a memory; ``retired_at`` null: it is the current one."""

    id: str
    number: int
    title: str
    l0: str
    type: MemoryType
    tags: list[str]
    content: str | None
    digest: str | None
    recorded_at: datetime
    retired_at: datetime | None
    proposal_id: str
    decision_id: str


class HitAnswer(Answer):
    """One search hit, checked against what is approved now."""

    memory_id: str
    revision_id: str
    title: str
    path: str
    type: MemoryType
    scope: str
    verification: Verification
    snippet: str
    score: float


class Found(Answer):
    """What a search found, best first."""

    model_config = example(query="seed storage", hits=[])
    query: str
    hits: list[HitAnswer]
