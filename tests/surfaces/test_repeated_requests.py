"""One key, one effect: in parallel, after an answer that was lost, and with another body."""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipelines.premises import Premises
from tests.clock import SettableClock
from tests.surfaces.rig import memory
from tests.surfaces.served import Answered, Served, request, serving
from tests.waiting import until

CAPTURE = {"kind": "text", "text": "Seeds keep longest cold and dry."}
KEY = {"Idempotency-Key": "the-same-key"}


@pytest.fixture
def served(premises: Premises, clock: SettableClock) -> Iterator[Served]:
    """A running server."""
    with serving(premises, clock) as served:
        yield served


def _items(served: Served) -> list[str]:
    return [item["id"] for item in served.call("GET", "/v1/items").json()["items"]]


def _unless_running(answer: Answered) -> Answered | None:
    return None if answer.status == 409 else answer


def test_a_hundred_at_once_make_one_item(served: Served) -> None:  # S-062
    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(lambda _: served.call("POST", "/v1/captures", CAPTURE, **KEY), range(100)))
    statuses = Counter(answer.status for answer in answers)
    assert set(statuses) <= {200, 201, 409}, statuses
    assert len(_items(served)) == 1
    assert {answer.json()["id"] for answer in answers if answer.status != 409} == set(_items(served))
    waiting = [answer for answer in answers if answer.status == 409]
    assert all(answer.json()["type"].endswith(":still-running") and answer.headers["retry-after"] for answer in waiting)
    last = served.call("POST", "/v1/captures", CAPTURE, **KEY)
    assert last.status == 201
    assert last.headers["idempotency-replayed"] == "true"


def test_a_hundred_proposals_at_once_are_one(served: Served) -> None:  # S-062
    body = {"action": "create_memory", "payload": memory("Seed storage")}
    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(lambda _: served.call("POST", "/v1/proposals", body, **KEY), range(100)))
    assert {answer.status for answer in answers} <= {201, 409}
    assert len(served.call("GET", "/v1/proposals").json()["items"]) == 1


def test_a_repetition_after_a_lost_answer_finds_what_was_made(served: Served) -> None:  # S-062
    body = json.dumps(CAPTURE).encode()
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.sendall(request(served, "POST", "/v1/captures", body, headers=KEY))
        made = until(lambda: _items(served))
        # gone without having read the answer
    again = until(lambda: _unless_running(served.call("POST", "/v1/captures", CAPTURE, **KEY)))
    assert again is not None
    assert again.status in (200, 201)
    assert [again.json()["id"]] == made == _items(served)


def test_the_same_key_with_another_body_is_refused(served: Served) -> None:  # S-062
    assert served.call("POST", "/v1/captures", CAPTURE, **KEY).status == 201
    other = served.call("POST", "/v1/captures", {**CAPTURE, "text": "Another text."}, **KEY)
    assert other.status == 422
    assert served.call("POST", "/v1/proposals", {"action": "create_memory", "payload": {}}, **KEY).status == 422
    form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nx\r\n--b--\r\n'
    kind = "multipart/form-data; boundary=b"
    file = served.exchange(request(served, "POST", "/v1/captures/file", form, kind=kind, headers=KEY))
    assert file.status == 422, file.body
    assert len(_items(served)) == 1
