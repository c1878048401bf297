"""Hundreds of bad requests over real sockets: each gets the right refusal as a problem, none a 5xx, none a reset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote

import pytest

from api.ports import PAGE_HOST
from pipelines.premises import Premises
from tests.clock import SettableClock
from tests.surfaces.bad_input import SEARCHES, Bad, ids, json_traps, queries, shapes
from tests.surfaces.bad_transport import requests, streams, uploads
from tests.surfaces.rig import memory
from tests.surfaces.served import Answered, Served, request, serving


@pytest.fixture
def served(premises: Premises, clock: SettableClock) -> Iterator[Served]:
    """A running server."""
    with serving(premises, clock) as served:
        yield served


def _send(served: Served, bad: Bad, proposal: str) -> Answered:
    def filled(text: str) -> str:
        return text.replace("PROPOSAL", proposal).replace("PORT", str(served.port))

    if bad.raw:
        raw = bad.raw.replace(b"PORT", str(served.port).encode()).replace(b"BEARER", served.bearer.encode())
        return served.exchange(raw, end=bad.end)
    headers = {name: filled(value) for name, value in bad.headers.items()}
    return served.exchange(request(served, bad.method, filled(bad.path), bad.body, kind=bad.kind, headers=headers))


def _wrong(bad: Bad, answer: Answered) -> str:
    """What is wrong with an answer; empty when it is a proper refusal."""
    if answer.status not in bad.statuses:
        return f"{answer.status} instead of {sorted(bad.statuses)}: {answer.body[:200]!r}"
    if answer.status == 200 or bad.method == "HEAD":
        return ""
    if answer.status == 303:  # no path of the API: it may be a page, and those live on one name
        there = answer.headers["location"]
        return "" if there.startswith(f"http://{PAGE_HOST}:") else f"it leads to {there}"
    if answer.headers.get("content-type") != "application/problem+json":
        return f"the answer is {answer.headers.get('content-type')}"
    problem = answer.json()
    if problem["status"] != answer.status or not problem["type"].startswith("urn:narthex:problem:"):
        return f"not our problem: {problem}"
    if problem["instance"] != answer.headers.get("x-request-id", ""):
        return "the problem names another request"
    return "" if problem["title"] and problem["detail"] else "it says nothing"


def _check(served: Served, corpus: Iterable[Bad], at_least: int) -> None:
    made = served.call("POST", "/v1/proposals", {"action": "create_memory", "payload": memory("Seed storage")})
    assert made.status == 201, made.body
    proposal = str(made.json()["id"])
    found = [(bad, _send(served, bad, proposal)) for bad in corpus]
    assert len(found) >= at_least
    problems = [f"{bad.name}: {wrong}" for bad, answer in found if (wrong := _wrong(bad, answer))]
    assert not problems, "\n".join(problems)
    assert served.daemon.failures == []
    assert served.call("GET", f"/v1/proposals/{proposal}").json()["state"] == "pending"
    assert served.call("GET", "/v1/items").json()["items"] == []  # nothing of all this was taken in


def test_json_traps_at_every_route(served: Served) -> None:  # S-060, P11
    _check(served, json_traps(), 200)


def test_one_wrong_thing(served: Served) -> None:  # S-060
    _check(served, shapes(), 70)


def test_ids_that_are_none(served: Served) -> None:  # S-060
    _check(served, ids(), 200)


def test_cursors_limits_and_states(served: Served) -> None:  # S-060
    _check(served, queries(), 100)


def test_methods_paths_headers_and_types(served: Served) -> None:  # S-060
    _check(served, requests(), 70)


def test_broken_http(served: Served) -> None:  # S-060
    _check(served, streams(), 50)


def test_uploads_that_are_no_form(served: Served) -> None:  # S-060
    _check(served, uploads(), 25)


def test_search_takes_anything(served: Served) -> None:  # S-060
    for words in SEARCHES:
        answer = served.call("GET", f"/v1/search?q={quote(words)}")
        assert answer.status == 200, (words, answer.body)


def test_odd_file_names_are_only_names(served: Served) -> None:  # S-060
    for number, name in enumerate(
        ("../../etc/passwd", "a\x00b", "C:\\x\\y.txt", "", "x" * 5000, "\u202egpj.exe", "..")
    ):
        head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
        body = head + str(number).encode() + b"\r\n--b--\r\n"
        kind = "multipart/form-data; boundary=b"
        answer = served.exchange(request(served, "POST", "/v1/captures/file", body, kind=kind))
        assert answer.status in (201, 400, 422), (name, answer.body)
        if answer.status == 201:
            assert not {"/", "\\", "\x00"} & set(answer.json()["name"])
