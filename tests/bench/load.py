"""Any number of clients in one thread over connections that persist: as little of the machine as a client can take."""

from __future__ import annotations

import json
import selectors
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_READ: Final = 64 * 1024
_FILL: Final = "Seeds keep longest when they are cold, dry and dark. "


@dataclass(frozen=True)
class Loaded:
    """What a stretch of load came to; every count is an answer of 201."""

    captures: int
    seconds: float
    milliseconds: list[float] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Captures."""
        return self.captures / self.seconds


def texts(label: str) -> Iterator[bytes]:
    """Bodies of about a kilobyte, no two alike."""
    number = 0
    while True:
        number += 1
        yield json.dumps({"kind": "text", "text": f"{label} {number}\n\n{_FILL * 18}"}).encode()


def load(port: int, bearer: str, clients: int, seconds: float, label: str) -> Loaded:
    """Each client sends its next capture when its last one was acknowledged. Raises on any answer but 201."""
    bodies = texts(label)
    head = (
        f"POST /v1/captures HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {bearer}\r\n"
        "Content-Type: application/json\r\nContent-Length: "
    ).encode()
    took: list[float] = []
    with selectors.DefaultSelector() as ready:
        doors = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(clients)]
        sent: dict[socket.socket, float] = {}
        began = time.perf_counter()
        for door in doors:
            door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ready.register(door, selectors.EVENT_READ)
            _send(door, head, next(bodies))
            sent[door] = time.perf_counter()
        while (now := time.perf_counter()) - began < seconds:
            for key, _ in ready.select(30):
                client = key.fileobj
                assert isinstance(client, socket.socket)
                _receive(client)
                now = time.perf_counter()
                took.append((now - sent[client]) * 1000)
                _send(client, head, next(bodies))
                sent[client] = now
        ended = now
        for door in doors:
            door.close()
    return Loaded(len(took), ended - began, sorted(took))


def _send(door: socket.socket, head: bytes, body: bytes) -> None:
    door.sendall(head + str(len(body)).encode() + b"\r\n\r\n" + body)


def _receive(door: socket.socket) -> None:
    answer = door.recv(_READ)
    while b"\r\n\r\n" not in answer:
        answer += _more(door)
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 201 "):
        raise AssertionError(answer)
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += _more(door)


def _more(door: socket.socket) -> bytes:
    piece = door.recv(_READ)
    if not piece:
        raise AssertionError("the connection ended in the middle of an answer")
    return piece
