"""The doors: the port is ours or the text says whose, and the Unix socket lets only this user and root in."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from api.ports import LISTENER_KEY
from daemon.listeners import Application, Doors, PatientProtocol, SameUserProtocol, bind_loopback, bind_socket, peer_uid
from daemon.single_instance import Occupied
from tests.waiting import until


async def say_which_door(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers with the name of the door."""
    body = str(scope["state"][LISTENER_KEY]).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def open_doors(folder: Path, app: Application = say_which_door) -> Iterator[tuple[int, Path]]:
    """Both doors, served by a thread; the port and the socket's path."""
    loopback, unix = bind_loopback(0), bind_socket(folder / "n.sock")
    port = int(loopback.getsockname()[1])
    doors = Doors(app, loopback, unix, signals=False)
    opened = threading.Event()
    thread = threading.Thread(target=doors.serve, args=(opened.set,))
    thread.start()
    try:
        until(opened.is_set)
        yield port, folder / "n.sock"
    finally:
        doors.close()
        thread.join()


def ask(port: int | None, path: Path | None) -> str:
    """One request through one door; empty when it is closed unanswered."""
    connection = HTTPConnection("127.0.0.1", port or 80)
    if path is not None:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(os.fspath(path))
    try:
        connection.request("GET", "/")
        return connection.getresponse().read().decode()
    except ConnectionError:
        return ""
    finally:
        connection.close()


def test_each_door_marks_what_comes_through_it(tmp_path: Path) -> None:
    with open_doors(tmp_path) as (port, path):
        assert ask(port, None) == "tcp"
        assert ask(None, path) == "socket"


def connected(door: tuple[str, int] | str) -> socket.socket:
    """An open connection to one door."""
    connection = socket.socket(socket.AF_UNIX if isinstance(door, str) else socket.AF_INET)
    connection.settimeout(20)
    connection.connect(door)
    return connection


def ended(connection: socket.socket) -> bool:
    """Waits until the other side has closed, whatever it says before."""
    with contextlib.suppress(ConnectionError):
        while connection.recv(65536):
            pass
    return True


EARLY = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9000\r\n\r\nabc"


@pytest.mark.parametrize(
    "sent",
    [
        (),
        (b"GET / HTTP/1.1\r\nHo",),
        (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", b"GET / HT"),  # a second request on a connection that was used well
        (EARLY,),  # answered before its body came, and the body never comes
    ],
)
def test_what_is_kept_back_is_not_waited_for(
    sent: tuple[bytes, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # S-012
    monkeypatch.setattr(PatientProtocol, "head_seconds", 0.3)
    monkeypatch.setattr(PatientProtocol, "rest_seconds", 0.3)
    with open_doors(tmp_path) as (port, path):
        for door in (("127.0.0.1", port), os.fspath(path)):
            with connected(door) as connection:
                for piece in sent:
                    connection.sendall(piece)
                assert ended(connection)


@pytest.mark.parametrize("head", [b"GET / HTTP/1.1\r\nX: ", EARLY])
def test_a_byte_now_and_then_buys_no_time(
    head: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # S-012
    monkeypatch.setattr(PatientProtocol, "head_seconds", 0.3)
    monkeypatch.setattr(PatientProtocol, "rest_seconds", 0.3)
    with open_doors(tmp_path) as (port, _), connected(("127.0.0.1", port)) as connection:
        connection.sendall(head)
        connection.setblocking(False)

        def cut() -> bool:
            try:
                connection.send(b"x")
                return connection.recv(65536) == b""
            except BlockingIOError:
                return False
            except ConnectionError:
                return True

        assert until(cut)


def test_an_answer_may_take_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PatientProtocol, "head_seconds", 0.3)
    release = threading.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.to_thread(release.wait)
        await say_which_door(scope, receive, send)

    with open_doors(tmp_path, slow) as (port, _), connected(("127.0.0.1", port)) as asked:
        asked.sendall(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        with connected(("127.0.0.1", port)) as other:
            assert ended(other)  # it came later: a time-out of the first would have struck before
        release.set()
        assert asked.makefile("rb").read().endswith(b"tcp")


def test_many_slow_connections_take_nobodys_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # S-012
    monkeypatch.setattr(PatientProtocol, "connections_at_once", 200)
    with contextlib.ExitStack() as held, open_doors(tmp_path) as (port, path):
        slow = [held.enter_context(connected(("127.0.0.1", port))) for _ in range(300)]
        for connection in slow[-150:]:
            connection.sendall(b"GET / HTTP/1.1\r\n")
        for connection in slow[-50:]:
            connection.sendall(b"Host: h\r\nContent-Length: 9\r\n\r\nabc")
        assert [ask(port, None) for _ in range(20)] == ["tcp"] * 20
        assert ask(None, path) == "socket"
        assert all(ended(connection) for connection in slow[:100])  # they came first: they made room


def test_another_users_program_is_shut_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SameUserProtocol, "allowed", frozenset({os.getuid() + 1}))
    with open_doors(tmp_path) as (port, path):
        assert ask(None, path) == ""
        assert ask(port, None) == "tcp"


def test_the_kernel_names_the_peer() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert peer_uid(ours) == os.getuid()


def test_a_taken_port_is_said_plainly() -> None:  # S-068
    with bind_loopback(0) as first, pytest.raises(Occupied, match="is taken by another program") as caught:
        bind_loopback(first.getsockname()[1])
    assert caught.value.exit_code == 75


def test_the_socket_is_private_and_an_old_one_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "n.sock"
    for _ in range(2):  # the first one is left as after a kill
        bind_socket(path).close()
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600


def test_what_is_no_socket_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "n.sock").write_text("a file", "utf-8")
    with pytest.raises(Occupied):
        bind_socket(tmp_path / "n.sock")
    assert (tmp_path / "n.sock").read_text("utf-8") == "a file"
