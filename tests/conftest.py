"""What every test may ask for: a clock, ids, a home on disk, both databases; no double stands for code of ours."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from pipelines.isolate import ExtractionPool, Limits
from pipelines.model.identity import Ids
from pipelines.model.values import Home
from pipelines.premises import Premises
from pipelines.store.database import Database, open_database
from tests.clock import SettableClock
from tests.need import need, postgresql_programs
from tests.opening import opened_premises
from tests.postgres import Cluster, running_cluster

_database_numbers: Final = itertools.count(1)


@pytest.fixture
def clock() -> SettableClock:
    """Stands at a Monday noon in UTC until the test moves it."""
    return SettableClock(datetime(2026, 3, 2, 12, 0, tzinfo=UTC))


@pytest.fixture
def ids(clock: SettableClock) -> Ids:
    """Ids that are the same in every run."""
    return Ids(clock, random.Random(7).getrandbits)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose folders exist and are empty, below a name with a space and an accent."""
    home = Home(tmp_path / "Narthex é home")
    for folder in (home.root, home.drop, home.vault, home.state, home.originals):
        folder.mkdir(mode=0o700)
    return home


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Cluster]:
    """The run's own server; skips, or fails where it is required, when there is none to start."""
    need("postgresql")
    programs = postgresql_programs()
    assert programs is not None
    with running_cluster(programs) as cluster:
        yield cluster


@pytest.fixture
def postgresql_url(postgresql: Cluster) -> Iterator[str]:
    """A fresh, migrated database."""
    with postgresql.database(f"test_{next(_database_numbers)}") as url:
        yield url


@pytest.fixture
def empty_postgresql_url(postgresql: Cluster) -> Iterator[str]:
    """A fresh database without a single table, for tests of migrations."""
    with postgresql.database(f"empty_{next(_database_numbers)}", migrated=False) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest) -> Path | str:
    """Where a database of each kind can be opened: a file to be, or a URL."""
    if request.param == "sqlite":
        home: Home = request.getfixturevalue("home")
        return home.database
    url: str = request.getfixturevalue("postgresql_url")
    return url


@pytest.fixture
def database(location: Path | str) -> Iterator[Database]:
    """An open, migrated store; the test runs once on SQLite and once on PostgreSQL."""
    database = open_database(location)
    yield database
    database.close()


@pytest.fixture(scope="session")
def extraction() -> Iterator[ExtractionPool]:
    """One real child for reading files; it starts when the first file is read."""
    pool = ExtractionPool(Limits())
    yield pool
    pool.close()


@pytest.fixture
def premises(home: Home, clock: SettableClock, ids: Ids, extraction: ExtractionPool) -> Iterator[Premises]:
    """A whole narthex on SQLite, without the process around it."""
    with opened_premises(home, home.database, clock, ids, extraction) as premises:
        yield premises


@pytest.fixture
def premises_on_both(
    home: Home, location: Path | str, clock: SettableClock, ids: Ids, extraction: ExtractionPool
) -> Iterator[Premises]:
    """The same; the test runs once on SQLite and once on PostgreSQL."""
    with opened_premises(home, location, clock, ids, extraction) as premises:
        yield premises
