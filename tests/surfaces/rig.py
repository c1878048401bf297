"""One home with its application in process, the clients of its doors, and ways to get credentials as people do."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from api.app import Application, create_app
from api.ports import PAGE_HOST, SOCKET_HOST, Check, Measures, Setting
from pipelines.model.errors import Broken
from pipelines.premises import Premises
from tests.clock import SettableClock

PORT = 6278
PAGES = f"http://{PAGE_HOST}:{PORT}"
_names = itertools.count(1)


@dataclass
class StandingDaemon:
    """A process that only remembers what it was told."""

    started_at: datetime
    address: str = f"http://127.0.0.1:{PORT}"
    version: str = "0.0.test"
    ready: bool = True
    wakes: int = 0
    codes: list[str] = field(default_factory=list)
    failures: list[Broken] = field(default_factory=list)

    def wake(self) -> None:
        """Counts."""
        self.wakes += 1

    def announce_code(self, code: str) -> None:
        """The terminal that the owner reads."""
        self.codes.append(code)

    def broken(self, error: Broken) -> None:
        """Would end the process."""
        self.failures.append(error)

    def checks(self) -> Mapping[str, Check]:
        """One check."""
        return {"database": Check(self.ready, "writable" if self.ready else "the disk is full")}

    def measures(self) -> Measures:
        """Two files and one busy worker."""
        return Measures(drop_waiting=2, workers=1, workers_busy=1)

    def settings_table(self) -> Sequence[Setting]:
        """One setting."""
        return [Setting("port", str(PORT), "default")]


@dataclass
class Rig:
    """``tcp`` and ``page`` are the names of the TCP door, ``unix`` is the socket."""

    premises: Premises
    clock: SettableClock
    daemon: StandingDaemon
    app: Application
    tcp: TestClient
    page: TestClient
    unix: TestClient

    def code(self) -> str:
        """A fresh one-time code, read from the daemon's terminal."""
        assert self.unix.post("/v1/session/code", json={}).status_code == 202
        return self.daemon.codes[-1]

    def owner(self) -> dict[str, str]:
        """The headers of a fresh owner session."""
        answer = self.unix.post("/v1/session", json={"code": self.code()})
        assert answer.status_code == 201, answer.text
        return bearer(answer.json()["token"])

    def token(self, kind: str, *capabilities: str, **more: object) -> dict[str, Any]:
        """A fresh token as the API answers it, with its secret."""
        body = {"name": f"{kind} {next(_names)}", "kind": kind, "capabilities": capabilities, **more}
        answer = self.tcp.post("/v1/tokens", json=body, headers=self.owner())
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def held(self, kind: str, *capabilities: str, **more: object) -> dict[str, str]:
        """The headers of a fresh token."""
        return bearer(self.token(kind, *capabilities, **more)["secret"])

    def propose(self, title: str = "Seed storage", headers: Mapping[str, str] | None = None, **payload: Any) -> Any:
        """A pending proposal, submitted by an agent (or with ``headers``)."""
        body = {"action": "create_memory", "payload": memory(title, **payload), "rationale": "Two sources agree."}
        answer = self.tcp.post("/v1/proposals", json=body, headers=headers or self.held("agent", "propose"))
        assert answer.status_code == 201, answer.text
        return answer.json()

    def signed_in(self) -> dict[str, str]:
        """The cookie of a browser that signed in by the form, as a header."""
        answer = self.page.post("/login", data={"code": self.code()}, headers={"Origin": PAGES}, follow_redirects=False)
        assert answer.status_code == 303, answer.text
        self.page.cookies.clear()
        return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


def memory(title: str, **fields: Any) -> dict[str, Any]:
    """The payload of a new memory."""
    return {"title": title, "type": "concept", "l0": "Cold and dry.", "l1": f"{title}: keep cold and dry.", **fields}


def bearer(secret: str) -> dict[str, str]:
    """The header that carries a credential."""
    return {"Authorization": f"Bearer {secret}"}


def decision(proposal: Mapping[str, Any], action: str = "approve", **more: Any) -> dict[str, Any]:
    """The owner's answer to exactly this proposal."""
    return {
        "action": action,
        "revision": proposal["revision"],
        "digest": proposal["digest"],
        "shown_ms": 2140,
        **more,
    }


def make_rig(premises: Premises, clock: SettableClock) -> Rig:
    """A fresh application over ``premises``."""
    daemon = StandingDaemon(started_at=clock())
    app = create_app(premises, daemon, port=PORT)

    async def over_socket(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["listener"] = "socket"
        await app(scope, receive, send)

    def client(served: Any, base: str) -> TestClient:
        return TestClient(served, base_url=base, follow_redirects=False)

    return Rig(
        premises,
        clock,
        daemon,
        app,
        tcp=client(app, f"http://127.0.0.1:{PORT}"),
        page=client(app, PAGES),
        unix=client(over_socket, f"http://{SOCKET_HOST}"),
    )
