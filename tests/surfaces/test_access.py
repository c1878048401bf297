"""Every route with every credential, against a table written out by hand; and the two locks that stand in the API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import iter_route_contexts
from sqlmodel import Session

from api.access import TABLE
from api.app import check_routes
from api.auth import Credentials
from api.doorway import DeclaredRoute
from api.routes import ROUTERS
from api.web import pages
from pipelines.model.actor import Actor, ActorKind, Capability, Channel
from pipelines.model.errors import Broken, Invalid
from pipelines.model.identity import Ids
from pipelines.model.records import Token
from pipelines.model.values import Home
from pipelines.premises import Premises
from tests.clock import SettableClock
from tests.opening import opened_premises
from tests.surfaces.rig import PAGES, Rig, bearer, make_rig

ID: Final = "01jq7r3k8v2m"
EVERYBODY: Final = "none socket capture agent reader owner"
KNOWN: Final = "capture agent reader owner"

# method, path → who may. Written by hand from the contract: it is not read from the code.
EXPECTED: Final[dict[tuple[str, str], str]] = {
    ("GET", "/livez"): EVERYBODY,
    ("GET", "/readyz"): EVERYBODY,
    ("GET", "/metrics"): "socket owner",
    ("GET", "/openapi.json"): KNOWN,
    ("POST", "/v1/session"): EVERYBODY,
    ("POST", "/v1/session/code"): "socket",
    ("POST", "/v1/session/link"): "owner",
    ("DELETE", "/v1/session"): "owner",
    ("POST", "/v1/captures"): "socket capture owner",
    ("POST", "/v1/captures/file"): "socket capture owner",
    ("GET", "/v1/items"): "owner",
    ("GET", "/v1/items/{item_id}"): "capture owner",
    ("GET", "/v1/items/{item_id}/text"): "owner",
    ("GET", "/v1/items/{item_id}/original"): "owner",
    ("POST", "/v1/items/{item_id}/release"): "owner",
    ("POST", "/v1/items/{item_id}/discard"): "owner",
    ("POST", "/v1/proposals"): "agent owner",
    ("GET", "/v1/proposals"): "agent owner",
    ("GET", "/v1/proposals/{proposal_id}"): "agent owner",
    ("POST", "/v1/proposals/{proposal_id}/decision"): "owner",
    ("POST", "/v1/proposals/{proposal_id}/withdraw"): "agent owner",
    ("GET", "/v1/decisions"): "owner",
    ("GET", "/v1/decisions/{decision_id}"): "owner",
    ("GET", "/v1/memories"): "agent reader owner",
    ("GET", "/v1/memories/{memory_id}"): "agent reader owner",
    ("GET", "/v1/memories/{memory_id}/history"): "agent reader owner",
    ("GET", "/v1/search"): "agent reader owner",
    ("GET", "/v1/status"): "agent reader owner",
    ("GET", "/v1/events"): "owner",
    ("GET", "/v1/settings"): "owner",
    ("GET", "/v1/tokens"): "owner",
    ("POST", "/v1/tokens"): "owner",
    ("DELETE", "/v1/tokens/{token_id}"): "owner",
    ("POST", "/v1/refused-approvals"): "socket",
    ("GET", "/"): EVERYBODY,
    ("GET", "/login"): EVERYBODY,
    ("POST", "/login"): EVERYBODY,
    ("GET", "/static/narthex.css"): EVERYBODY,
    ("GET", "/static/login.js"): EVERYBODY,
    ("GET", "/static/narthex.svg"): EVERYBODY,
    ("POST", "/logout"): "owner",
    ("GET", "/review"): "owner",
    ("GET", "/review/{proposal_id}"): "owner",
    ("POST", "/review/{proposal_id}/approve"): "owner",
    ("POST", "/review/{proposal_id}/reject"): "owner",
    ("GET", "/inbox"): "owner",
    ("POST", "/inbox/{item_id}/release"): "owner",
    ("POST", "/inbox/{item_id}/discard"): "owner",
}
LOCAL: Final = {("POST", "/v1/session/code"), ("POST", "/v1/refused-approvals"), ("GET", "/metrics")}
PREFIXES: Final = {"item_id": "itm", "proposal_id": "prp", "decision_id": "dec", "memory_id": "mem", "token_id": "tok"}
INVALID: Final = ("garbage", "expired", "revoked", "closed", "idle", "other home")


@pytest.fixture
def other_home(tmp_path: Path, clock: SettableClock, ids: Ids, premises: Premises) -> Iterator[Rig]:
    """A second narthex beside the first."""
    home = Home(tmp_path / "other")
    for folder in (home.root, home.drop, home.vault, home.state, home.originals):
        folder.mkdir()
    with opened_premises(home, home.database, clock, ids, premises.extraction) as opened:
        yield make_rig(opened, clock)


def _credentials(rig: Rig, other: Rig) -> dict[str, dict[str, str]]:
    """One of each; those that time makes bad are made first."""
    expired = rig.held("client", "capture", "read", "propose", expires_days=1)
    idle = rig.owner()
    rig.clock.advance(days=1, seconds=1)
    revoked = rig.token("client", "capture", "read", "propose")
    assert rig.tcp.delete(f"/v1/tokens/{revoked['id']}", headers=rig.owner()).status_code == 204
    closed = rig.owner()
    assert rig.tcp.delete("/v1/session", headers=closed).status_code == 204
    return {
        "none": {},
        "socket": {},
        "capture": rig.held("client", "capture"),
        "agent": rig.held("agent", "read", "propose"),
        "reader": rig.held("client", "read"),
        "garbage": bearer("nx_" + "A" * 43),
        "expired": expired,
        "idle": idle,
        "revoked": bearer(revoked["secret"]),
        "closed": closed,
        "other home": other.owner(),
    }


def _ask(rig: Rig, method: str, path: str, name: str, headers: dict[str, str]) -> int:
    page = not path.startswith(("/v1/", "/livez", "/readyz", "/metrics", "/openapi.json"))
    client = rig.page if page else rig.unix if name == "socket" or "on socket" in name else rig.tcp
    for parameter, prefix in PREFIXES.items():
        path = path.replace("{" + parameter + "}", f"{prefix}_{ID}")
    if path == "/v1/events":
        path += "?follow=false"  # with it a stream would go on
    if method != "POST":
        return client.request(method, path, headers=headers).status_code
    if page:
        return client.post(path, data={"x": "y"}, headers={**headers, "Origin": PAGES}).status_code
    if path.endswith("/file"):
        return client.post(path, files={"file": ("a.txt", b"words")}, headers=headers).status_code
    return client.post(path, json={}, headers=headers).status_code


def test_every_route_with_every_credential(rig: Rig, other_home: Rig) -> None:  # S-015, S-019
    credentials = _credentials(rig, other_home)
    wrong: list[str] = []
    for (method, path), allowed in EXPECTED.items():
        page = not path.startswith(("/v1/", "/livez", "/readyz", "/metrics", "/openapi.json"))
        for name in [*credentials, "owner"]:
            headers = rig.owner() if name == "owner" else credentials[name]
            if page and name == "socket":
                continue  # there are no pages at the socket: test_guard
            rig.clock.advance(seconds=30)  # codes are limited to ten a minute
            status = _ask(rig, method, path, name, headers)
            if name in INVALID:
                expected = {401}
            elif name in allowed.split():
                expected = {200, 201, 202, 204, 303, 401, 404, 422} - ({401} if allowed != EVERYBODY else set())
            elif name in ("none", "socket"):
                expected = {303} if page else {401}
            else:
                expected = {403}
            if status not in expected:
                wrong.append(f"{method} {path} as {name}: {status}, expected {sorted(expected)}")
    assert wrong == []


@pytest.mark.parametrize("ended", ["closed", "idle"])
def test_a_cookie_whose_session_ended_opens_nothing(rig: Rig, ended: str) -> None:  # S-019
    cookie = rig.signed_in()
    assert rig.page.get("/review", headers=cookie).status_code == 200
    if ended == "idle":
        rig.clock.advance(hours=12, seconds=1)
    else:
        assert rig.tcp.delete("/v1/session", headers=bearer(cookie["Cookie"].partition("=")[2])).status_code == 204
    wrong: list[str] = []
    for (method, path), allowed in EXPECTED.items():
        if allowed == EVERYBODY or "owner" not in allowed.split():
            continue
        for parameter, prefix in PREFIXES.items():
            path = path.replace("{" + parameter + "}", f"{prefix}_{ID}")
        page = not path.startswith(("/v1/", "/openapi.json", "/metrics"))
        body: dict[str, Any] = {"data": {"x": "y"}} if page else {"json": {}}
        sent = {**cookie, "Origin": PAGES} if method == "POST" else cookie
        if path.endswith("/file"):
            body = {"files": {"file": ("a.txt", b"words")}}
        status = rig.page.request(method, path, headers=sent, **(body if method == "POST" else {})).status_code
        if status != (303 if page else 401):
            wrong.append(f"{method} {path}: {status}")
    assert wrong == []


def test_the_socket_takes_credentials_too(rig: Rig) -> None:
    for (method, path), allowed in EXPECTED.items():
        if not path.startswith("/v1/"):
            continue
        rig.clock.advance(seconds=30)
        status = _ask(rig, method, path, "reader on socket", rig.held("client", "read"))
        permitted = "reader" in allowed.split() or (method, path) in LOCAL
        assert (status not in (401, 403)) is permitted or allowed == EVERYBODY, f"{method} {path}: {status}"


def test_the_hand_written_table_names_every_route() -> None:  # S-015
    app = FastAPI(openapi_url=None)
    for router in (*ROUTERS, pages.router):
        app.include_router(router)
    found = {
        (method, context.path) for context in iter_route_contexts(app.routes) for method in context.methods or set()
    }
    assert found == set(EXPECTED)
    assert len(TABLE) == len(EXPECTED)


def test_a_route_without_a_row_stops_the_start() -> None:  # S-015, the first lock
    router = APIRouter(route_class=DeclaredRoute)
    with pytest.raises(Broken, match="has no row"):
        router.add_api_route("/v1/approve-all", lambda: None, operation_id="approve_all")

    plain = FastAPI(openapi_url=None)
    plain.add_api_route("/v1/approve-all", lambda: None)
    with pytest.raises(Broken, match="not a declared route"):
        check_routes(plain)


def test_a_row_without_a_route_stops_the_start() -> None:
    app = FastAPI(openapi_url=None)
    for router in ROUTERS:
        app.include_router(router)
    with pytest.raises(Broken, match="approve_on_page"):
        check_routes(app)


OWNER: Final = Actor(ActorKind.OWNER, "owner", Channel.CLI)


@pytest.mark.parametrize("kind", [ActorKind.OWNER, ActorKind.DAEMON])
def test_no_token_can_be_the_owner(premises: Premises, kind: ActorKind) -> None:  # the second lock
    credentials = Credentials(premises, bytes)
    with pytest.raises(Invalid, match="cannot be of kind"):
        credentials.make_token(
            name="x", kind=kind, capabilities=list(Capability), scope="personal", lifetime=None, owner=OWNER
        )


def test_no_capability_approves(rig: Rig) -> None:
    headers = rig.owner()
    for capability in ("approve", "admin", "owner", "decide"):
        body = {"name": "x", "kind": "agent", "capabilities": [capability]}
        assert rig.tcp.post("/v1/tokens", json=body, headers=headers).status_code == 422
    for kind in ("owner", "daemon"):
        body = {"name": "x", "kind": kind, "capabilities": ["read"]}
        assert rig.tcp.post("/v1/tokens", json=body, headers=headers).status_code == 422
    assert rig.tcp.get("/v1/tokens", headers=headers).json()["items"] == []


def test_a_forged_owner_row_is_no_credential(rig: Rig) -> None:  # S-023
    """A token row edited to the owner's kind is refused: only a session proves the owner."""
    made = rig.token("client", "read")
    database = rig.premises.database

    def forge(session: Session) -> None:
        row = session.get(Token, made["id"])
        assert row is not None
        row.kind = ActorKind.OWNER
        session.add(row)

    database.write(forge)
    assert rig.tcp.get("/v1/items", headers=bearer(made["secret"])).status_code == 401
    assert rig.tcp.get("/v1/memories", headers=bearer(made["secret"])).status_code == 401
