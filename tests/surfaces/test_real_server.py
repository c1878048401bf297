"""The same application behind a real server and real sockets: what no in-process client can send."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from api.app import create_app
from api.guard import Guard
from pipelines.premises import Premises
from tests.clock import SettableClock
from tests.surfaces.rig import StandingDaemon
from tests.waiting import until


@contextmanager
def _served(app: Any, door: socket.socket) -> Iterator[None]:
    config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none", server_header=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[door])))
    thread.start()
    try:
        until(lambda: server.started)
        yield
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def port(premises: Premises, clock: SettableClock) -> Iterator[int]:
    """The port of a running server."""
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    number = int(door.getsockname()[1])
    app = create_app(premises, StandingDaemon(clock()), port=number)
    with door, _served(app, door):
        yield number


def _exchange(port: int, head: str, *chunks: bytes, end: bool = False) -> bytes:
    """Sends raw bytes and answers everything that came back until the first answer was complete."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head.replace("\n", "\r\n").replace("PORT", str(port)).encode("latin-1"))
        for chunk in chunks:
            connection.sendall(chunk)
        if end:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while b"\r\n\r\n" not in answer:
            piece = connection.recv(65536)
            if not piece:
                break
            answer += piece
        return answer


def _status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer
    return int(answer[9:12])


REFUSED = {  # S-001, S-060
    "no Host": "GET /livez HTTP/1.1\nX: y\n\n",
    "no Host, HTTP/1.0": "GET /livez HTTP/1.0\n\n",
    "two Hosts": "GET /livez HTTP/1.1\nHost: 127.0.0.1:PORT\nHost: evil.test\n\n",
    "two Hosts, other order": "GET /livez HTTP/1.1\nHost: evil.test\nHost: 127.0.0.1:PORT\n\n",
    "foreign absolute target": "GET http://evil.test/livez HTTP/1.1\nHost: 127.0.0.1:PORT\n\n",
    "other port": "GET /livez HTTP/1.1\nHost: 127.0.0.1:1\n\n",
    "at": "GET @evil.test HTTP/1.1\nHost: 127.0.0.1:PORT\n\n",
    "CL and TE": "POST /v1/session HTTP/1.1\nHost: 127.0.0.1:PORT\nContent-Type: application/json\n"
    "Content-Length: 2\nTransfer-Encoding: chunked\n\n0\n\n",
    "CL -1": "POST /v1/session HTTP/1.1\nHost: 127.0.0.1:PORT\nContent-Type: application/json\nContent-Length: -1\n\n",
    "two CL": "POST /v1/session HTTP/1.1\nHost: 127.0.0.1:PORT\nContent-Length: 2\nContent-Length: 3\n\n{}",
    "70 KB URL": "GET /" + "a" * 70_000 + " HTTP/1.1\nHost: 127.0.0.1:PORT\n\n",
    "70 KB header": "GET /livez HTTP/1.1\nHost: 127.0.0.1:PORT\nX: " + "a" * 70_000 + "\n\n",
    "bare websocket": "GET /v1/events HTTP/1.1\nHost: evil.test\nUpgrade: websocket\nConnection: Upgrade\n"
    "Sec-WebSocket-Version: 13\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\n\n",
}


def test_odd_requests_are_refused(port: int) -> None:
    for name, head in REFUSED.items():
        assert 400 <= _status(_exchange(port, head)) < 500, name
    assert _status(_exchange(port, "GET /livez HTTP/1.1\nHost: 127.0.0.1:PORT\n\n")) == 200


def test_large_bodies_are_answered_not_reset(port: int) -> None:  # S-060
    megabyte = b"x" * 1024 * 1024
    head = "POST /v1/session HTTP/1.1\nHost: 127.0.0.1:PORT\nContent-Type: application/json\n"
    declared = head + f"Content-Length: {200 * len(megabyte)}\n\n"
    assert _status(_exchange(port, declared, *[megabyte] * 200)) == 413
    chunk = b"100000\r\n" + megabyte + b"\r\n"
    chunked = head + "Transfer-Encoding: chunked\n\n"
    assert _status(_exchange(port, chunked, *[chunk] * 8, b"0\r\n\r\n")) == 413
    stranger = head.replace("/v1/session", "/v1/captures/file").replace(
        "application/json", "multipart/form-data; boundary=b"
    )
    assert _status(_exchange(port, stranger + f"Content-Length: {120 * len(megabyte)}\n\n", *[megabyte] * 120)) == 401


def test_a_body_that_stops_is_given_up(
    premises: Premises, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:  # S-012
    defaults = {**(Guard.__init__.__kwdefaults__ or {}), "idle_seconds": 0.3}
    monkeypatch.setattr(Guard.__init__, "__kwdefaults__", defaults)
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        number = int(door.getsockname()[1])
        head = f"POST /v1/session HTTP/1.1\r\nHost: 127.0.0.1:{number}\r\nContent-Type: application/json\r\n"
        with (
            _served(create_app(premises, StandingDaemon(clock()), port=number), door),
            socket.create_connection(("127.0.0.1", number), timeout=10) as connection,
        ):
            connection.sendall(head.encode() + b'Content-Length: 100\r\n\r\n{"c')
            answer = connection.makefile("rb").read()  # and then the connection is closed
    assert _status(answer) == 408
    assert b"urn:narthex:problem:too-slow" in answer
