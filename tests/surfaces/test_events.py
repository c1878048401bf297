"""The stream of events over real connections: complete, resumable, for the owner alone, and never waited for."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest
from sqlmodel import Session

from daemon.listeners import Doors, bind_loopback, bind_socket
from pipelines import capture
from pipelines.model.actor import daemon_actor
from pipelines.premises import Premises
from pipelines.store import events
from tests.surfaces.cli_rig import short_home
from tests.surfaces.rig import PORT, Rig
from tests.waiting import until


@dataclass
class Served:
    """The application behind the daemon's own doors, and a way to sign in."""

    doors: Doors
    port: int
    rig: Rig

    @contextmanager
    def reading(self, query: str = "", **headers: str) -> Iterator[HTTPResponse]:
        """An open stream."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            host = f"127.0.0.1:{PORT}"  # the name that the application of the rig goes by
            connection.request("GET", f"/v1/events{query}", headers={"Host": host, **self.rig.owner(), **headers})
            yield connection.getresponse()
        finally:
            connection.close()


@pytest.fixture
def served(rig: Rig) -> Iterator[Served]:
    with short_home() as near:
        loopback, unix = bind_loopback(0), bind_socket(near.root / "n.sock")
        port = int(loopback.getsockname()[1])
        doors = Doors(rig.app, loopback, unix, closing=rig.app.end_streams, signals=False)
        opened = threading.Event()
        thread = threading.Thread(target=doors.serve, args=(opened.set,))
        thread.start()
        until(opened.is_set)
        try:
            yield Served(doors, port, rig)
        finally:
            doors.close()
            thread.join()


def told(answer: HTTPResponse, count: int) -> list[dict[str, Any]]:
    """The next ``count`` events, each checked for its form."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        line = answer.readline()
        assert line, f"the stream ended after {len(found)} events"
        if not line.startswith(b"id: "):
            continue
        kind, body, end = answer.readline(), answer.readline(), answer.readline()
        event = json.loads(body.removeprefix(b"data: "))
        assert line == f"id: {event['seq']}\n".encode()
        assert kind == f"event: {event['action']}\n".encode()
        assert end == b"\n"
        found.append(event)
    return found


def capture_some(premises: Premises, count: int, start: int = 0) -> None:
    """One event each."""
    for number in range(start, start + count):
        capture.capture_text(premises, f"the secret text {number}", daemon_actor())


def append_many(premises: Premises, count: int) -> None:
    """All in one transaction."""

    def append(session: Session) -> None:
        for number in range(count):
            reason = f"the secret text {number}"
            events.append(session, daemon_actor(), "noted", f"subject {number}", now=premises.clock(), reason=reason)

    premises.database.write(append)


def chain(premises: Premises) -> list[tuple[int, str, str]]:
    """What the stream must tell."""
    with premises.database.read() as session:
        return [(event.seq, event.action, event.subject) for event in events.after(session, 0, 10_000)]


def test_each_event_is_told_once_and_in_order(served: Served, premises: Premises) -> None:
    append_many(premises, 450)  # more than two batches
    with served.reading("?since=0") as answer:
        assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"
        assert answer.getheader("cache-control") == "no-store"
        expected = chain(premises)
        seen = told(answer, len(expected))
        assert [(event["seq"], event["action"], event["subject"]) for event in seen] == expected
        assert set(seen[0]) == {"seq", "at", "actor", "channel", "subject", "action"}
        assert "secret" not in json.dumps(seen)
        capture_some(premises, 1)
        (live,) = told(answer, 1)
        assert live["seq"] == len(expected) + 1


def test_what_happens_is_told_within_half_a_second(served: Served, premises: Premises) -> None:  # surfaces 2.11
    with served.reading() as answer:  # without since: from now on
        assert answer.readline() == b"retry: 2000\n"
        times = []
        for number in range(5):
            began = time.monotonic()
            capture_some(premises, 1, number)
            assert told(answer, 1)[0]["action"] == "captured"
            times.append(time.monotonic() - began)
        assert sorted(times)[2] < 0.5


def test_it_resumes_where_the_reader_was_cut_off(served: Served, premises: Premises) -> None:
    capture_some(premises, 5)
    with served.reading("?since=1", **{"Last-Event-ID": "4"}) as answer:
        assert told(answer, 1)[0]["seq"] == 5
    with served.reading("?since=999999&follow=false") as answer:  # of a chain that was longer
        assert b"id:" not in answer.read()


def test_without_following_it_ends(served: Served, premises: Premises) -> None:
    capture_some(premises, 3)
    with served.reading("?since=0&follow=false") as answer:
        assert answer.read().count(b"id: ") == len(chain(premises))


@pytest.mark.parametrize("query", ["?since=-1", "?since=x", "?since=99999999999999999999", "?follow=perhaps"])
def test_odd_questions_are_refused(rig: Rig, query: str) -> None:
    assert rig.tcp.get(f"/v1/events{query}", headers=rig.owner()).status_code == 422
    assert rig.tcp.get("/v1/events", headers={**rig.owner(), "Last-Event-ID": "x"}).status_code == 422


def test_no_token_hears_anything(rig: Rig) -> None:  # the safe answer: not even of its own scope
    for kind in ("agent", "client"):
        headers = rig.held(kind, "capture", "read", "propose")
        assert rig.tcp.get("/v1/events?follow=false", headers=headers).status_code == 403
    assert rig.tcp.get("/v1/events?follow=false").status_code == 401
    assert rig.unix.get("/v1/events?follow=false").status_code == 401


def test_it_ends_within_a_second_of_the_sessions_end(served: Served) -> None:
    headers = served.rig.owner()
    with served.reading(**headers) as answer:
        assert answer.readline()
        began = time.monotonic()
        assert served.rig.tcp.delete("/v1/session", headers=headers).status_code == 204
        assert b"session_closed" not in answer.read()  # the session was over when that was to be told
        assert time.monotonic() - began < 1


def test_at_the_end_of_the_process_every_stream_ends(served: Served) -> None:
    with served.reading() as first, served.reading() as second:
        assert first.readline()
        assert second.readline()
        began = time.monotonic()
        served.doors.close()
        first.read()
        second.read()
        assert time.monotonic() - began < 2


def test_a_reader_that_goes_leaves_nothing(served: Served) -> None:
    with served.reading() as answer:
        assert answer.readline()
    streams = served.rig.app._surface.streams
    until(lambda: streams.open == 0)
