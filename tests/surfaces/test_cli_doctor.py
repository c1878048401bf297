"""``narthex doctor`` finds each thing that is wrong, says why and what next, and finds nothing where all is well."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from api.cli import _checkup
from api.cli._checkup import Finding, outside
from api.client import socket_path
from pipelines.model.values import Home
from pipelines.vault import marker
from tests.surfaces.cli_rig import NOON, Commands, ScriptedServer, short_home, tree


@pytest.fixture
def near() -> Iterator[Home]:
    with short_home() as home:
        home.vault.mkdir(mode=0o700)
        home.settings.chmod(0o600)
        yield home


@pytest.fixture
def narthex(tmp_path: Path, near: Home) -> Commands:
    return Commands(tmp_path / "user", variables={"NARTHEX_HOME": str(near.root)})


def wrong(home: Home, inotify: Path = _checkup._INOTIFY) -> list[Finding]:
    """What is not well, seen from outside."""
    return [finding for finding in outside(home, NOON, inotify) if not finding.ok]


def age(path: Path, **ago: float) -> Path:
    """Makes a file that was last written this long before noon."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    moment = (NOON - timedelta(**ago)).timestamp()
    os.utime(path, (moment, moment))
    path.chmod(0o600)
    return path


def test_a_healthy_home_has_no_findings(near: Home) -> None:
    marker.mark(near.vault)
    age(near.database, minutes=1)
    assert wrong(near) == []


def _open_home(home: Home) -> None:
    home.root.chmod(0o755)


def _open_database(home: Home) -> None:
    age(home.database, minutes=1).chmod(0o644)
    marker.mark(home.vault)


def _no_vault(home: Home) -> None:
    home.vault.rmdir()


def _unmarked_vault(home: Home) -> None:
    age(home.database, minutes=1)


def _clock_went_back(home: Home) -> None:
    marker.mark(home.vault)
    age(home.database, days=-2)


def _conflict(home: Home) -> None:
    (home.vault / "Notes").mkdir()
    (home.vault / "Notes" / "Seeds.sync-conflict-20260301-101010-ABCDEFG.md").write_text("x", "utf-8")


def _dropbox_conflict(home: Home) -> None:
    (home.vault / "Seeds (Ada's conflicted copy 2026-03-01).md").write_text("x", "utf-8")


def _late_queue(home: Home) -> None:
    age(home.drop / ".queue" / "key1.json", minutes=11)


def _bad_queue(home: Home) -> None:
    age(home.drop / ".queue" / "bad" / "key1.json", minutes=1)


def _leftover_note(home: Home) -> None:
    age(home.vault / ".Seeds.md.nx-tmp", hours=2)


def _leftover_upload(home: Home) -> None:
    age(home.state / "incoming" / "req_1", hours=2)


CASES: dict[str, tuple[Callable[[Home], None], str]] = {
    "an open home": (_open_home, "rights"),
    "an open database": (_open_database, "rights"),
    "no vault": (_no_vault, "vault"),
    "an unmarked vault": (_unmarked_vault, "vault"),
    "a clock that went back": (_clock_went_back, "clock"),
    "a sync conflict": (_conflict, "sync conflicts"),
    "a conflicted copy": (_dropbox_conflict, "sync conflicts"),
    "a late queue": (_late_queue, "queue"),
    "a bad queue": (_bad_queue, "queue"),
    "a leftover in the vault": (_leftover_note, "leftovers"),
    "a leftover of an upload": (_leftover_upload, "leftovers"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_thing_that_is_wrong_is_found_and_nothing_else(near: Home, case: str) -> None:
    spoil, check = CASES[case]
    spoil(near)
    before = tree(near.root)
    found = wrong(near)
    assert [finding.check for finding in found] == [check]
    assert all(finding.what and finding.why and finding.next for finding in found)
    assert tree(near.root) == before  # it looks and mends nothing


def test_what_is_young_is_under_way(near: Home) -> None:
    age(near.drop / ".queue" / "key1.json", minutes=1)
    age(near.state / "incoming" / "req_1", minutes=5)
    assert wrong(near) == []


def test_a_full_disk_and_few_watches_are_found(near: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "max_user_watches").write_text("3\n", "ascii")
    (tmp_path / "max_user_instances").write_text("128\n", "ascii")
    (finding,) = wrong(near, tmp_path)
    assert (finding.check, "sysctl" in finding.next) == ("watches", True)
    (tmp_path / "max_user_watches").write_text("65536\n", "ascii")
    (tmp_path / "max_user_instances").write_text("1\n", "ascii")
    assert [finding.check for finding in wrong(near, tmp_path)] == ["watches"]
    monkeypatch.setattr(_checkup, "_ROOM", 2**60)
    assert [finding.check for finding in wrong(near)] == ["disk"]


def test_no_home_is_one_finding(tmp_path: Path) -> None:
    ran = Commands(tmp_path, variables={"NARTHEX_HOME": str(tmp_path / "nowhere")})("doctor")
    assert ran.status == 1
    assert "narthex init" in ran.output


def test_no_daemon_is_a_finding_with_its_next_step(narthex: Commands, near: Home) -> None:
    ran = narthex("doctor", "--json")
    assert ran.status == 1
    checks = ran.document["checks"]
    assert isinstance(checks, list)
    assert [check["check"] for check in checks if not check["ok"]] == ["daemon"]
    assert ran.document["ok"] is False
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(socket_path(near)))
    human = narthex("doctor").output
    assert "a socket of an earlier one is there" in human
    assert "next" in human


def test_a_port_that_another_program_has_is_found(narthex: Commands, near: Home) -> None:
    with ScriptedServer().listening_on_tcp() as port:
        near.settings.write_text(f"port = {port}\n", "utf-8")
        assert set(narthex("doctor", "-q").output.split()) == {"daemon", "port"}


def test_the_daemons_own_checks_are_asked(narthex: Commands, near: Home) -> None:
    server = ScriptedServer()
    server.on("GET", "/livez", 200, {"status": "ok"})
    checks = {"database": {"ok": True, "detail": "sqlite"}, "disk": {"ok": False, "detail": "3 MiB free"}}
    runs = [{"job": "witness", "slot": "2026-03-02", "problem": "the chain is odd"}, {"job": "sweep", "problem": ""}]
    server.on("GET", "/v1/status", 200, {"checks": checks, "runs": runs})
    with server.listening(near):
        socket_path(near).chmod(0o600)
        ran = narthex("doctor", "-q")
        assert (ran.status, ran.output.split()) == (1, ["disk", "witness"])
        server.on("GET", "/v1/status", 200, {"checks": {"database": {"ok": True, "detail": ""}}, "runs": []})
        ran = narthex("doctor")
        assert ran.status == 0, ran.output
        assert "WRONG" not in ran.output


def test_without_a_login_it_hears_whether_all_is_well(narthex: Commands, near: Home) -> None:
    server = ScriptedServer()
    server.on("GET", "/livez", 200, {"status": "ok"})
    server.on("GET", "/v1/status", 401, {"type": "urn:narthex:problem:unauthenticated"})
    server.on("GET", "/readyz", 200, {"status": "ok"})
    with server.listening(near):
        socket_path(near).chmod(0o600)
        assert narthex("doctor").status == 0
        server.on("GET", "/readyz", 503, {"status": "not ready"})
        assert narthex("doctor", "-q").output.split() == ["ready"]


def test_a_login_that_others_can_read_is_found(narthex: Commands) -> None:
    login = narthex.config / "sessions" / "0123456789abcdef"
    login.parent.mkdir(parents=True)
    login.write_text("nxs_x", "ascii")
    login.chmod(0o644)
    assert "login" in narthex("doctor", "-q").output.split()


def test_the_mark_of_the_vault_is_the_vaults() -> None:
    assert _checkup.VAULT_MARKER == marker._MARKER
