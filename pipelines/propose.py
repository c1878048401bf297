"""Normalised item → proposals: asks every producer, and labels the text by how far it can be trusted."""

from __future__ import annotations

from sqlmodel import Session

from pipelines.model.actor import Actor, ActorKind
from pipelines.model.errors import Duplicate
from pipelines.model.records import Item, Proposal
from pipelines.model.values import ItemKind, Normalized, SourceLabel, Suggestion
from pipelines.premises import Premises
from pipelines.producers import producers
from pipelines.submission import Origin, submit

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


def submit_for_item(
    p: Premises, session: Session, item: Item, made: tuple[str, str, Suggestion], actor: Actor
) -> Proposal | None:
    """Stores one suggestion as pending; None when the same is pending or was rejected before."""
    producer, version, suggestion = made
    origin = Origin(producer, version, item.scope, label_of(item), item.id)
    try:
        return submit(p, session, suggestion, origin, actor)
    except Duplicate:
        return None
