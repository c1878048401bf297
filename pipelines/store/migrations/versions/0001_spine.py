"""The first schema: items to memories, the event chain, credentials, runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_GENESIS = "0" * 64

_APPEND_ONLY_SQLITE = """
CREATE TRIGGER event_no_{verb} BEFORE {verb} ON event
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END
"""
_APPEND_ONLY_FUNCTION = """
CREATE FUNCTION event_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$
"""
_APPEND_ONLY_POSTGRESQL = """
CREATE TRIGGER event_no_change BEFORE UPDATE OR DELETE ON event
FOR EACH ROW EXECUTE FUNCTION event_append_only()
"""


def upgrade() -> None:
    """Creates every table, the triggers that keep events append-only, and the head of an empty chain."""
    _chain_head()
    _event()
    _idempotent_answer()
    _item()
    _memory()
    _owner_session()
    _scheduled_run()
    _token()
    _artefact()
    _projection()
    _proposal()
    _decision()
    _memory_revision()
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(_APPEND_ONLY_SQLITE.format(verb=verb))
    else:
        op.execute(_APPEND_ONLY_FUNCTION)
        op.execute(_APPEND_ONLY_POSTGRESQL)
    op.execute(f"INSERT INTO chain_head (id, seq, hash) VALUES (1, 0, '{_GENESIS}')")


def _strings(*names: str, nullable: bool = False) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.String(), nullable=nullable) for name in names]


def _chain_head() -> None:
    op.create_table(
        "chain_head",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        *_strings("hash"),
        sa.PrimaryKeyConstraint("id"),
    )


def _event() -> None:
    op.create_table(
        "event",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        *_strings("actor_kind", "actor_name", "channel", "subject", "action"),
        *_strings("before", "after", nullable=True),
        *_strings("reason", "request_id", "previous_hash", "hash"),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("ix_event_subject", "event", ["subject"])


def _idempotent_answer() -> None:
    op.create_table(
        "idempotent_answer",
        *_strings("actor_name", "key", "request_digest"),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("actor_name", "key"),
    )


def _item() -> None:
    op.create_table(
        "item",
        *_strings("id", "kind", "state", "scope", "channel", "actor_kind", "actor_name"),
        sa.Column("captured_at", sa.DateTime(timezone=True), nullable=False),
        *_strings("original_digest"),
        sa.Column("original_size", sa.BigInteger(), nullable=False),
        *_strings("name"),
        *_strings("url", nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        *_strings(
            "source_key", "filed_as", "duplicate_of", "media_type", "completeness", "quarantine_reason", nullable=True
        ),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("due", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("source_key"),
    )
    op.create_index("item_due", "item", ["due"])
    op.create_index("item_scope_original", "item", ["scope", "original_digest"])


def _memory() -> None:
    op.create_table(
        "memory",
        *_strings("id", "scope", "state", "verification", "path", "revision_id"),
        *_strings("written_digest", nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "memory_path",
        "memory",
        ["path"],
        unique=True,
        sqlite_where=sa.text("state = 'active'"),
        postgresql_where=sa.text("state = 'active'"),
    )
    op.create_index("memory_scope_state", "memory", ["scope", "state"])


def _owner_session() -> None:
    op.create_table(
        "owner_session",
        *_strings("id", "secret_digest", "csrf_digest", "channel"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("secret_digest"),
    )


def _scheduled_run() -> None:
    op.create_table(
        "scheduled_run",
        *_strings("job", "slot"),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("job", "slot"),
    )


def _token() -> None:
    op.create_table(
        "token",
        *_strings("id", "name", "secret_digest", "kind"),
        sa.Column("capabilities", sa.JSON(), nullable=False),
        *_strings("scope"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("secret_digest"),
    )


def _artefact() -> None:
    op.create_table(
        "artefact",
        *_strings("item_id", "stage", "made_by", "version"),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("meta", sa.JSON(), nullable=False),
        *_strings("completeness"),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["item.id"],
        ),
        sa.PrimaryKeyConstraint("item_id", "stage"),
    )


def _projection() -> None:
    op.create_table(
        "projection",
        *_strings("memory_id", "revision_id"),
        sa.Column("requested_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_id"],
            ["memory.id"],
        ),
        sa.PrimaryKeyConstraint("memory_id"),
    )


def _proposal() -> None:
    op.create_table(
        "proposal",
        *_strings("id"),
        sa.Column("revision", sa.Integer(), nullable=False),
        *_strings("state", "action", "scope"),
        *_strings("item_id", nullable=True),
        *_strings("memory_id"),
        *_strings("base_revision", nullable=True),
        *_strings("path"),
        sa.Column("payload", sa.JSON(), nullable=False),
        *_strings("plan_digest", "fingerprint"),
        sa.Column("rationale", sa.Text(), nullable=False),
        *_strings("producer", "producer_version"),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("flags", sa.JSON(), nullable=False),
        *_strings("source_label", "actor_kind", "actor_name"),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
        *_strings("decided_by", nullable=True),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "state <> 'promoted' OR decided_by IS NOT DISTINCT FROM 'owner'", name="only_owner_promotes"
        ),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["item.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_proposal_fingerprint", "proposal", ["fingerprint"])
    op.create_index("proposal_item", "proposal", ["item_id"])
    op.create_index("proposal_memory", "proposal", ["memory_id"])
    op.create_index("proposal_path", "proposal", ["path"])
    op.create_index("proposal_state", "proposal", ["state"])


def _decision() -> None:
    op.create_table(
        "decision",
        *_strings("id", "proposal_id"),
        sa.Column("proposal_revision", sa.Integer(), nullable=False),
        *_strings("verdict", "digest"),
        sa.Column("shown_ms", sa.Integer(), nullable=False),
        *_strings("reason_code", nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        *_strings("actor_kind", "actor_name", "channel"),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=False),
        *_strings("memory_id", "revision_id", nullable=True),
        sa.CheckConstraint("actor_kind IS NOT DISTINCT FROM 'owner'", name="only_owner_decides"),
        sa.ForeignKeyConstraint(
            ["proposal_id"],
            ["proposal.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_decision_proposal_id", "decision", ["proposal_id"])


def _memory_revision() -> None:
    op.create_table(
        "memory_revision",
        *_strings("id", "memory_id"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=True),
        *_strings("digest", nullable=True),
        *_strings("title"),
        sa.Column("l0", sa.Text(), nullable=False),
        *_strings("type"),
        sa.Column("tags", sa.JSON(), nullable=False),
        *_strings("proposal_id", "decision_id", "approved_by"),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("approved_by IS NOT DISTINCT FROM 'owner'", name="only_owner_approves"),
        sa.ForeignKeyConstraint(
            ["memory_id"],
            ["memory.id"],
        ),
        sa.ForeignKeyConstraint(
            ["proposal_id"],
            ["proposal.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_memory_revision_memory_id", "memory_revision", ["memory_id"])
