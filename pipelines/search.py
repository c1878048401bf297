"""Ranked search over approved memories for people and agents. Serves nothing that state.db does not confirm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlmodel import Session

from pipelines.index.refresh import catch_up, is_behind, refresh
from pipelines.index.search_index import Candidate, IndexGone
from pipelines.index.snippet import snippet
from pipelines.index.tokens import QueryPlan, plan
from pipelines.model.actor import Actor, ActorKind
from pipelines.model.errors import NotPermitted
from pipelines.model.lifecycle import MemoryState, Verification
from pipelines.model.memory import MemoryType
from pipelines.model.records import Memory, MemoryRevision
from pipelines.premises import Premises
from pipelines.store.memories import current_revision
from pipelines.vault.memory_file import parse

_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Hit:
    """An approved revision that matches. ``matches`` are half-open ranges in ``snippet``; a higher score is better."""

    memory_id: str
    revision_id: str
    title: str
    path: str
    type: MemoryType
    scope: str
    verification: Verification
    snippet: str
    matches: tuple[tuple[int, int], ...]
    score: float


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """``hits`` best first; ``query`` as it was asked."""

    hits: list[Hit]
    query: str


def search(p: Premises, query: str, reader: Actor, *, limit: int = 10) -> SearchAnswer:
    """The best ``limit`` (1 to 100) active memories that hold any telling word of ``query``, within the reader's scope.

    Each hit is the current approved revision at this moment, whatever the index or the vault say. Raises
    ``NotPermitted`` for a reader without a scope who is not the owner, ``Transient`` when no index can be had.
    """
    scopes = _scopes(reader)
    wanted = plan(query)
    most = max(1, min(limit, _MOST))
    try:
        hits, stale = _look(p, wanted, scopes, most)
    except IndexGone:
        catch_up(p.database, p.index)
        hits, stale = _look(p, wanted, scopes, most)
    if stale:
        for memory_id in stale:
            refresh(p.database, p.index, memory_id)
        hits, _ = _look(p, wanted, scopes, most)
    return SearchAnswer(hits, query)


def _scopes(reader: Actor) -> tuple[str, ...] | None:
    if reader.scope is not None:
        return (reader.scope,)
    if reader.kind in (ActorKind.OWNER, ActorKind.DAEMON):
        return None
    raise NotPermitted("this credential has no scope to read in")


def _look(p: Premises, wanted: QueryPlan, scopes: tuple[str, ...] | None, limit: int) -> tuple[list[Hit], list[str]]:
    """The confirmed hits, and the memories whose entry in the index is not what state.db says."""
    with p.database.read() as session:
        behind = is_behind(session, p.index)
    if behind:
        catch_up(p.database, p.index)
    candidates = p.index.find(wanted, scopes, limit)
    hits: list[Hit] = []
    stale: list[str] = []
    with p.database.read() as session:
        for candidate in candidates:
            found = _confirmed(session, candidate)
            if found is None:
                stale.append(candidate.memory_id)
            else:
                hits.append(_hit(*found, candidate.score, wanted))
    return hits, stale


def _confirmed(session: Session, candidate: Candidate) -> tuple[Memory, MemoryRevision] | None:
    found = current_revision(session, candidate.memory_id)
    if found is None:
        return None
    memory, revision = found
    stamp = candidate.stamp
    same = (revision.id, revision.digest, memory.scope) == (stamp.revision_id, stamp.digest, stamp.scope)
    return found if same and memory.state is MemoryState.ACTIVE else None


def _hit(memory: Memory, revision: MemoryRevision, score: float, wanted: QueryPlan) -> Hit:
    text = parse(revision.content or "", revision.title)
    best = snippet(f"{text.l1}\n{text.l2}", wanted.terms)
    if not best.matches:  # it is the title, a tag or L0 that matches
        best = snippet(text.l0, wanted.terms)
    return Hit(
        memory_id=memory.id,
        revision_id=revision.id,
        title=revision.title,
        path=memory.path,
        type=revision.type,
        scope=memory.scope,
        verification=memory.verification,
        snippet=best.text,
        matches=best.matches,
        score=score,
    )
