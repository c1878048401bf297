"""One-time codes, owner sessions and tokens: how they are got, how they end, what is stored of them."""

from __future__ import annotations

import re
import threading
from datetime import timedelta
from typing import Final

import pytest

from api.codes import CodeDesk, typed_part
from api.ports import Listener
from pipelines.model.errors import Busy, Unauthenticated
from tests.clock import SettableClock
from tests.surfaces.rig import PAGES, Rig, bearer

HOUR: Final = timedelta(hours=1)


def test_a_code_opens_one_session(rig: Rig) -> None:  # S-018
    code = rig.code()
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}", typed_part(code))
    typed = typed_part(code).lower().replace("-", " ")
    answer = rig.tcp.post("/v1/session", json={"code": typed, "client": "a test"})
    assert answer.status_code == 201
    assert re.fullmatch(r"nxs_[A-Za-z0-9_-]{43}", answer.json()["token"])
    assert rig.tcp.get("/v1/items", headers=bearer(answer.json()["token"])).status_code == 200
    for used in (code, typed):  # one code, however it is spelled
        again = rig.tcp.post("/v1/session", json={"code": used})
        assert again.status_code == 401
    assert again.headers["www-authenticate"] == 'Bearer realm="narthex"'


def test_the_code_is_never_answered(rig: Rig) -> None:  # L-051
    answer = rig.unix.post("/v1/session/code", json={})
    assert rig.daemon.codes[-1] not in answer.text
    assert answer.json() == {"printed_on": "the daemon's terminal or journal"}


def test_guessing_is_slow_and_locks_nobody_out(rig: Rig) -> None:  # S-017, S-018
    typed, at_the_socket, whole = typed_part(rig.code()), typed_part(rig.code()), rig.code()

    def tried(code: str) -> int:
        return rig.tcp.post("/v1/session", json={"code": code}).status_code

    wrong = [tried(f"ZZZZ-{guess:04}") for guess in range(1000)]
    assert wrong == [401] * 10 + [429] * 990
    assert tried(typed) == 429  # or the limit would be none
    assert rig.page.post("/login", data={"code": typed}, headers={"Origin": PAGES}).status_code == 429
    # other users of this machine come through TCP: they shut neither the socket nor the link that only the owner reads
    assert rig.unix.post("/v1/session", json={"code": at_the_socket}).status_code == 201
    assert tried(whole) == 201
    rig.clock.advance(minutes=1)
    assert tried(typed) == 201  # no code was void


def test_wrong_bearers_are_limited_and_right_ones_are_not(rig: Rig) -> None:  # S-017
    owner = rig.owner()
    wrong = [rig.tcp.get("/v1/items", headers=bearer(f"nx_{guess:043}")).status_code for guess in range(130)]
    assert wrong == [401] * 120 + [429] * 10
    assert rig.tcp.get("/v1/items", headers=owner).status_code == 200
    assert rig.unix.get("/v1/items", headers=bearer("nx_" + "A" * 43)).status_code == 401


def test_a_code_expires(rig: Rig) -> None:  # S-018
    code = rig.code()
    rig.clock.advance(minutes=60)
    assert rig.tcp.post("/v1/session", json={"code": code}).status_code == 401


def test_two_that_race_for_a_code(clock: SettableClock) -> None:  # S-018
    desk = CodeDesk(clock, lambda count: b"\x07" * count, HOUR, tries=1000)
    code = desk.issue()
    opened: list[bool] = []

    def redeem() -> None:
        try:
            desk.redeem(code, Listener.TCP)
            opened.append(True)
        except Unauthenticated:
            opened.append(False)

    racers = [threading.Thread(target=redeem) for _ in range(16)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert sorted(opened) == [False] * 15 + [True]


def test_codes_are_limited(clock: SettableClock) -> None:
    desk = CodeDesk(clock, lambda count: b"\x07" * count, HOUR, tries=5)
    for _ in range(10):
        desk.issue()
    with pytest.raises(Busy):
        desk.issue()
    clock.advance(minutes=1)
    assert desk.issue()


@pytest.mark.parametrize(
    ("typed", "good"), [("0000-0000", True), ("OOOO OOOO", True), ("00000000X", False), ("", False)]
)
def test_what_is_read_aloud_is_typed_right(clock: SettableClock, typed: str, good: bool) -> None:
    desk = CodeDesk(clock, bytes, HOUR, tries=5)
    desk.issue()
    if good:
        desk.redeem(typed, Listener.TCP)
    else:
        with pytest.raises(Unauthenticated):
            desk.redeem(typed, Listener.TCP)


def test_a_session_ends_when_idle(rig: Rig) -> None:
    headers = rig.owner()
    for _ in range(3):  # in use it lives on
        rig.clock.advance(hours=11)
        assert rig.tcp.get("/v1/items", headers=headers).status_code == 200
    rig.clock.advance(hours=12, seconds=1)
    assert rig.tcp.get("/v1/items", headers=headers).status_code == 401


def test_a_closed_session_is_refused(rig: Rig) -> None:  # S-019
    headers = rig.owner()
    assert rig.tcp.delete("/v1/session", headers=headers).status_code == 204
    assert rig.tcp.get("/v1/items", headers=headers).status_code == 401


def test_a_link_opens_a_session_once(rig: Rig) -> None:
    answer = rig.tcp.post("/v1/session/link", json={}, headers=rig.owner())
    assert answer.status_code == 201
    url = answer.json()["url"]
    assert url.startswith(f"{PAGES}/login#code=")
    assert rig.app.fresh_login_link().startswith(f"{PAGES}/login#code=")
    code = url.partition("#code=")[2]
    for expected in (303, 401):
        answer = rig.page.post("/login", data={"code": code}, headers={"Origin": PAGES})
        assert answer.status_code == expected


@pytest.mark.parametrize(
    "value",
    [
        "Basic nx_abc",
        "Bearer",
        "Bearer nx_short",
        "nx_" + "A" * 43,
        "Bearer nx_" + "A" * 1_000,
        "Bearer nx_" + "é" * 43,
    ],
)
def test_malformed_bearers_are_refused(rig: Rig, value: str) -> None:  # S-017
    answer = rig.tcp.get("/v1/items", headers=[(b"authorization", value.encode())])
    assert answer.status_code == 401


def test_secrets_elsewhere_are_no_credential(rig: Rig) -> None:  # S-017
    secret = rig.owner()["Authorization"].removeprefix("Bearer ")
    assert rig.tcp.get(f"/v1/items?token={secret}&access_token={secret}").status_code == 401
    # the cookie counts on the page's name only
    cookie = {"Cookie": f"__Host-narthex-6278={secret}"}
    assert rig.tcp.get("/v1/items", headers=cookie).status_code == 401
    assert rig.unix.get("/v1/items", headers=cookie).status_code == 401
    assert rig.page.get("/v1/items", headers=cookie).status_code == 200
    twice = {"Cookie": f"__Host-narthex-6278={secret}; __Host-narthex-6278={secret}"}
    assert rig.page.get("/v1/items", headers=twice).status_code == 401
    token = rig.token("client", "read")["secret"]
    assert rig.page.get("/v1/memories", headers={"Cookie": f"__Host-narthex-6278={token}"}).status_code == 401


def test_no_secret_is_stored(rig: Rig) -> None:
    owner = rig.owner()
    made = rig.token("agent", "read")
    rig.premises.database.write(lambda session: None)  # everything before is on the disk
    stored = b"".join(path.read_bytes() for path in rig.premises.home.state.glob("state.db*"))
    for secret in (made["secret"], owner["Authorization"].removeprefix("Bearer "), *rig.daemon.codes):
        assert secret.encode() not in stored
    listed = rig.tcp.get("/v1/tokens", headers=owner).json()["items"]
    assert "secret" not in listed[0]
    assert not any("digest" in key for key in listed[0])


def test_last_use_is_noted_once_a_minute(rig: Rig) -> None:
    made = rig.token("client", "read")
    owner = rig.owner()

    def used() -> str | None:
        value: str | None = rig.tcp.get("/v1/tokens", headers=owner).json()["items"][0]["last_used_at"]
        return value

    assert used() is None
    rig.tcp.get("/v1/memories", headers=bearer(made["secret"]))
    first = used()
    assert first is not None
    rig.clock.advance(seconds=59)
    rig.tcp.get("/v1/memories", headers=bearer(made["secret"]))
    assert used() == first
    rig.clock.advance(seconds=1)
    rig.tcp.get("/v1/memories", headers=bearer(made["secret"]))
    assert used() != first


def test_names_of_tokens_are_never_used_twice(rig: Rig) -> None:
    owner = rig.owner()
    body = {"name": "browser", "kind": "client", "capabilities": ["capture"]}
    first = rig.tcp.post("/v1/tokens", json=body, headers=owner)
    assert first.status_code == 201
    rig.tcp.delete(f"/v1/tokens/{first.json()['id']}", headers=owner)
    # its captures and proposals go by this name: a new bearer must not inherit them
    assert rig.tcp.post("/v1/tokens", json=body, headers=owner).status_code == 409
    for reserved in ("owner", "socket", "narthexd"):
        assert rig.tcp.post("/v1/tokens", json={**body, "name": reserved}, headers=owner).status_code == 422
    assert rig.tcp.post("/v1/tokens", json={**body, "name": "b2", "scope": "nobody"}, headers=owner).status_code == 422
