"""The rows of state.db. They are the nouns themselves: there is no second layer of classes behind them.

Rows are written only by ``pipelines.store``; elsewhere they are read. Times are UTC, digests SHA-256 in hexadecimal.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, Index
from sqlmodel import Field, SQLModel

from pipelines.model.actor import ActorKind, Channel
from pipelines.model.columns import UtcTime, active, closed, only_owner, text
from pipelines.model.lifecycle import (
    ItemState,
    MemoryState,
    ProposalState,
    QuarantineReason,
    RejectReason,
    Verdict,
    Verification,
)
from pipelines.model.memory import MemoryType
from pipelines.model.values import Completeness, ItemKind, SourceLabel, Stage


class Item(SQLModel, table=True):
    """Something captured. ``due`` NULL means that nothing is to be done by the daemon; a lease is a later ``due``."""

    __tablename__ = "item"
    __table_args__ = (Index("item_due", "due"), Index("item_scope_original", "scope", "original_digest"))

    id: str = Field(primary_key=True)
    kind: ItemKind = Field(sa_type=closed(ItemKind))
    state: ItemState = Field(sa_type=closed(ItemState))
    scope: str
    channel: Channel = Field(sa_type=closed(Channel))
    actor_kind: ActorKind = Field(sa_type=closed(ActorKind))
    actor_name: str
    captured_at: datetime = Field(sa_type=UtcTime)
    original_digest: str
    original_size: int = Field(sa_type=BigInteger)
    name: str
    """What a person calls it: the file name, the title given, or the first words."""
    url: str | None = None
    note: str = Field(default="", sa_column=text())
    tags: list[str] = Field(default_factory=list, sa_type=JSON)
    source_key: str | None = Field(default=None, unique=True)
    """Identity of the dropped file or queued capture that this came from: seeing it again makes no second item."""
    filed_as: str | None = None
    """Where the dropped file lies now, relative to the drop folder."""
    duplicate_of: str | None = None
    media_type: str | None = None
    completeness: Completeness | None = Field(default=None, sa_type=closed(Completeness))
    quarantine_reason: QuarantineReason | None = Field(
        default=None,
        sa_type=closed(QuarantineReason),
    )
    problem: str = Field(default="", sa_column=text())
    """What went wrong last, for a person; empty when nothing did."""
    due: datetime | None = Field(default=None, sa_type=UtcTime)
    attempts: int = 0
    """Counts leases, never backwards: the fencing token of the one that runs."""
    tries: int = 0
    """Of the current step; a crash counts as one, a full disk or an absent vault does not."""


class Artefact(SQLModel, table=True):
    """What a step made of an item: derived, may be made again."""

    __tablename__ = "artefact"

    item_id: str = Field(primary_key=True, foreign_key="item.id")
    stage: Stage = Field(primary_key=True, sa_type=closed(Stage))
    made_by: str
    version: str
    text: str = Field(sa_column=text())
    meta: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    completeness: Completeness = Field(sa_type=closed(Completeness))
    details: list[str] = Field(default_factory=list, sa_type=JSON)


class Proposal(SQLModel, table=True):
    """One suggested change and its exact effect (``plan_digest``)."""

    __tablename__ = "proposal"
    __table_args__ = (
        CheckConstraint(f"state <> 'promoted' OR {only_owner('decided_by')}", name="only_owner_promotes"),
        Index("proposal_state", "state"),
        Index("proposal_item", "item_id"),
        Index("proposal_memory", "memory_id"),
        Index("proposal_path", "path"),
    )

    id: str = Field(primary_key=True)
    revision: int = 1
    """Counts changes of what is proposed; a decision names the one it saw."""
    state: ProposalState = Field(sa_type=closed(ProposalState))
    action: str
    scope: str
    item_id: str | None = Field(default=None, foreign_key="item.id")
    memory_id: str
    base_revision: str | None = None
    path: str
    payload: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    plan_digest: str
    fingerprint: str = Field(index=True)
    """Of what is proposed without its incidental parts (ids, path, day): the same suggestion twice has the same one."""
    rationale: str = Field(sa_column=text())
    producer: str
    producer_version: str
    confidence: float
    evidence: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    flags: list[str] = Field(default_factory=list, sa_type=JSON)
    source_label: SourceLabel = Field(sa_type=closed(SourceLabel))
    actor_kind: ActorKind = Field(sa_type=closed(ActorKind))
    actor_name: str
    submitted_at: datetime = Field(sa_type=UtcTime)
    decided_by: ActorKind | None = Field(default=None, sa_type=closed(ActorKind))
    problem: str = Field(default="", sa_column=text())
    """Why it went stale or was withdrawn; empty while pending."""


class Decision(SQLModel, table=True):
    """The owner's recorded answer to exactly what was shown."""

    __tablename__ = "decision"
    __table_args__ = (CheckConstraint(only_owner("actor_kind"), name="only_owner_decides"),)

    id: str = Field(primary_key=True)
    proposal_id: str = Field(foreign_key="proposal.id", index=True)
    proposal_revision: int
    verdict: Verdict = Field(sa_type=closed(Verdict))
    digest: str
    shown_ms: int
    reason_code: RejectReason | None = Field(default=None, sa_type=closed(RejectReason))
    reason: str = Field(default="", sa_column=text())
    actor_kind: ActorKind = Field(sa_type=closed(ActorKind))
    actor_name: str
    channel: Channel = Field(sa_type=closed(Channel))
    decided_at: datetime = Field(sa_type=UtcTime)
    memory_id: str | None = None
    revision_id: str | None = None


class Memory(SQLModel, table=True):
    """One thing known. What is served is its current revision; the vault file is that revision's projection."""

    __tablename__ = "memory"
    __table_args__ = (
        Index("memory_scope_state", "scope", "state"),
        Index("memory_path", "path", unique=True, sqlite_where=active(), postgresql_where=active()),
    )

    id: str = Field(primary_key=True)
    scope: str
    state: MemoryState = Field(sa_type=closed(MemoryState))
    verification: Verification = Field(sa_type=closed(Verification))
    path: str
    """Where its file is (or last was), relative to the vault, in NFC."""
    revision_id: str
    written_digest: str | None = None
    """Of the bytes narthex last wrote or accepted at ``path``; NULL when it left no file there."""


class MemoryRevision(SQLModel, table=True):
    """One approved version. Intervals are half-open: current while ``retired_at`` is NULL."""

    __tablename__ = "memory_revision"
    __table_args__ = (CheckConstraint(only_owner("approved_by"), name="only_owner_approves"),)

    id: str = Field(primary_key=True)
    memory_id: str = Field(foreign_key="memory.id", index=True)
    number: int
    content: str | None = Field(default=None, sa_column=text(nullable=True))
    """The whole file text, byte for byte; NULL for a retraction."""
    digest: str | None = None
    title: str
    l0: str = Field(sa_column=text())
    type: MemoryType = Field(sa_type=closed(MemoryType))
    tags: list[str] = Field(default_factory=list, sa_type=JSON)
    proposal_id: str = Field(foreign_key="proposal.id")
    decision_id: str
    approved_by: ActorKind = Field(sa_type=closed(ActorKind))
    recorded_at: datetime = Field(sa_type=UtcTime)
    retired_at: datetime | None = Field(default=None, sa_type=UtcTime)


class Projection(SQLModel, table=True):
    """An approved change that is not yet in the vault. The row goes when the file is safe; recover() repeats it."""

    __tablename__ = "projection"

    memory_id: str = Field(primary_key=True, foreign_key="memory.id")
    revision_id: str
    requested_at: datetime = Field(sa_type=UtcTime)


class Event(SQLModel, table=True):
    """One line of what happened; append-only, chained, never the text itself."""

    __tablename__ = "event"

    seq: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    at: datetime = Field(sa_type=UtcTime)
    actor_kind: ActorKind = Field(sa_type=closed(ActorKind))
    actor_name: str
    channel: Channel = Field(sa_type=closed(Channel))
    subject: str = Field(index=True)
    action: str
    before: str | None = None
    after: str | None = None
    reason: str = ""
    request_id: str = ""
    previous_hash: str
    hash: str


class ChainHead(SQLModel, table=True):
    """The last event of the chain; one row. Locking it orders the writers of PostgreSQL."""

    __tablename__ = "chain_head"

    id: int = Field(primary_key=True)
    seq: int = Field(sa_type=BigInteger)
    hash: str


class Token(SQLModel, table=True):
    """A credential of a device or agent. The secret is not here, only its SHA-256."""

    __tablename__ = "token"

    id: str = Field(primary_key=True)
    name: str
    secret_digest: str = Field(unique=True)
    kind: ActorKind = Field(sa_type=closed(ActorKind))
    capabilities: list[str] = Field(default_factory=list, sa_type=JSON)
    scope: str
    created_at: datetime = Field(sa_type=UtcTime)
    expires_at: datetime | None = Field(default=None, sa_type=UtcTime)
    last_used_at: datetime | None = Field(default=None, sa_type=UtcTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcTime)


class OwnerSession(SQLModel, table=True):
    """A proof of the owner, made from a one-time code. Idle for too long, it is gone."""

    __tablename__ = "owner_session"

    id: str = Field(primary_key=True)
    secret_digest: str = Field(unique=True)
    csrf_digest: str
    channel: Channel = Field(sa_type=closed(Channel))
    created_at: datetime = Field(sa_type=UtcTime)
    last_used_at: datetime = Field(sa_type=UtcTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcTime)


class IdempotentAnswer(SQLModel, table=True):
    """The first answer to a request that carried an Idempotency-Key; kept for thirty days."""

    __tablename__ = "idempotent_answer"

    actor_name: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    request_digest: str
    status: int
    body: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    answered_at: datetime = Field(sa_type=UtcTime)


class ScheduledRun(SQLModel, table=True):
    """One job, one period, one run: the primary key is what prevents a second."""

    __tablename__ = "scheduled_run"

    job: str = Field(primary_key=True)
    slot: str = Field(primary_key=True)
    started_at: datetime = Field(sa_type=UtcTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcTime)
    problem: str = Field(default="", sa_column=text())
