"""The shape of an extractor: what one file of this family declares. Holds no reading code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from pipelines.model.values import Extracted


@dataclass(frozen=True, slots=True)
class Extractor:
    """One way to turn an original into Markdown.

    ``media_types``: what it reads; ``text/*`` stands for every text type that nobody names. ``needs``: modules to
    import before the child gives up its rights. ``version``: rises when the same bytes give another text.
    ``read``: from the open original (at its start) and its name; raises ``Unreadable`` with a quarantine reason.
    ``sample``: a tiny original, read once at the start so that lazily loaded files of the libraries are in memory.
    ``text_limit``: whether the whole original counts as text and is refused above ``Policy.max_text_bytes``.
    """

    media_types: tuple[str, ...]
    needs: tuple[str, ...]
    version: str
    read: Callable[[BinaryIO, str], Extracted]
    sample: bytes
    text_limit: bool = False
