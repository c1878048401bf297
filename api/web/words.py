"""Words for people: flags, quarantine reasons and labels in sentences. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
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
CHANGE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "create_memory": "New memory",
        "adopt_note": "Note becomes a memory",
        "revise_memory": "Change of a memory",
        "retract_memory": "Removal of a memory",
    }
)
VAULT_EDIT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "adopt_note": "a note that was put into the vault, outside narthex",
        "revise_memory": "its file was edited in the vault, outside narthex",
        "retract_memory": "its file was deleted from the vault, outside narthex",
    }
)
# each is followed by the path of the file
EFFECT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "create_memory": "Approving stores the text below as a memory, in the new file",
        "adopt_note": "Approving makes your note a memory; its text stays, a line with an id is put into",
        "revise_memory": "Approving replaces the approved text of",
        "retract_memory": "Approving removes this memory: it is no longer found, and this file leaves the vault:",
    }
)
DECIDED: Final[Mapping[ProposalState, str]] = MappingProxyType(
    {
        ProposalState.PROMOTED: "Approved",
        ProposalState.REJECTED: "Rejected",
        ProposalState.WITHDRAWN: "Taken back",
    }
)
# each is followed by the path
APPROVED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "create_memory": "It is now a memory at",
        "adopt_note": "It is now a memory at",
        "revise_memory": "It has its new text now, at",
        "retract_memory": "It is no longer a memory, and this file has left the vault:",
    }
)
REJECTED: Final = "The same will not be proposed again for"
KEPT: Final = "It stays a memory, at"
NOT_WRITTEN: Final = (
    "The file does not hold it yet: it was changed outside narthex, and that edit becomes a proposal, "
    "or it cannot be written at the moment."
)
_FLAG: Final[Mapping[str, str]] = MappingProxyType(
    {
        "invisible_characters": "it holds characters that cannot be seen",
        "partial": "a part of the source could not be read",
        "link_only": "only the address was captured, not what is there",
        "encoding_repaired": "letters of the source were repaired",
        "plain_text": "taken in as plain text: its structure was not read",
        "cut": "cut: the source is longer than a memory may be",
    }
)


def change_words(action: str) -> str:
    """The kind of change in words; an unknown one reads as it is called."""
    return CHANGE.get(action, action.replace("_", " "))


def flag_words(flag: str) -> str:
    """A flag as words; an unknown one is shown as it is, never dropped."""
    return _FLAG.get(flag, flag.replace("_", " ").replace(":", ": "))


def moment(time: datetime) -> str:
    """To the minute, in UTC like every time of narthex."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
