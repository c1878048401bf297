"""What must hold after any crash, read from the disk of a narthex that does not run. Says all that is wrong."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sqlmodel import Session, select

from pipelines import originals
from pipelines.model.lifecycle import ItemState, ProposalState
from pipelines.model.records import Event, Item, Memory, MemoryRevision, Proposal
from pipelines.model.values import Home
from pipelines.store import events, memories
from pipelines.store.database import open_database


@dataclass(slots=True)
class Promised:
    """What was acknowledged: SHA-256 of captured bytes by item id, and proposals whose approval was answered."""

    captures: dict[str, str] = field(default_factory=dict)
    approvals: list[str] = field(default_factory=list)
    dropped: dict[str, bytes] = field(default_factory=dict)


def violations(home: Home, promised: Promised) -> list[str]:
    """Empty when every promise was kept. ``dropped`` files are expected to have been taken by now."""
    database = open_database(home.database)
    try:
        with database.read() as session:
            return [
                *_chain(session),
                *_events_beside_rows(session),
                *_captures(session, home, promised.captures),
                *_dropped(session, home, promised.dropped),
                *_approvals(session, home, promised.approvals),
            ]
    finally:
        database.close()


def _chain(session: Session) -> list[str]:
    check = events.verify_chain(session)
    return [] if check.ok else [f"chain: {check.problem}"]


def _events_beside_rows(session: Session) -> list[str]:
    """Every row was told of when it came, and nothing is told of that has no row."""
    told = Counter((event.subject, event.action) for event in session.exec(select(Event)))
    rows: list[tuple[str, str]] = [(item.id, "captured") for item in session.exec(select(Item))]
    rows += [(proposal.id, "submitted") for proposal in session.exec(select(Proposal))]
    rows += [(memory.id, "created") for memory in session.exec(select(Memory))]
    missing = [f"{row} exists without its event '{action}'" for row, action in rows if told[row, action] != 1]
    known = {row for row, _ in rows}
    orphans = {s for s, action in told if action in {"captured", "submitted", "created"} and s not in known}
    return missing + [f"an event tells of {subject}, which is not there" for subject in orphans]


def _captures(session: Session, home: Home, captures: dict[str, str]) -> list[str]:
    wrong = []
    for item in session.exec(select(Item)):
        if not originals.matches(home.originals, item.original_digest):
            wrong.append(f"the original of {item.id} is missing or torn")
    for item_id, digest in captures.items():
        row = session.get(Item, item_id)
        if row is None or row.original_digest != digest:
            wrong.append(f"the acknowledged capture {item_id} is missing")
    return wrong


def _dropped(session: Session, home: Home, dropped: dict[str, bytes]) -> list[str]:
    wrong = []
    places = _by_digest(path for path in home.drop.rglob("*") if path.is_file())
    for name, content in dropped.items():
        digest = hashlib.sha256(content).hexdigest()
        rows = [row for row in session.exec(select(Item).where(Item.original_digest == digest))]
        live = [row for row in rows if row.state is not ItemState.DUPLICATE]
        if len(rows) != 1 or len(live) != 1:
            wrong.append(f"{name} became {len(rows)} items")
        if len(places.get(digest, [])) != 1:
            wrong.append(f"{name} lies in {[str(p.relative_to(home.drop)) for p in places.get(digest, [])]}")
        if (home.drop / name).exists():
            wrong.append(f"{name} never left the drop folder")
    return wrong


def _by_digest(paths: Iterable[Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in paths:
        found.setdefault(hashlib.sha256(path.read_bytes()).hexdigest(), []).append(path)
    return found


def _approvals(session: Session, home: Home, approvals: list[str]) -> list[str]:
    wrong = []
    promoted = {row.id for row in session.exec(select(Proposal)) if row.state is ProposalState.PROMOTED}
    wrong += [f"the acknowledged approval of {row} is missing" for row in approvals if row not in promoted]
    made = Counter(revision.proposal_id for revision in session.exec(select(MemoryRevision)))
    wrong += [f"{row} made {made[row]} revisions" for row in promoted if made[row] != 1]
    wrong += [f"{row} made a revision without being approved" for row in made if row not in promoted]
    if wishes := memories.wanted_projections(session):
        wrong.append(f"{len(wishes)} files are still to be written")
    for memory, revision in memories.current_revisions(session):
        place = home.vault / memory.path
        there = place.read_bytes() if place.is_file() else None
        if there != (None if revision.content is None else revision.content.encode()):
            wrong.append(f"the file of {memory.id} is missing or torn")
    wrong += [f"left over: {path.name}" for path in home.vault.rglob("*.nx-tmp")]
    return wrong
