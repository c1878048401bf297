"""How narthexd ends when it is asked to: in time, with event streams open, requests under way and work half done."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from api.cli.events import told
from api.client import Client, Json
from pipelines.model.errors import NarthexError
from tests.end_to_end.narthexd import Narthexd
from tests.waiting import until

STOP_SECONDS = 15.0  # TimeoutStopSec of the unit
DROPPED = 40
HELD = """
SELECT id FROM item
WHERE state IN ('fetched', 'extracted', 'normalized') AND due > datetime('now', '+20 seconds')
"""


class Reader:
    """Follows the events until the stream ends."""

    def __init__(self, client: Client) -> None:
        self.seen: list[Mapping[str, Json]] = []
        self.thread = threading.Thread(target=self._read, args=(client,), daemon=True)
        self.thread.start()

    def _read(self, client: Client) -> None:
        for event in told(client.lines("/v1/events?since=0")):
            self.seen.append(event)


def test_it_ends_in_time_with_streams_requests_and_work_under_way(narthexd: Narthexd) -> None:  # F-070, S-068
    owner = narthexd.start().owner()
    readers = [Reader(owner) for _ in range(3)]
    until(lambda: all(reader.seen for reader in readers))
    for number in range(DROPPED):
        text = f"# Note {number}\n\n" + f"Sentence {number} of a longer text about porches. " * 200
        (narthexd.home.drop / f"note {number}.md").write_text(text, "utf-8")
    until(lambda: any(event["action"] == "extracted" for event in readers[0].seen), seconds=60)

    def add(number: int) -> str:
        try:
            return str(owner.call("POST", "/v1/captures", {"kind": "text", "text": f"thought {number}"})["id"])
        except NarthexError:
            return ""

    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(add, range(60))
        began = time.monotonic()
        assert narthexd.stop(seconds=STOP_SECONDS) == 0
        took = time.monotonic() - began
        acknowledged = {item_id for item_id in answers if item_id}
    for reader in readers:
        reader.thread.join(5)
        assert not reader.thread.is_alive()
    assert took < STOP_SECONDS
    assert "Traceback" not in narthexd.said()
    assert "timeout graceful shutdown exceeded" not in narthexd.said()
    with closing(sqlite3.connect(narthexd.home.database)) as database:
        held = database.execute(HELD).fetchall()
        kept = {str(item_id) for (item_id,) in database.execute("SELECT id FROM item")}
        tried = database.execute("SELECT max(tries) FROM item WHERE state = 'fetched'").fetchone()[0]
    assert held == []  # nothing waits for a lease to run out
    assert not tried  # the end of the process counts as no try
    assert acknowledged <= kept
    _goes_on(narthexd, readers[0])


def _goes_on(narthexd: Narthexd, earlier: Reader) -> None:
    """The next start takes everything up, and a reader resumes without a gap."""
    owner = narthexd.start().owner()
    last = int(str(earlier.seen[-1]["seq"]))
    names = {f"note {number}.md" for number in range(DROPPED)}

    def proposed() -> bool:
        items = list(owner.pages("/v1/items", {}, 1000))
        return names <= {str(item["name"]) for item in items if item["state"] == "proposed"}

    until(proposed, seconds=120)
    rest = [event["seq"] for event in told(owner.lines(f"/v1/events?since={last}&follow=false"))]
    assert rest == list(range(last + 1, last + 1 + len(rest)))


@pytest.fixture
def managed(tmp_path: Path) -> Iterator[tuple[Narthexd, socket.socket]]:
    """narthexd under a service manager that wants signs of life every 1.5 seconds."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        variables = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "1500000"}
        process = Narthexd(tmp_path / "home", variables)
        yield process, manager
        process.close()


def test_the_service_manager_hears_the_whole_life(managed: tuple[Narthexd, socket.socket]) -> None:  # F-070
    narthexd, manager = managed
    narthexd.start()
    heard = manager.recv(4096).decode()
    assert heard.startswith("READY=1\nSTATUS=serving")
    assert [manager.recv(4096) for _ in range(3)] == [b"WATCHDOG=1"] * 3
    assert narthexd.stop() == 0
    manager.settimeout(0.1)
    rest = [b""]
    while not rest[-1].startswith(b"STOPPING=1"):
        rest.append(manager.recv(4096))
    with pytest.raises(TimeoutError):  # and nothing after it
        manager.recv(4096)


def test_a_stopped_process_gives_no_sign_of_life(managed: tuple[Narthexd, socket.socket]) -> None:
    narthexd, manager = managed
    narthexd.start()
    assert manager.recv(4096)
    os.kill(narthexd.pid, signal.SIGSTOP)
    manager.settimeout(0.7)
    until(lambda: _silent(manager))
    os.kill(narthexd.pid, signal.SIGCONT)
    manager.settimeout(10)
    assert manager.recv(4096) == b"WATCHDOG=1"


def _silent(manager: socket.socket) -> bool:
    try:
        return not manager.recv(4096)
    except TimeoutError:
        return True
