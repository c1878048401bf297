"""Words for people: flags, quarantine reasons and labels in sentences. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pipelines.model.lifecycle import ItemState, ProposalState, QuarantineReason, RejectReason
from pipelines.model.values import SourceLabel

NEXT_STEP: Final[Mapping[QuarantineReason, str]] = MappingProxyType(
    {
        QuarantineReason.NEEDS_PASSWORD: "It is protected by a password. Save it without one and drop it again.",
        QuarantineReason.NEEDS_OCR: "It holds pictures of text only. Make its text searchable (OCR) and drop it again.",
        QuarantineReason.UNSUPPORTED: "narthex cannot read this format yet. Convert it to PDF, HTML or text.",
        QuarantineReason.TOO_LARGE: "It is larger than the limit. Capture a part, or raise the limit in the settings.",
        QuarantineReason.EMPTY: "It holds no text. Capture it again when it does, or discard it.",
        QuarantineReason.FAILED: "Reading it failed. Try it again; if it fails again, convert it or discard it.",
    }
)
ITEM_STATE: Final[Mapping[ItemState, str]] = MappingProxyType(
    {
        ItemState.FETCHED: "safe, waiting to be read",
        ItemState.EXTRACTED: "read, waiting to be cleaned up",
        ItemState.NORMALIZED: "clean, waiting for proposals",
        ItemState.PROPOSED: "waits for your review",
        ItemState.RESOLVED: "done",
        ItemState.DUPLICATE: "known already",
        ItemState.QUARANTINED: "needs your help",
        ItemState.DISCARDED: "discarded",
    }
)
PROPOSAL_STATE: Final[Mapping[ProposalState, str]] = MappingProxyType(
    {
        ProposalState.PENDING: "waits for your decision",
        ProposalState.PROMOTED: "approved: it is a memory",
        ProposalState.REJECTED: "rejected",
        ProposalState.WITHDRAWN: "taken back",
        ProposalState.STALE: "out of date: what it would change has changed",
    }
)
REASON: Final[Mapping[RejectReason, str]] = MappingProxyType(
    {
        RejectReason.UNSPECIFIED: "no reason",
        RejectReason.WRONG: "it is wrong",
        RejectReason.NOT_USEFUL: "it is not useful",
        RejectReason.ALREADY_KNOWN: "I know it already",
        RejectReason.WRONG_PLACE: "it belongs elsewhere",
    }
)
SOURCE: Final[Mapping[SourceLabel, str]] = MappingProxyType(
    {
        SourceLabel.OWNER: "your own words",
        SourceLabel.DROPPED: "a file from the drop folder: somebody else may have written it",
        SourceLabel.CAPTURED: "captured from elsewhere: somebody else wrote it",
        SourceLabel.AGENT: "an agent's words: nobody has checked them",
        SourceLabel.VAULT: "an edit in the vault, outside narthex",
    }
)
DONE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "approved": "Approved: it is a memory now, and its file is in the vault.",
        "kept": "Approved. Its file in the vault was changed outside and stays as it is; that edit becomes a proposal.",
        "rejected": "Rejected: the same will not be proposed again.",
    }
)


def action_words(action: str) -> str:
    """The kind of change, as words: ``create_memory`` reads "create memory"."""
    return action.replace("_", " ")


def flag_words(flag: str) -> str:
    """A flag as words; an unknown one is shown as it is, never dropped."""
    return flag.replace("_", " ").replace(":", ": ")
