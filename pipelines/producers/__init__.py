"""Family: a file is a way to propose. A producer reads one normalized item and suggests; it stores nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.model.family import Family
from pipelines.model.records import Item
from pipelines.model.values import Normalized, Suggestion


@dataclass(frozen=True, slots=True)
class Producer:
    """``suggest`` gets the item, its normalized text and the tags that the owner uses; deterministic."""

    version: str
    suggest: Callable[[Item, Normalized, Sequence[str]], list[Suggestion]]


producers: Family[Producer] = Family(sys.modules[__name__], Producer)
