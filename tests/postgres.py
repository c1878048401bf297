"""A private PostgreSQL: one server a run, one fresh database a test; never touches a server of the machine."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from pipelines.store.database import open_database
from tests.waiting import until

_TEMPLATE: Final = "narthex_template"
_START_SECONDS: Final = 60.0
_OWNER: Final = "narthex"


@dataclass(frozen=True)
class Cluster:
    """A running server, reachable through a socket in ``folder`` by who may read that folder."""

    folder: Path

    def url(self, database: str) -> str:
        """What a setting ``database_url`` would hold."""
        return f"postgresql:///{database}?host={self.folder}&user={_OWNER}"

    def run(self, statement: str) -> None:
        """One administrative statement, outside any transaction."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def make_template(self) -> None:
        """Migrates one database, of which every later one is a copy."""
        self.run(f"CREATE DATABASE {_TEMPLATE}")
        open_database(self.url(_TEMPLATE)).close()

    @contextmanager
    def database(self, name: str, *, migrated: bool = True) -> Iterator[str]:
        """The URL of a fresh database that goes when the block ends, whoever is still connected."""
        self.run(f"CREATE DATABASE {name}" + (f" TEMPLATE {_TEMPLATE}" if migrated else ""))
        try:
            yield self.url(name)
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def running_cluster(programs: Path) -> Iterator[Cluster]:
    """Starts a server in a folder of its own and ends it; as root it runs as another user, as PostgreSQL demands."""
    folder = Path(tempfile.mkdtemp(prefix="nxpg-", dir="/tmp"))  # short: a socket's path holds 107 bytes
    user, group = _server_user()
    if user is not None and group is not None:
        os.chown(folder, user, group)
    try:
        _initialise(programs, folder, user, group)
        server = _start(programs, folder, user, group)
        try:
            cluster = Cluster(folder)
            until(lambda: _answers(cluster, server), _START_SECONDS)
            cluster.make_template()
            yield cluster
        finally:
            server.send_signal(signal.SIGINT)  # "fast": ends sessions, does not wait for them
            server.wait(timeout=_START_SECONDS)
    finally:
        shutil.rmtree(folder)


def _server_user() -> tuple[int, int] | tuple[None, None]:
    if os.geteuid() != 0:
        return None, None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres") or known["nobody"]
    return entry.pw_uid, entry.pw_gid


def _initialise(programs: Path, folder: Path, user: int | None, group: int | None) -> None:
    command = [str(programs / "initdb"), "--pgdata", str(folder / "data"), "--username", _OWNER, "--auth", "trust"]
    command += ["--encoding", "UTF8", "--locale", "C", "--no-sync"]
    with (folder / "initdb.log").open("wb") as log:
        done = subprocess.run(command, stdout=log, stderr=log, check=False, cwd=folder, user=user, group=group)
    if done.returncode != 0:
        raise AssertionError(f"initdb failed:\n{(folder / 'initdb.log').read_text()}")


def _start(programs: Path, folder: Path, user: int | None, group: int | None) -> subprocess.Popen[bytes]:
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(folder),
        "fsync": "off",  # durability is proved on SQLite and by the crash rig; here only the answers count
        "full_page_writes": "off",
        "shared_buffers": "32MB",
        "max_connections": "60",
    }
    command = [str(programs / "postgres"), "-D", str(folder / "data")]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    with (folder / "server.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, user=user, group=group)


def _answers(cluster: Cluster, server: subprocess.Popen[bytes]) -> bool:
    if server.poll() is not None:
        raise AssertionError(f"PostgreSQL ended:\n{(cluster.folder / 'server.log').read_text()}")
    try:
        cluster.run("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True
