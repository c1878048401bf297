"""Everything of one narthex that a use case may touch, as one value; decides nothing and does nothing."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.index.search_index import SearchIndex
from pipelines.isolate import ExtractionPool
from pipelines.model.identity import Clock, Ids
from pipelines.model.policy import Policy
from pipelines.model.values import Home
from pipelines.store.database import Database


@dataclass(frozen=True, slots=True)
class Premises:
    """Built once, in ``daemon.wiring`` (and by the tests); every part is safe to share between threads."""

    home: Home
    database: Database
    index: SearchIndex
    extraction: ExtractionPool
    clock: Clock
    ids: Ids
    policy: Policy
