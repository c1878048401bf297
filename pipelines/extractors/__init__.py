"""The family of extractors: one file a format, bytes in, Markdown out. Runs in the child, never in the daemon."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from pipelines.extractors._extractor import Extractor
from pipelines.model.family import Family

__all__ = ["EXTRACTORS", "Extractor", "extractor_for", "supported"]

EXTRACTORS: Family[Extractor] = Family(sys.modules[__name__], Extractor)


def extractor_for(media_type: str, family: Family[Extractor] = EXTRACTORS) -> tuple[str, Extractor] | None:
    """Name and extractor of a media type; a name in full wins over a ``text/*``. None: nobody reads it."""
    wildcard = media_type.partition("/")[0] + "/*"
    for wanted in (media_type, wildcard):
        for name, extractor in family.load().items():
            if wanted in extractor.media_types:
                return name, extractor
    return None


def supported(names: Iterable[str]) -> str:
    """The formats that can be read, as a person would say them."""
    return ", ".join(sorted(names))
