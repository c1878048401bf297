"""The service manager is told what is so, over every kind of socket, and never waited for; a hang gives no sign."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon import vitals
from daemon.notify import Notifier
from daemon.worker import Worker
from pipelines.premises import Premises
from tests.waiting import until


@contextmanager
def manager(address: str) -> Iterator[socket.socket]:
    """A service manager that reads, on a path or (``@``) in the abstract name space."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
        door.bind("\0" + address[1:] if address.startswith("@") else address)
        door.settimeout(10)
        yield door


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Both kinds that systemd uses."""
    return f"@narthex-test-{os.getpid()}" if request.param == "abstract" else str(tmp_path / "notify")


def test_it_says_ready_and_stopping(address: str) -> None:
    with manager(address) as door:
        notifier = Notifier({"NOTIFY_SOCKET": address})
        notifier.ready("serving")
        assert door.recv(4096) == b"READY=1\nSTATUS=serving"
        notifier.stopping()
        assert door.recv(4096).split(b"\n")[0] == b"STOPPING=1"


def test_without_a_manager_nothing_happens(tmp_path: Path) -> None:
    for variables in ({}, {"NOTIFY_SOCKET": str(tmp_path / "nobody")}, {"NOTIFY_SOCKET": "vsock:2:9"}):
        notifier = Notifier(variables)
        notifier.ready("x")
        notifier.stopping()


def test_a_manager_that_does_not_read_hangs_nothing(address: str) -> None:  # a blocking version hung here
    with manager(address):
        notifier = Notifier({"NOTIFY_SOCKET": address})
        began = time.monotonic()
        for _ in range(5000):
            notifier.ready("nobody reads this")
        assert time.monotonic() - began < 10


def test_signs_of_life_come_while_all_is_well_and_only_then(address: str) -> None:
    trouble = [""]
    with manager(address) as door:
        notifier = Notifier({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "60000", "WATCHDOG_PID": str(os.getpid())})
        notifier.watch(lambda: trouble[0])
        assert [door.recv(4096) for _ in range(3)] == [b"WATCHDOG=1"] * 3
        trouble[0] = "worker-0 hangs"
        until(lambda: door.recv(4096) == b"STATUS=worker-0 hangs")
        door.settimeout(0.3)
        with pytest.raises(TimeoutError):
            door.recv(4096)
        trouble[0] = ""
        door.settimeout(10)
        assert door.recv(4096) == b"WATCHDOG=1"
        notifier.stopping()


def test_a_question_that_hangs_is_no_sign_of_life(tmp_path: Path) -> None:
    hanging = threading.Event()
    with manager(str(tmp_path / "notify")) as door:
        notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "30000"})
        notifier.watch(lambda: str(hanging.wait(20) or "")[:0])
        door.settimeout(0.3)
        with pytest.raises(TimeoutError):
            door.recv(4096)
        hanging.set()
        notifier.stopping()


@pytest.mark.parametrize("variables", [{}, {"WATCHDOG_USEC": "x"}, {"WATCHDOG_USEC": "9", "WATCHDOG_PID": "1"}])
def test_no_signs_where_none_are_asked_for(variables: dict[str, str], address: str) -> None:
    with manager(address):
        before = threading.active_count()
        Notifier({"NOTIFY_SOCKET": address, **variables}).watch(lambda: "")
        assert threading.active_count() == before


def test_a_thread_that_is_gone_and_a_writer_that_hangs_are_noticed(
    premises: Premises, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(premises, lambda error: None, lambda: None)
    assert "is gone" in vitals.ailing(premises.database, [worker])
    monkeypatch.setattr(vitals, "_THREADS", frozenset({"MainThread"}))
    assert vitals.ailing(premises.database, [worker]) == ""
    release, answers = threading.Event(), list[str]()
    stuck = threading.Thread(target=premises.database.write, args=(lambda session: release.wait(20),))
    asked = threading.Thread(target=lambda: answers.append(vitals.ailing(premises.database, [worker])))
    stuck.start()
    asked.start()
    asked.join(0.3)
    assert answers == []
    release.set()
    asked.join(20)
    assert answers == [""]
    stuck.join()


def test_a_worker_that_hangs_is_noticed(premises: Premises, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(premises, lambda error: None, lambda: None)
    monkeypatch.setattr("daemon.worker._HANGS", -1.0)
    assert not worker.hangs()  # one that does not run has another fault
    worker.start()
    assert worker.hangs()
    monkeypatch.setattr("daemon.worker._HANGS", 60.0)
    assert not worker.hangs()
    assert worker.stop()


def test_dropped_files_are_counted_without_our_own(tmp_path: Path) -> None:
    for name in ("a.pdf", "folder/b.txt", "_done/2026-03/c.txt", ".queue/d.json", "STATUS.md", ".hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", "utf-8")
    assert vitals.measures(tmp_path, []).drop_waiting == 2
