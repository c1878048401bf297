"""Opens the premises of a home as the daemon does, for tests that close and open them again; starts no thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.index.search_index import SearchIndex
from pipelines.isolate import ExtractionPool
from pipelines.model.identity import Clock, Ids
from pipelines.model.policy import Policy
from pipelines.model.values import Home
from pipelines.premises import Premises
from pipelines.store.database import open_database
from pipelines.vault_edits import claim_vault


@contextmanager
def opened_premises(
    home: Home,
    location: Path | str,
    clock: Clock,
    ids: Ids,
    extraction: ExtractionPool,
    policy: Policy | None = None,
) -> Iterator[Premises]:
    """Database and index are closed when the block ends; ``extraction`` stays the caller's."""
    database = open_database(location)
    index = SearchIndex(home.index)
    try:
        premises = Premises(home, database, index, extraction, clock, ids, policy or Policy())
        claim_vault(premises)
        yield premises
    finally:
        index.close()
        database.close()
