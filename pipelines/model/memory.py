"""A memory as a person reads it: one line (L0), a summary (L1), the detail (L2). Knows sizes and shape, not files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pipelines.model.errors import Invalid

L0_CHARACTERS: Final = 160
L1_WORDS: Final = 150
L2_BYTES: Final = 64 * 1024
TITLE_CHARACTERS: Final = 200
TAGS: Final = 20


class MemoryType(StrEnum):
    """What kind of knowledge it is."""

    SOURCE = "source"
    CONCEPT = "concept"
    PREFERENCE = "preference"
    DECISION = "decision"
    EPISODE = "episode"


@dataclass(frozen=True, slots=True)
class MemoryText:
    """The content of one revision.

    ``created`` is the ISO day of the first revision; ``source`` is the address or file name it came from, or empty.
    """

    id: str
    title: str
    type: MemoryType
    l0: str
    l1: str
    l2: str
    tags: tuple[str, ...]
    scope: str
    created: str
    source: str = ""

    def check(self) -> None:
        """Raises ``Invalid`` naming the first limit that is exceeded; the limits stand at the top."""
        if not self.title.strip() or len(self.title) > TITLE_CHARACTERS or "\n" in self.title:
            raise Invalid(f"the title must be one line of 1 to {TITLE_CHARACTERS} characters")
        if len(self.l0) > L0_CHARACTERS or "\n" in self.l0:
            raise Invalid(f"L0 must be one line of at most {L0_CHARACTERS} characters, it has {len(self.l0)}")
        if len(self.l1.split()) > L1_WORDS:
            raise Invalid(f"L1 may have {L1_WORDS} words, it has {len(self.l1.split())}")
        if len(self.l2.encode()) > L2_BYTES:
            raise Invalid(f"L2 may have {L2_BYTES} bytes, it has {len(self.l2.encode())}")
        if len(self.tags) > TAGS:
            raise Invalid(f"at most {TAGS} tags")
