"""Normalised item → proposals: asks every producer, and labels the text by how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from sqlmodel import Session

from pipelines.model.actor import Actor, ActorKind
from pipelines.model.errors import Duplicate
from pipelines.model.records import Item, Proposal
from pipelines.model.values import ItemKind, Normalized, SourceLabel, Suggestion
from pipelines.premises import Premises
from pipelines.producers import producers
from pipelines.submission import Origin, draft, enter, spoken_for

_LABELS = {
    ActorKind.OWNER: SourceLabel.OWNER,
    ActorKind.DAEMON: SourceLabel.DROPPED,
    ActorKind.CLIENT: SourceLabel.CAPTURED,
    ActorKind.AGENT: SourceLabel.AGENT,
}


def suggestions_for(p: Premises, item: Item, text: Normalized) -> list[tuple[str, str, Suggestion]]:
    """Every producer's suggestions as (producer, version, suggestion); reads nothing but its arguments."""
    return [
        (name, producer.version, suggestion)
        for name, producer in producers.load().items()
        for suggestion in producer.suggest(item, text, p.policy.tag_vocabulary)
    ]


def label_of(item: Item) -> SourceLabel:
    """How far the text of an item is to be trusted: only the owner's own words are the owner's."""
    if item.actor_kind is ActorKind.OWNER and (item.kind is not ItemKind.TEXT or item.url):
        return SourceLabel.CAPTURED
    return _LABELS[item.actor_kind]


@dataclass(frozen=True, slots=True)
class Draft:
    """A suggestion for an item and the proposal that it would be."""

    suggestion: Suggestion
    origin: Origin
    proposal: Proposal


def drafts_for(p: Premises, item: Item, text: Normalized, actor: Actor) -> tuple[Draft, ...]:
    """Every producer's suggestions, planned on the world as it is now; planning is too slow for the one writer."""
    with p.database.read() as session:
        return tuple(
            _draft(p, session, suggestion, Origin(producer, version, item.scope, label_of(item), item.id), actor)
            for producer, version, suggestion in suggestions_for(p, item, text)
        )


def _draft(p: Premises, session: Session, suggestion: Suggestion, origin: Origin, actor: Actor) -> Draft:
    return Draft(suggestion, origin, draft(p, session, suggestion, origin, actor))


def enter_draft(p: Premises, session: Session, planned: Draft, actor: Actor) -> Proposal | None:
    """Stores a draft as pending, under another name if its path was taken meanwhile.

    None when the same is pending or was rejected before.
    """
    proposal = planned.proposal
    if spoken_for(session, proposal.path):
        proposal = draft(p, session, planned.suggestion, planned.origin, actor)
    try:
        return enter(p, session, proposal, actor, capped=False)
    except Duplicate:
        return None
