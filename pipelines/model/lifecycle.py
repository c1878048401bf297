"""All state machines, as tables: which event leads from where to where, and who may cause it. Never performs a move.

A state is a past participle: it says what has been achieved. Working on something is no state but a lease.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Generic, TypeVar

from pipelines.model.actor import ActorKind


class ItemState(StrEnum):
    """How far a captured thing has come."""

    FETCHED = "fetched"
    EXTRACTED = "extracted"
    NORMALIZED = "normalized"
    PROPOSED = "proposed"
    RESOLVED = "resolved"
    DUPLICATE = "duplicate"
    QUARANTINED = "quarantined"
    DISCARDED = "discarded"


class ProposalState(StrEnum):
    """What became of one suggested change. Approval is no resting state: it promotes in the same transaction."""

    PENDING = "pending"
    PROMOTED = "promoted"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    STALE = "stale"


class MemoryState(StrEnum):
    """Whether a memory is current knowledge."""

    ACTIVE = "active"
    RETRACTED = "retracted"


class Verification(StrEnum):
    """The second axis: whether the file in the vault is what the owner approved.

    ``unreviewed``: the file was changed or removed outside; the last approved revision goes on being served.
    """

    VERIFIED = "verified"
    UNREVIEWED = "unreviewed"


class QuarantineReason(StrEnum):
    """Why an item waits for a person."""

    NEEDS_PASSWORD = "needs_password"
    NEEDS_OCR = "needs_ocr"
    UNSUPPORTED = "unsupported"
    TOO_LARGE = "too_large"
    EMPTY = "empty"
    FAILED = "failed"


class RejectReason(StrEnum):
    """Why the owner said no."""

    WRONG = "wrong"
    NOT_USEFUL = "not_useful"
    ALREADY_KNOWN = "already_known"
    WRONG_PLACE = "wrong_place"
    UNSPECIFIED = "unspecified"


class Verdict(StrEnum):
    """What the owner may answer to a proposal."""

    APPROVE = "approve"
    REJECT = "reject"


State = TypeVar("State", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Move(Generic[State]):
    """One row of a table. ``sources`` empty: the event creates the row in state ``target``."""

    event: str
    sources: frozenset[State]
    target: State
    actors: frozenset[ActorKind]


def _move(event: str, sources: set[State], target: State, actors: set[ActorKind]) -> tuple[str, Move[State]]:
    return event, Move(event, frozenset(sources), target, frozenset(actors))


_OWNER = {ActorKind.OWNER}
_DAEMON = {ActorKind.DAEMON}
_BOTH = _OWNER | _DAEMON
_CAPTURERS = {ActorKind.OWNER, ActorKind.CLIENT, ActorKind.AGENT, ActorKind.DAEMON}
_OPEN = {ItemState.FETCHED, ItemState.EXTRACTED, ItemState.NORMALIZED, ItemState.PROPOSED}

ITEM_MOVES = MappingProxyType(
    dict(
        (
            _move("captured", set(), ItemState.FETCHED, _CAPTURERS),
            _move("extracted", {ItemState.FETCHED}, ItemState.EXTRACTED, _DAEMON),
            _move("normalized", {ItemState.EXTRACTED}, ItemState.NORMALIZED, _DAEMON),
            _move("proposed", {ItemState.NORMALIZED}, ItemState.PROPOSED, _DAEMON),
            _move("resolved", {ItemState.PROPOSED}, ItemState.RESOLVED, _BOTH),
            _move("duplicated", {ItemState.FETCHED}, ItemState.DUPLICATE, _CAPTURERS),
            _move("quarantined", _OPEN, ItemState.QUARANTINED, _DAEMON),
            _move("released", {ItemState.QUARANTINED}, ItemState.FETCHED, _BOTH),
            _move("discarded", _OPEN | {ItemState.QUARANTINED}, ItemState.DISCARDED, _OWNER),
        )
    )
)

_WITHDRAWERS = {ActorKind.OWNER, ActorKind.AGENT, ActorKind.CLIENT, ActorKind.DAEMON}

PROPOSAL_MOVES = MappingProxyType(
    dict(
        (
            _move("submitted", set(), ProposalState.PENDING, _CAPTURERS),
            _move("approved", {ProposalState.PENDING}, ProposalState.PROMOTED, _OWNER),
            _move("rejected", {ProposalState.PENDING, ProposalState.STALE}, ProposalState.REJECTED, _OWNER),
            _move("withdrawn", {ProposalState.PENDING, ProposalState.STALE}, ProposalState.WITHDRAWN, _WITHDRAWERS),
            _move("rebased", {ProposalState.PENDING}, ProposalState.PENDING, _DAEMON),
            _move("went_stale", {ProposalState.PENDING}, ProposalState.STALE, _BOTH),
        )
    )
)

MEMORY_MOVES = MappingProxyType(
    dict(
        (
            _move("created", set(), MemoryState.ACTIVE, _OWNER),
            _move("revised", {MemoryState.ACTIVE}, MemoryState.ACTIVE, _OWNER),
            _move("retracted", {MemoryState.ACTIVE}, MemoryState.RETRACTED, _OWNER),
        )
    )
)

VERIFICATION_MOVES = MappingProxyType(
    dict(
        (
            _move("changed_outside", {Verification.VERIFIED}, Verification.UNREVIEWED, _DAEMON),
            _move("matches_again", {Verification.UNREVIEWED}, Verification.VERIFIED, _BOTH),
        )
    )
)

ITEM_OPEN = frozenset(_OPEN)
PROPOSAL_UNDECIDED = frozenset({ProposalState.PENDING, ProposalState.STALE})
