"""Rows for tests of the store, as the use cases would make them."""

from __future__ import annotations

from datetime import datetime

from pipelines.model.actor import Actor, ActorKind, Channel, daemon_actor
from pipelines.model.identity import Ids
from pipelines.model.lifecycle import ItemState, ProposalState
from pipelines.model.records import Item, Proposal
from pipelines.model.values import ItemKind, SourceLabel

OWNER = Actor(ActorKind.OWNER, "owner", Channel.API)
AGENT = Actor(ActorKind.AGENT, "robot", Channel.API, scope="personal")
CLIENT = Actor(ActorKind.CLIENT, "phone", Channel.API, scope="personal")
DAEMON = daemon_actor()


def an_item(ids: Ids, now: datetime, *, digest: str = "d" * 64, actor: Actor = DAEMON) -> Item:
    """A captured file that is due."""
    return Item(
        id=ids.new("itm"),
        kind=ItemKind.FILE,
        state=ItemState.FETCHED,
        scope="personal",
        channel=actor.channel,
        actor_kind=actor.kind,
        actor_name=actor.name,
        captured_at=now,
        original_digest=digest,
        original_size=3,
        name="seeds.txt",
        due=now,
    )


def a_proposal(ids: Ids, now: datetime, *, digest: str = "p" * 64, actor: Actor = DAEMON) -> Proposal:
    """A pending proposal of nothing in particular."""
    memory_id = ids.new("mem")
    return Proposal(
        id=ids.new("prp"),
        state=ProposalState.PENDING,
        action="create_memory",
        scope="personal",
        memory_id=memory_id,
        path=f"Notes/{memory_id}.md",
        plan_digest=digest,
        fingerprint="f" * 64,
        rationale="because",
        producer="heuristic",
        producer_version="1",
        confidence=0.5,
        source_label=SourceLabel.DROPPED,
        actor_kind=actor.kind,
        actor_name=actor.name,
        submitted_at=now,
    )
