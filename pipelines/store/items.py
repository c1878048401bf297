"""Queries about items, their artefacts and their leases. State changes are in ``moves``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, update
from sqlmodel import Session, col, select

from pipelines.model.actor import Channel
from pipelines.model.errors import NotFound
from pipelines.model.lifecycle import ItemState
from pipelines.model.records import Artefact, Item
from pipelines.model.values import Stage
from pipelines.store.pages import Page, page

_SURVIVES = frozenset(ItemState) - {ItemState.DUPLICATE, ItemState.DISCARDED}


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on an item until it runs out; ``token`` fences a worker whose lease has passed on.

    ``tries`` counts this one.
    """

    item_id: str
    token: int
    tries: int


def item(session: Session, item_id: str) -> Item:
    """Raises ``NotFound``."""
    found = session.get(Item, item_id)
    if found is None:
        raise NotFound(f"there is no item {item_id}")
    return found


def item_by_source(session: Session, source_key: str) -> Item | None:
    """The item that was made from this dropped file or queued capture, if it was captured before."""
    return session.exec(select(Item).where(col(Item.source_key) == source_key)).one_or_none()


def survivor(session: Session, scope: str, digest: str) -> Item | None:
    """The earliest item of the scope with the same bytes that is neither a duplicate itself nor discarded."""
    query = (
        select(Item)
        .where(col(Item.scope) == scope, col(Item.original_digest) == digest, col(Item.state).in_(_SURVIVES))
        .order_by(col(Item.id))
        .limit(1)
    )
    return session.exec(query).one_or_none()


def list_items(
    session: Session, *, state: ItemState | None, limit: int, cursor: str | None, actor_name: str | None = None
) -> Page[Item]:
    """Newest first, optionally of one state or captured by one actor."""
    query = select(Item)
    if state is not None:
        query = query.where(col(Item.state) == state)
    if actor_name is not None:
        query = query.where(col(Item.actor_name) == actor_name)
    return page(session, query, Item.id, limit, cursor)


def count_items(session: Session) -> dict[ItemState, int]:
    """How many items are in each state that any is in."""
    rows = session.exec(select(Item.state, func.count()).group_by(col(Item.state)))
    return {ItemState(state): count for state, count in rows}


def lease_due(session: Session, now: datetime, length: timedelta, limit: int) -> list[Lease]:
    """Takes up to ``limit`` due items, the longest due first; they become due again when the lease runs out."""
    query = (
        select(Item.id, Item.attempts, Item.tries)
        .where(col(Item.due) <= now)
        .order_by(col(Item.due), col(Item.id))
        .limit(limit)
        .with_for_update(skip_locked=True)  # PostgreSQL; SQLite has one writer and drops it
    )
    leases = [Lease(item_id, attempts + 1, tries + 1) for item_id, attempts, tries in session.exec(query)]
    for lease in leases:
        session.execute(
            update(Item)
            .where(col(Item.id) == lease.item_id)
            .values(due=now + length, attempts=lease.token, tries=lease.tries)
        )
    return leases


def next_due(session: Session) -> datetime | None:
    """When the next item wants work; None when all wait for a person."""
    return session.exec(select(func.min(Item.due))).one_or_none()


def put_off(session: Session, lease: Lease, due: datetime, problem: str, *, counts: bool) -> bool:
    """Gives a lease back with the time of the next try; False when it had passed to another worker.

    ``counts``: the failure was the item's own, not one of its surroundings.
    """
    statement = update(Item).where(col(Item.id) == lease.item_id, col(Item.attempts) == lease.token)
    outcome = session.execute(
        statement.values(due=due, problem=problem, tries=lease.tries if counts else lease.tries - 1)
    )
    return bool(getattr(outcome, "rowcount", 0))


def end_leases(session: Session, now: datetime) -> int:
    """Makes every item that is to be due later due now; answers how many."""
    outcome = session.execute(update(Item).where(col(Item.due) > now).values(due=now))
    return int(getattr(outcome, "rowcount", 0))


def note_filed(session: Session, item_id: str, filed_as: str) -> None:
    """Where the dropped file lies now, relative to the drop folder."""
    session.execute(update(Item).where(col(Item.id) == item_id).values(filed_as=filed_as))


def misfiled(session: Session, folders: Iterable[str]) -> list[Item]:
    """Quarantined items from the drop folder whose file does not lie in one of ``folders`` yet."""
    query = select(Item).where(
        col(Item.channel) == Channel.DROP,
        col(Item.state) == ItemState.QUARANTINED,
        col(Item.filed_as).is_not(None),
    )
    for folder in folders:
        query = query.where(~col(Item.filed_as).startswith(folder + "/"))
    return list(session.exec(query))


def recent_drops(session: Session, limit: int) -> list[Item]:
    """The latest items of the drop folder, newest first."""
    query = select(Item).where(col(Item.channel) == Channel.DROP).order_by(col(Item.id).desc()).limit(limit)
    return list(session.exec(query))


def keep_artefact(session: Session, artefact: Artefact) -> None:
    """Stores what a step made, over what an earlier run of the step made."""
    session.merge(artefact)
    session.flush()


def artefact(session: Session, item_id: str, stage: Stage) -> Artefact | None:
    """What the step made of the item, or None when it has not run."""
    return session.get(Artefact, (item_id, stage))


def used_originals(session: Session) -> set[str]:
    """Digests of all originals that an item names."""
    return set(session.exec(select(Item.original_digest).distinct()))
