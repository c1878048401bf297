"""The straight line of one item: STEPS says what follows each state. A step returns; only ``advance`` commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from sqlmodel import Session

from pipelines import originals
from pipelines.model.actor import Actor, daemon_actor
from pipelines.model.errors import Away, Broken, NarthexError, StaleState, StorageFull, Unreadable
from pipelines.model.failpoint import reach
from pipelines.model.lifecycle import PROPOSAL_UNDECIDED, ItemState, QuarantineReason
from pipelines.model.records import Artefact, Item
from pipelines.model.values import Completeness, Extracted, Extraction, ItemKind, Normalized, Stage
from pipelines.normalize import VERSION as NORMALIZE_VERSION
from pipelines.normalize import normalize
from pipelines.premises import Premises
from pipelines.propose import Draft, drafts_for, enter_draft
from pipelines.store import items, proposals, runs
from pipelines.store.items import Lease
from pipelines.store.moves import move_item, move_proposal, release_item

_WORKER: Final = daemon_actor(name="worker")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step achieved: the event that moves the item, and what is stored with it in the same transaction."""

    event: str
    artefact: Artefact | None = None
    changes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    drafts: tuple[Draft, ...] = ()


Step = Callable[[Premises, Item], Outcome]


def extract(p: Premises, item: Item) -> Outcome:
    """Bytes → text, in a child process with limits. Raises ``Unreadable`` with the reason of the quarantine."""
    place = originals.path_of(p.home.originals, item.original_digest)
    extraction = p.extraction.extract(place, _hint(item))
    found = extraction.extracted
    artefact = Artefact(
        item_id=item.id,
        stage=Stage.EXTRACTED,
        made_by=extraction.extractor,
        version=extraction.version,
        text=found.text,
        meta={**found.metadata, "detected_by": extraction.detected_by},
        completeness=found.completeness,
        details=list(found.details),
    )
    changes = {"media_type": extraction.media_type, "completeness": found.completeness}
    return Outcome("extracted", artefact, changes)


def clean(p: Premises, item: Item) -> Outcome:
    """Text → clean Markdown with title, author, dates and language."""
    source = _artefact(p, item, Stage.EXTRACTED)
    meta = {str(key): str(value) for key, value in source.meta.items() if key != "detected_by"}
    if item.kind is ItemKind.TEXT:
        meta["title"] = item.name  # what the person called it, or its first line
    extracted = Extracted(source.text, meta, source.completeness, tuple(source.details))
    extraction = Extraction(
        extracted, item.media_type or "", str(source.meta.get("detected_by", "")), source.made_by, source.version
    )
    text = normalize(extraction, _title_of(item))
    artefact = Artefact(
        item_id=item.id,
        stage=Stage.NORMALIZED,
        made_by="normalize",
        version=NORMALIZE_VERSION,
        text=text.markdown,
        meta={
            "title": text.title,
            "author": text.author,
            "published": text.published,
            "language": text.language,
            "words": text.words,
            "flags": list(text.flags),
        },
        completeness=text.completeness,
        details=list(text.details),
    )
    return Outcome("normalized", artefact, {"completeness": text.completeness})


def suggest(p: Premises, item: Item) -> Outcome:
    """Clean Markdown → drafts of every producer; they become proposals when the outcome is committed."""
    drafts = drafts_for(p, item, normalized(_artefact(p, item, Stage.NORMALIZED)), _WORKER)
    if not drafts:
        raise Unreadable("there are no words in it", reason=QuarantineReason.EMPTY)
    return Outcome("proposed", changes={"due": None}, drafts=drafts)


STEPS: Final[Mapping[ItemState, Step]] = MappingProxyType(
    {ItemState.FETCHED: extract, ItemState.EXTRACTED: clean, ItemState.NORMALIZED: suggest}
)


def lease_due(p: Premises, limit: int) -> list[Lease]:
    """Takes up to ``limit`` items that are due; the lease runs out after ``policy.lease``."""
    return p.database.write(lambda session: items.lease_due(session, p.clock(), p.policy.lease, limit))


def advance(p: Premises, lease: Lease) -> ItemState:
    """Runs the next step of a leased item and commits its outcome; answers the new state.

    The lease lasts on for the step that follows, if any. Raises what the step raises (give it to ``give_back``), and
    ``StaleState`` when the lease passed to another worker or the owner discarded the item.
    """
    with p.database.read() as session:
        item = items.item(session, lease.item_id)
    if item.attempts != lease.token or item.state not in STEPS:
        raise StaleState(f"{item.id} is no longer leased to this worker")
    if lease.tries > p.policy.max_attempts:
        raise Unreadable(f"stopped after {p.policy.max_attempts} tries; last problem: {item.problem or 'a crash'}")
    outcome = STEPS[item.state](p, item)
    reach(f"process.{outcome.event}_ready")
    state = p.database.write(lambda session: _commit(p, session, item, lease, outcome))
    reach(f"process.{outcome.event}_committed")
    return state


def _commit(p: Premises, session: Session, item: Item, lease: Lease, outcome: Outcome) -> ItemState:
    now = p.clock()
    changes = {"due": now + p.policy.lease, "tries": 0, "problem": "", **outcome.changes}
    move_item(session, item.id, outcome.event, _WORKER, now, token=lease.token, **changes)
    if outcome.artefact is not None:
        items.keep_artefact(session, outcome.artefact)
    for planned in outcome.drafts:
        enter_draft(p, session, planned, _WORKER)
    if outcome.drafts and proposals.undecided_on_item(session, item.id) == 0:
        reason = "everything in it is proposed or was rejected already"
        move_item(session, item.id, "resolved", _WORKER, now, reason=reason)
    return items.item(session, item.id).state


def give_back(p: Premises, lease: Lease, error: NarthexError) -> None:
    """Ends a lease whose step failed: unreadable content is quarantined, anything else is tried again later.

    After ``policy.max_attempts`` tries the item is parked in quarantine, so that it cannot hold up the rest. A full
    disk or an absent vault is nobody's fault: the item waits until that is over.
    """
    reason = QuarantineReason(error.reason) if isinstance(error, Unreadable) else QuarantineReason.FAILED
    own_fault = not isinstance(error, StorageFull | Away)
    now = p.clock()

    def end(session: Session) -> None:
        if isinstance(error, Unreadable) or (own_fault and lease.tries >= p.policy.max_attempts):
            changes: dict[str, Any] = {"due": None, "quarantine_reason": reason, "problem": _plainly(error)}
            move_item(session, lease.item_id, "quarantined", _WORKER, now, token=lease.token, reason=reason, **changes)
        else:
            delays = p.policy.retry_delays
            wait = delays[min(lease.tries - 1, len(delays) - 1)]
            items.put_off(session, lease, now + wait, _plainly(error), counts=own_fault)

    p.database.write(end)


def put_down(p: Premises, lease: Lease) -> None:
    """Ends a lease because the process ends: the item is due at once, and the try does not count against it."""
    p.database.write(lambda session: items.put_off(session, lease, p.clock(), "", counts=False))


def recover(p: Premises) -> int:
    """Makes due at once what a worker that is gone held, or had put off; answers how many items. Frees cut-off runs.

    Called at the start, and only by a process that works alone on its database. Attempts go on counting.
    """

    def take_up(session: Session) -> int:
        runs.forget_unfinished(session)
        return items.end_leases(session, p.clock())

    return p.database.write(take_up)


def release(p: Premises, item_id: str, owner: Actor) -> Item:
    """Sets a quarantined item going again from its original. Raises ``StaleState`` when it is not in quarantine."""

    def move(session: Session) -> Item:
        release_item(session, item_id, owner, p.clock())
        return items.item(session, item_id)

    return p.database.write(move)


def discard(p: Premises, item_id: str, owner: Actor) -> Item:
    """Takes an item out of the inbox, and its undecided proposals with it; the original stays."""

    def move(session: Session) -> Item:
        now = p.clock()
        why = "its item was discarded"
        for row in proposals.proposals_of_item(session, item_id):
            if row.state in PROPOSAL_UNDECIDED:
                move_proposal(session, row.id, "withdrawn", owner, now, reason=item_id, problem=why)
        move_item(session, item_id, "discarded", owner, now, due=None)
        return items.item(session, item_id)

    return p.database.write(move)


def normalized(artefact: Artefact) -> Normalized:
    """The stored result of the normalize step as a value."""
    meta = artefact.meta
    return Normalized(
        markdown=artefact.text,
        title=str(meta["title"]),
        author=str(meta["author"]),
        published=str(meta["published"]),
        language=str(meta["language"]),
        words=int(meta["words"]),
        completeness=Completeness(artefact.completeness),
        details=tuple(artefact.details),
        flags=tuple(str(flag) for flag in meta["flags"]),
    )


def _artefact(p: Premises, item: Item, stage: Stage) -> Artefact:
    with p.database.read() as session:
        found = items.artefact(session, item.id, stage)
    if found is None:
        raise Broken(f"{item.id} is {item.state} but nothing was {stage}")
    return found


def _hint(item: Item) -> str:
    return {ItemKind.TEXT: "text.md", ItemKind.LINK: "link.uri", ItemKind.FILE: item.name}[item.kind]


def _title_of(item: Item) -> str:
    return item.name.rpartition(".")[0] or item.name if item.kind is ItemKind.FILE else item.name


def _plainly(error: NarthexError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message
