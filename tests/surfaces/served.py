"""The application behind the daemon's own protocol and a real socket, and one way to send it any bytes at all."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from api.app import create_app
from api.ports import SOCKET_HOST, Listener
from daemon.listeners import PatientProtocol, marked
from pipelines.premises import Premises
from tests.clock import SettableClock
from tests.surfaces.rig import StandingDaemon
from tests.waiting import until


@dataclass(frozen=True)
class Served:
    """A running server and an owner of it."""

    port: int
    bearer: str
    daemon: StandingDaemon

    @property
    def address(self) -> str:
        """For clients that want a URL."""
        return f"http://127.0.0.1:{self.port}"

    def exchange(self, raw: bytes, *, end: bool = False) -> Answered:
        """Sends ``raw`` on a connection of its own, then with ``end`` no more; the answer to the first request."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(raw)
            if end:
                connection.shutdown(socket.SHUT_WR)
            received = b""
            while not _complete(received):
                piece = connection.recv(65536)  # a reset raises: that is what must never happen
                if not piece:
                    break
                received += piece
        return Answered.of(received)

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Answered:
        """A proper request of the owner with a JSON body."""
        return self.exchange(request(self, method, path, json.dumps(body).encode(), headers=headers))


@dataclass(frozen=True)
class Answered:
    """``status`` 0: the connection ended without an answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @staticmethod
    def of(received: bytes) -> Answered:
        """The first answer of what came back, taken apart: behind a refused request another one may have been read."""
        head, _, body = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        if not first.startswith("HTTP/1.1 "):
            return Answered(0, {}, received)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return Answered(int(first[9:12]), headers, body[: int(headers.get("content-length", len(body)))])

    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


def request(
    served: Served,
    method: str,
    path: str,
    body: bytes = b"",
    *,
    kind: str = "application/json",
    headers: dict[str, str] | None = None,
) -> bytes:
    """The bytes of a request of the owner; ``headers`` replace those that it would have, an empty one leaves it out."""
    wanted = {"Host": f"127.0.0.1:{served.port}", "Authorization": f"Bearer {served.bearer}"}
    if body:
        wanted |= {"Content-Type": kind, "Content-Length": str(len(body))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{n}: {v}" for n, v in (wanted | (headers or {})).items() if v), "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


@contextmanager
def serving(premises: Premises, clock: SettableClock) -> Iterator[Served]:
    """Until the block ends."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port = int(door.getsockname()[1])
        daemon = StandingDaemon(clock(), address=f"http://127.0.0.1:{port}")
        app = create_app(premises, daemon, port=port)
        config = uvicorn.Config(
            app, http=PatientProtocol, log_config=None, lifespan="off", ws="none", server_header=False
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[door])))
        thread.start()
        try:
            until(lambda: server.started)
            local = TestClient(marked(app, Listener.SOCKET), base_url=f"http://{SOCKET_HOST}")
            local.post("/v1/session/code", json={})
            opened = local.post("/v1/session", json={"code": daemon.codes[-1]})
            yield Served(port, str(opened.json()["token"]), daemon)
        finally:
            server.should_exit = True
            thread.join()


def _complete(received: bytes) -> bool:
    head, separator, body = received.partition(b"\r\n\r\n")
    length = head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]
    return bool(separator) and bool(length) and len(body) >= int(length)
