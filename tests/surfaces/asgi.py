"""Calls an ASGI application with headers that no client library would send; no network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message

Headers = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Answered:
    """What came back; header names in lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    unread: int = 0
    """How many chunks of the request the application never asked for."""

    def header(self, name: str) -> str | None:
        """The one header of that name."""
        found = [value for key, value in self.headers if key == name.lower()]
        assert len(found) < 2, f"{name} was sent twice"
        return found[0] if found else None

    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


def call(
    app: ASGIApp,
    method: str,
    path: str,
    headers: Headers,
    chunks: Iterable[bytes] = (b"",),
    *,
    query: str = "",
    listener: str | None = "tcp",
    kind: str = "http",
) -> Answered:
    """One request; ``listener`` None leaves the daemon's mark out."""
    scope = {
        "type": kind,
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http" if kind == "http" else "ws",
        "path": path,
        "raw_path": path.encode("utf-8", "replace"),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 6278),
        "subprotocols": [],
        "state": {} if listener is None else {"listener": listener},
    }
    return asyncio.run(_call(app, scope, list(chunks)))


async def _call(app: ASGIApp, scope: dict[str, Any], chunks: list[bytes]) -> Answered:
    sent: list[Message] = []

    async def receive() -> Message:
        if not chunks:
            return {"type": "http.disconnect"}
        chunk = chunks.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(chunks)}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    if sent[0]["type"] == "websocket.close":
        return Answered(403, [], b"")
    started = sent[0]
    headers = [(name.decode().lower(), value.decode("latin-1")) for name, value in started["headers"]]
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answered(started["status"], headers, body, len(chunks))
