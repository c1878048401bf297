"""narthexd as a process: what it prints, how it ends, what it refuses, and that a kill loses nothing acknowledged."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from pipelines.model.errors import NarthexError
from tests.end_to_end.narthexd import ROOT, Narthexd
from tests.waiting import until


def rows(answer: object) -> list[dict[str, object]]:
    """The rows of a list that the API answers."""
    assert isinstance(answer, dict)
    found = answer["items"]
    assert isinstance(found, list)
    return found


def test_it_says_where_to_drop_files_and_how_to_come_in(narthexd: Narthexd) -> None:  # the README's first command
    narthexd.start()
    assert f"Drop files into  {narthexd.home.drop}" in narthexd.said()
    assert narthexd.link.startswith(f"http://narthex.localhost:{narthexd.port}/login#code={narthexd.code}-")
    assert narthexd.client().call("GET", "/livez") == {"status": "ok"}
    (narthexd.home.drop / "porch.md").write_text("# Porch\n\nA porch is where one waits to be let in.\n", "utf-8")
    owner = narthexd.owner()
    until(lambda: rows(owner.call("GET", "/v1/proposals", query={"state": "pending"})), seconds=60)
    status = narthexd.stop()
    assert status == 0
    assert not (narthexd.home.state / "narthexd.sock").exists()


def test_everything_it_makes_belongs_to_the_user_alone(narthexd: Narthexd) -> None:
    narthexd.start()
    narthexd.stop()
    made = [narthexd.home.root, *narthexd.home.root.rglob("*")]
    assert not [path for path in made if stat.S_IMODE(path.lstat().st_mode) & 0o077]


def test_every_check_is_fine_when_idle(narthexd: Narthexd) -> None:
    narthexd.start()
    answer = until(lambda: _ready(narthexd))
    assert answer["status"] == "ok"


def _ready(narthexd: Narthexd) -> dict[str, object]:
    with suppress(NarthexError):  # not yet: threads are starting
        return dict(narthexd.client().call("GET", "/readyz"))
    return {}


def test_a_second_daemon_on_the_home_and_a_taken_port_are_refused(narthexd: Narthexd, tmp_path: Path) -> None:  # S-068
    narthexd.start()
    second = Narthexd(narthexd.home.root)
    assert second.start(wait=False).wait() == 75
    assert f"another narthexd (process {narthexd.pid}) is running" in second.said()
    elsewhere = Narthexd(tmp_path / "other")
    elsewhere.port = narthexd.port
    assert elsewhere.start(wait=False).wait() == 75
    assert f"port {narthexd.port} of 127.0.0.1 is taken" in elsewhere.said()


def test_wrong_settings_end_it_with_the_key_named(narthexd: Narthexd) -> None:
    narthexd.home.root.mkdir()
    narthexd.home.settings.write_text("setle_seconds = 1\n", "utf-8")
    assert narthexd.start(wait=False).wait() == 2
    assert "'setle_seconds'" in narthexd.said()
    assert "settle_seconds?" in narthexd.said()
    assert not narthexd.home.state.exists()
    assert narthexd.start("--check-config", wait=False).wait() == 2
    narthexd.home.settings.write_text("settle_seconds = 1\n", "utf-8")
    assert narthexd.start("--check-config", wait=False).wait() == 0
    assert not narthexd.home.state.exists()


def test_the_version_is_printed_without_a_home() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "daemon.main", "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("narthex ")


def test_a_term_signal_during_requests_loses_nothing_acknowledged(narthexd: Narthexd) -> None:  # S-068
    narthexd.start()
    owner = narthexd.owner()

    def add(number: int) -> str:
        try:
            return str(owner.call("POST", "/v1/captures", {"kind": "text", "text": f"thought {number}"})["id"])
        except NarthexError:
            return ""

    with ThreadPoolExecutor(50) as pool:
        answers = pool.map(add, range(200))
        until(lambda: _items(narthexd))
        assert narthexd.stop(seconds=20) == 0
        acknowledged = {item_id for item_id in answers if item_id}
    narthexd.start()
    owner = narthexd.owner()
    kept = {str(row["id"]) for row in owner.pages("/v1/items", {}, 1000)}
    assert acknowledged <= kept


def _items(narthexd: Narthexd) -> bool:
    return any((narthexd.home.originals).rglob("*"))


def test_a_killed_daemon_starts_again_and_finishes_the_drop_folder(narthexd: Narthexd) -> None:  # S-048
    narthexd.start()
    names = [f"n{number:03}.txt" for number in range(150)]
    for name in names:
        (narthexd.home.drop / name).write_text(f"content of {name}", "utf-8")
    until(lambda: len(list((narthexd.home.drop / "_done").rglob("*.txt"))) > 20)
    narthexd.kill()
    narthexd.start()
    until(lambda: not list(narthexd.home.drop.glob("n*.txt")), seconds=60)
    filed = sorted(path.name for path in (narthexd.home.drop / "_done").rglob("*.txt"))
    assert filed == names
    found = sorted(str(row["name"]) for row in narthexd.owner().pages("/v1/items", {}, 1000))
    assert found == names
    assert not list((narthexd.home.drop / "_duplicates").iterdir())


def test_a_damaged_event_chain_ends_it(narthexd: Narthexd) -> None:  # S-069: found, said, and not served on
    narthexd.start()
    narthexd.owner().call("POST", "/v1/captures", {"kind": "text", "text": "a thought"})
    assert narthexd.stop() == 0
    database = sqlite3.connect(narthexd.home.database)
    triggers = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'event'")
    for (name,) in triggers.fetchall():  # who writes into the file can also take these away
        database.execute(f"DROP TRIGGER {name}")
    database.execute("UPDATE event SET actor_name = 'somebody else' WHERE seq = 1")
    database.execute("DELETE FROM scheduled_run")  # this hour's look was done before the damage
    database.commit()
    database.close()
    assert narthexd.start(wait=False).wait(60) == 70
    assert "the event chain is damaged" in narthexd.said()
