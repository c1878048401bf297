"""Frozen values that travel between the steps; parsed at the edge, never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType


class ItemKind(StrEnum):
    """What was captured."""

    TEXT = "text"
    LINK = "link"
    FILE = "file"


class Completeness(StrEnum):
    """How much of the original the extracted text holds. ``details`` beside it say what is missing."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    LINK_ONLY = "link_only"
    ENCODING_REPAIRED = "encoding_repaired"


class Stage(StrEnum):
    """Which step made an artefact."""

    EXTRACTED = "extracted"
    NORMALIZED = "normalized"


class SourceLabel(StrEnum):
    """The least trusted origin of a text; an agent's own words never raise it."""

    OWNER = "owner"
    DROPPED = "dropped"
    CAPTURED = "captured"
    AGENT = "agent"
    VAULT = "vault"


@dataclass(frozen=True, slots=True)
class Home:
    """Where one narthex lives on disk (``NARTHEX_HOME``); builds paths, touches nothing."""

    root: Path

    @property
    def drop(self) -> Path:
        """The watched folder."""
        return self.root / "drop"

    @property
    def vault(self) -> Path:
        """The Markdown folder that approved memories are projected into."""
        return self.root / "vault"

    @property
    def state(self) -> Path:
        """Everything that is not meant to be opened by hand."""
        return self.root / "state"

    @property
    def originals(self) -> Path:
        """Captured bytes by SHA-256, immutable."""
        return self.state / "originals"

    @property
    def database(self) -> Path:
        """The authority, unless the settings name a PostgreSQL."""
        return self.state / "state.db"

    @property
    def index(self) -> Path:
        """Derived search data; may be deleted."""
        return self.state / "index.db"

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.root / "narthex.toml"


@dataclass(frozen=True, slots=True)
class Original:
    """Captured bytes that are safe on disk: ``digest`` is their SHA-256 in hexadecimal, ``size`` in bytes."""

    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Extracted:
    """What an extractor read from an original.

    ``text`` is Markdown. ``metadata`` holds strings under the keys title, author, published, language, url and whatever
    else the format says. ``details`` say what is missing or repaired, for a person ("pages 3, 4: no text layer").
    """

    text: str
    metadata: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    completeness: Completeness = Completeness.COMPLETE
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """An ``Extracted`` with its provenance: detected media type and why, extractor and its version."""

    extracted: Extracted
    media_type: str
    detected_by: str
    extractor: str
    version: str


@dataclass(frozen=True, slots=True)
class Normalized:
    """Clean Markdown: NFC, LF, no control characters, one final newline; ``words`` counts runs of ``\\w``."""

    markdown: str
    title: str
    author: str
    published: str
    language: str
    words: int
    completeness: Completeness
    details: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote and where it stands in the normalized text of ``item_id``.

    ``start`` and ``end`` are offsets in code points, half-open. ``inferred``: the words were not found there verbatim,
    and the offsets are both 0.
    """

    item_id: str
    quote: str
    start: int
    end: int
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a producer answers: an action, its payload, and the grounds for it."""

    action: str
    payload: Mapping[str, object]
    rationale: str
    confidence: float
    evidence: tuple[Evidence, ...] = ()
    flags: tuple[str, ...] = ()
