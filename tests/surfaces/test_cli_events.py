"""``narthex events``, ``status --watch``, and the times and the progress that people are shown."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.model.values import Home
from tests.house.source_tree import ROOT
from tests.surfaces.cli_rig import Commands, ScriptedServer, short_home
from tests.waiting import until

CAPTURED = {"seq": 7, "at": "2026-03-02T12:00:00.5+00:00", "actor": "ada\x1b[31m", "channel": "cli"}
EXTRACTED = {"seq": 8, "at": "2026-03-02T12:00:01+00:00", "actor": "worker", "channel": "daemon"}
STREAM = f"""retry: 2000

id: 7
event: captured
data: {json.dumps({**CAPTURED, "subject": "itm_1", "action": "captured"})}

: still here

id: 8
event: extracted
data: {json.dumps({**EXTRACTED, "subject": "itm_1", "action": "extracted"})}

""".encode()
STATUS = {
    "version": "1",
    "inbox": {"working": 12, "needs_help": 0},
    "progress": {"captured": 40, "working": 12, "rate_per_minute": 36.5, "seconds_left": 95},
    "checks": {"database": {"ok": True, "detail": "sqlite"}},
}


@pytest.fixture
def near() -> Iterator[Home]:
    with short_home() as home:
        yield home


@pytest.fixture
def server(near: Home) -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    server.on("GET", "/v1/events", 200, STREAM)
    server.on("GET", "/v1/status", 200, STATUS)
    with server.listening(near):
        yield server


@pytest.fixture
def narthex(tmp_path: Path, near: Home) -> Commands:
    return Commands(tmp_path / "user", variables={"NARTHEX_HOME": str(near.root), "NARTHEX_TOKEN": "nxs_x"})


def test_the_past_is_asked_for_and_shown(narthex: Commands, server: ScriptedServer) -> None:
    ran = narthex("events", "--since", "6")
    assert ran.status == 0, ran.notes
    assert server.calls[-1].path == "/v1/events?follow=false&since=6"
    assert server.calls[-1].headers["authorization"] == "Bearer nxs_x"
    first, second = ran.output.splitlines()
    assert first.split()[:4] == ["7", "2026-03-02T12:00:00", "captured", "itm_1"]
    assert "\x1b" not in ran.output
    assert second.split()[:3] == ["8", "2026-03-02T12:00:01", "extracted"]
    assert narthex("events", "-q").output.split() == ["7", "8"]
    assert server.calls[-1].path == "/v1/events?follow=false&since=0"


def test_following_prints_a_document_a_line_and_says_how_to_go_on(narthex: Commands, server: ScriptedServer) -> None:
    ran = narthex("events", "--follow", "--json")
    assert server.calls[-1].path == "/v1/events"
    lines = ran.output.splitlines()
    assert [json.loads(line)["seq"] for line in lines[:2]] == [7, 8]
    assert ran.status == 6  # whoever follows wants to know that nothing more comes
    assert "narthex events --follow --since 8" in ran.notes


def test_what_is_refused_is_said(narthex: Commands, server: ScriptedServer) -> None:
    problem = {"type": "urn:narthex:problem:not-permitted", "detail": "it needs the power 'owner'"}
    server.on("GET", "/v1/events", 403, problem)
    ran = narthex("events")
    assert (ran.status, "needs the power" in ran.notes) == (4, True)
    assert narthex("events", "--since", "-3").status == 2


def test_progress_is_shown_where_people_look(narthex: Commands, server: ScriptedServer) -> None:
    expected = "12 working, 36 a minute, about 1 min left"
    assert expected in narthex("status").output
    server.on("GET", "/v1/items", 200, {"items": [], "next_cursor": None})
    assert expected in narthex("inbox").notes
    server.on("GET", "/v1/status", 200, {**STATUS, "inbox": {"working": 0}, "progress": {"working": 0}})
    assert "0 working" in narthex("status").output
    assert "working" not in narthex("inbox").notes


def test_the_steps_of_an_item_are_shown_with_their_times(narthex: Commands, server: ScriptedServer) -> None:
    item = "itm_01jq7r3k8v2m"
    timeline = [
        {"at": "2026-03-02T12:00:00Z", "action": "captured", "actor": "ada", "ms": None},
        {"at": "2026-03-02T12:00:01Z", "action": "extracted", "actor": "worker", "ms": 1042},
    ]
    server.on("GET", f"/v1/items/{item}", 200, {"id": item, "timeline": timeline})
    captured, extracted = narthex("show", item).output.splitlines()[-2:]
    assert captured.split() == ["2026-03-02T12:00:00Z", "captured", "ada"]
    assert extracted.split() == ["2026-03-02T12:00:01Z", "+1042", "ms", "extracted", "worker"]


def test_watching_needs_a_terminal(narthex: Commands, server: ScriptedServer) -> None:
    assert narthex("status", "--watch").status == 2
    assert narthex("status", "--watch", "--json").status == 2


def test_watching_draws_anew_until_it_is_interrupted(narthex: Commands, server: ScriptedServer) -> None:
    ours, theirs = pty.openpty()
    program = [sys.executable, "-c", "from api.cli.main import main; raise SystemExit(main())", "status", "--watch"]
    variables = {**os.environ, **narthex.variables, "PYTHONPATH": str(ROOT)}
    screen = b""

    def drawn() -> bool:
        nonlocal screen
        while select.select([ours], [], [], 0)[0]:
            screen += os.read(ours, 65536)
        return screen.count(b"\x1b[H\x1b[2J") >= 2

    with subprocess.Popen(
        program, cwd=ROOT, env=variables, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as command:
        until(drawn, 30)
        command.send_signal(2)
        assert command.wait(20) == 0
    assert b"12 working, 36 a minute" in screen
    for end in (ours, theirs):
        os.close(end)
