"""One stream of events in process: slow readers, silence, idle sessions, and what it asks of the database."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.types import Message, Scope

from api.event_stream import EventStream, Streams
from pipelines import capture
from pipelines.isolate import ExtractionPool
from pipelines.model.actor import daemon_actor
from pipelines.model.identity import Ids
from pipelines.model.values import Home
from pipelines.premises import Premises
from pipelines.store import events
from tests.clock import SettableClock
from tests.opening import opened_premises
from tests.surfaces.rig import Rig, make_rig
from tests.waiting import until


def calls_of(method: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one with each call of a method, which does what it always does."""
    calls: list[str] = []
    original = getattr(EventStream, method)

    def counted(stream: EventStream, *arguments: object) -> Any:
        calls.append(method)
        return original(stream, *arguments)

    monkeypatch.setattr(EventStream, method, counted)
    return calls


def _stream(premises: Premises, streams: Streams, session_id: str, **more: float) -> EventStream:
    return EventStream(premises, streams, seq=0, session_id=session_id, follow=True, **more)


async def _run(stream: EventStream, send: Any) -> None:
    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    scope: Scope = {"type": "http", "method": "GET", "path": "/v1/events", "headers": []}
    await asyncio.wait_for(stream(scope, receive, send), 20)


def _session_id(rig: Rig) -> str:
    rig.owner()
    with rig.premises.database.read() as session:
        return events.after(session, 0, 100)[-1].subject


def test_a_slow_reader_is_cut_off(rig: Rig) -> None:
    stream = _stream(rig.premises, Streams(), _session_id(rig), patience=0.05)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        if b"id: " in message.get("body", b""):
            await asyncio.Event().wait()  # the buffers are full, for ever

    asyncio.run(_run(stream, send))
    assert not [message for message in sent if message.get("more_body") is False]  # no orderly end


def test_silence_is_filled_and_a_session_that_idles_away_ends_it(rig: Rig) -> None:
    stream = _stream(rig.premises, Streams(), _session_id(rig), heartbeat=0.1)
    signs = 0

    async def send(message: Message) -> None:
        nonlocal signs
        signs += message.get("body", b"") == b": still here\n\n"
        if signs == 2:
            rig.clock.advance(days=1)

    asyncio.run(_run(stream, send))
    assert signs == 2


def test_only_so_many_may_follow(rig: Rig) -> None:
    streams = rig.app._surface.streams
    streams.open = 32
    assert rig.tcp.get("/v1/events?follow=false", headers=rig.owner()).status_code == 429
    streams.open = 0


def test_nothing_is_asked_of_the_database_while_nothing_happens(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:  # idle costs nothing
    asked, looked = calls_of("_read", monkeypatch), calls_of("_may_be_news", monkeypatch)
    streams = Streams()

    async def send(message: Message) -> None:
        pass

    async def follow() -> None:
        running = asyncio.create_task(_run(_stream(rig.premises, streams, _session_id(rig)), send))
        await asyncio.to_thread(until, lambda: len(looked) >= 4)
        streams.end()
        await running

    asyncio.run(follow())
    assert len(asked) == 1


def test_postgresql_is_asked_for_what_other_processes_did(
    home: Home,
    postgresql_url: str,
    clock: SettableClock,
    ids: Ids,
    extraction: ExtractionPool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = calls_of("_read", monkeypatch)
    with opened_premises(home, postgresql_url, clock, ids, extraction) as premises:
        _follow_another_process(premises, make_rig(premises, clock), asked)


def _follow_another_process(premises: Premises, rig: Rig, asked: list[str]) -> None:
    streams = Streams()
    found: list[Message] = []

    async def send(message: Message) -> None:
        if b"event: captured" in message.get("body", b""):
            found.append(message)
            streams.end()

    async def follow() -> None:
        running = asyncio.create_task(_run(_stream(premises, streams, _session_id(rig)), send))
        await asyncio.to_thread(until, lambda: asked)
        commits = premises.database.commits
        await asyncio.to_thread(capture.capture_text, premises, "a thought", daemon_actor())
        premises.database.commits = commits  # as seen from another process than the one that wrote
        await running

    asyncio.run(follow())
    assert found
