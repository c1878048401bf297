"""Deciding at the terminal: only a person, only what was shown, and the daemon is told what that was."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli._agents import KernelProcessTable, Process, agent_in
from api.client import Json
from pipelines.model.values import Home
from tests.surfaces.cli_rig import Call, Commands, Parents, Person, ScriptedServer, short_home

ID = "prp_01jq7r3k8v2m"
OTHER = "prp_01jq7r3k91ks"
DIGEST = "ab" * 32
PROPOSAL: dict[str, Json] = {
    "id": ID, "revision": 3, "state": "pending", "action": "create_memory", "title": "Seeds", "digest": DIGEST,
    "path": "Notes/Seeds.md", "scope": "personal", "before": None, "after": "# Seeds\nKeep cold.\n", "diff": "",
    "rationale": "said twice", "producer": "heuristic", "producer_version": "1", "confidence": 0.5,
    "flags": ["hidden text"],
    "evidence": [{"item_id": "itm_01jq7r3k8v2m", "quote": "Keep cold.", "start": 8, "end": 18, "inferred": False}],
    "source_label": "a file", "submitted_by": "narthexd", "problem": "",
}  # fmt: skip
DECISION = {"id": "dec_01jq7r3k8v2m", "proposal_id": ID, "memory_id": "mem_01jq7r3k8v2m", "path": "Notes/Seeds.md"}


@pytest.fixture
def near() -> Iterator[Home]:
    with short_home() as home:
        yield home


@pytest.fixture
def narthex(tmp_path: Path, near: Home) -> Commands:
    return Commands(
        tmp_path / "user", Person(["y"]), variables={"NARTHEX_HOME": str(near.root), "NARTHEX_TOKEN": "nxs_x"}
    )


@pytest.fixture
def server(near: Home) -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    scripted.on("GET", f"/v1/proposals/{ID}", 200, PROPOSAL)
    scripted.on("POST", f"/v1/proposals/{ID}/decision", 200, DECISION)
    scripted.on("POST", "/v1/refused-approvals", 202, {"recorded": True})
    with scripted.listening(near):
        yield scripted


def decisions(server: ScriptedServer) -> list[Call]:
    return [call for call in server.calls if call.path.endswith("/decision")]


def test_what_is_approved_is_what_was_fetched_and_shown(narthex: Commands, server: ScriptedServer) -> None:
    ran = narthex("approve", ID)
    assert ran.status == 0
    shown = "".join(narthex.person.seen[:-1])
    assert "  | # Seeds\n  | Keep cold.\n" in shown
    for fact in ("Notes/Seeds.md", "hidden text", "said twice", DIGEST, '"Keep cold."', "revision 3"):
        assert fact in shown
    assert "[y/N]" in narthex.person.seen[-1]
    (call,) = decisions(server)
    body = call.document
    assert isinstance(body.pop("shown_ms"), int)
    assert body == {"action": "approve", "revision": 3, "digest": DIGEST}
    assert call.headers["idempotency-key"] == "key0"
    assert ran.output == f"{ID}  approved  mem_01jq7r3k8v2m  Notes/Seeds.md\n"


@pytest.mark.parametrize("answer", ["", "n", "no", "yess", "Y E S", "\x1b"])
def test_anything_but_yes_is_no(narthex: Commands, server: ScriptedServer, answer: str) -> None:
    narthex.person = Person([answer])
    assert narthex("approve", ID).status == 1
    assert not decisions(server)


def test_each_of_several_is_shown_and_asked(narthex: Commands, server: ScriptedServer) -> None:
    server.on("GET", f"/v1/proposals/{OTHER}", 200, {**PROPOSAL, "id": OTHER})
    narthex.person = Person(["y", "n"])
    ran = narthex("approve", ID, OTHER, "--json")
    assert ran.status == 7
    assert ran.document == {
        "items": [{**DECISION, "outcome": "approved"}, {"proposal_id": OTHER, "outcome": "left as it is"}]
    }
    assert sum("[y/N]" in line for line in narthex.person.seen) == 2
    assert len(decisions(server)) == 1
    assert narthex("approve", "--yes", ID).status == 2  # there is no way around the question


def test_what_changed_meanwhile_is_not_approved(narthex: Commands, server: ScriptedServer) -> None:
    server.on("POST", f"/v1/proposals/{ID}/decision", 409, {"type": "urn:narthex:problem:digest-mismatch"})
    assert narthex("approve", ID).status == 5
    server.on("GET", f"/v1/proposals/{ID}", 200, {**PROPOSAL, "state": "promoted"})
    narthex.person = Person(["y"])
    assert narthex("approve", ID).status == 5
    assert not narthex.person.seen  # nothing to be asked about
    server.on("GET", f"/v1/proposals/{ID}", 200, {**PROPOSAL, "before": None, "after": None})
    assert narthex("approve", ID).status == 5  # nothing that could be shown


def test_rejecting_says_why(narthex: Commands, server: ScriptedServer) -> None:
    server.on("GET", f"/v1/proposals/{ID}", 200, {**PROPOSAL, "state": "stale"})
    assert narthex("approve", ID).status == 5
    assert narthex("reject", ID, "-m", "old", "--reason", "wrong").status == 0
    body = decisions(server)[0].document
    assert (body["action"], body["reason_code"], body["reason"]) == ("reject", "wrong", "old")


@pytest.mark.parametrize("verb", ["approve", "reject"])
@pytest.mark.parametrize(
    "agent",
    [
        Process(7, "claude"),
        Process(7, "node", ("/usr/bin/node", "/opt/node_modules/@vendor/codex/bin/run.js")),
        Process(7, "python3.11", ("python3.11", "/home/x/bin/aider")),
        Process(7, "zsh", ("zsh",), frozenset({"CLAUDECODE"})),
        Process(7, "bash", ("bash",), frozenset({"HOME", "CURSOR_AGENT"})),
    ],
    ids=lambda process: process.name,
)
def test_a_program_that_acts_for_itself_may_not_decide(
    narthex: Commands, server: ScriptedServer, agent: Process, verb: str
) -> None:
    narthex.parents = Parents((Process(0, "narthex"), Process(9, "sh"), agent, Process(1, "init")))
    ran = narthex(verb, ID)
    assert ran.status == 4
    assert "review page" in ran.notes
    (call,) = server.calls  # not even looked at
    assert call.path == "/v1/refused-approvals"
    assert call.document["because"] == "agent in the process tree"
    assert "process 7" in str(call.document["program"])
    assert "authorization" not in call.headers
    assert not narthex.person.seen


def test_without_a_terminal_nothing_is_decided(narthex: Commands, server: ScriptedServer) -> None:
    narthex.person = Person(["y"], present=False)
    assert narthex("approve", ID).status == 4
    assert server.calls[0].document == {"because": "no terminal", "program": "narthex"}
    server.on("POST", "/v1/refused-approvals", 500, {})
    ran = narthex("approve", ID)
    assert ran.status == 4  # the refusal does not depend on its record
    assert "no daemon answers that could record" in ran.notes


@pytest.mark.parametrize(
    "process",
    [
        Process(1, "bash", ("bash", "-c", "claude"), frozenset({"HOME", "ANTHROPIC_API_KEY", "EDITOR"})),
        Process(1, "vim", ("vim", "/home/claude/notes")),
        Process(1, "python3", ("python3", "/home/gemini/x/run.py")),
        Process(1, "tmux: server", ("tmux",)),
    ],
    ids=lambda process: process.name,
)
def test_a_person_is_not_taken_for_a_program(process: Process) -> None:
    assert agent_in([process]) is None


def test_the_kernels_table_is_read_up_to_the_first_process(tmp_path: Path) -> None:
    def process(pid: str, parent: int, name: str, command: bytes, variables: bytes) -> None:
        folder = tmp_path / pid
        folder.mkdir()
        (folder / "stat").write_text(f"1 ({name}) S {parent} 1 1")
        (folder / "comm").write_text(name + "\n")
        (folder / "cmdline").write_bytes(command)
        (folder / "environ").write_bytes(variables)

    process("self", 50, "narthex", b"", b"")
    process("50", 40, "od) S 1 (d", b"sh\0-c\0x\0", b"A=1\0B=2\0")
    process("40", 40, "round", b"", b"CODEX_SANDBOX=1\0")
    table = KernelProcessTable({"X": "1"}, tmp_path)
    lineage = table.lineage()
    assert [one.pid for one in lineage[:3]] == [0, 50, 40]
    assert lineage[0].variables == {"X"}
    assert lineage[1].name == "od) S 1 (d"
    assert {"A", "B"} <= lineage[1].variables
    assert len(lineage) == 256  # a table that runs in circles ends too
    assert agent_in(lineage) == "CODEX_SANDBOX in the environment of round (process 40)"


def test_the_real_table_knows_this_process() -> None:
    lineage = KernelProcessTable({}).lineage()
    assert os.getppid() in [one.pid for one in lineage]


def test_login_keeps_what_the_code_gave_and_never_shows_it(
    narthex: Commands, server: ScriptedServer, near: Home
) -> None:
    server.on("POST", "/v1/session", 201, {"token": "nxs_secret", "expires_at": "2026-03-03T00:00:00Z"})
    server.on("POST", "/v1/session/code", 202, {"printed_on": "the daemon's terminal"})
    server.on("GET", "/v1/status", 200, {"version": "1"})
    del narthex.variables["NARTHEX_TOKEN"]
    narthex.person = Person(["7K2M-Q9XA"])
    ran = narthex("login", "--json")
    (stored,) = (narthex.config / "sessions").iterdir()
    assert ran.document == {"home": str(near.root), "expires_at": "2026-03-03T00:00:00Z", "stored": str(stored)}
    assert "nxs_secret" not in ran.output + ran.notes
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert server.calls[1].document == {"code": "7K2M-Q9XA", "client": "narthex"}
    narthex("status")
    assert server.calls[-1].headers["authorization"] == "Bearer nxs_secret"
    narthex("status", "--token", "nx_other")
    assert server.calls[-1].headers["authorization"] == "Bearer nx_other"


def test_a_login_that_has_ended_costs_no_capture(narthex: Commands, server: ScriptedServer, near: Home) -> None:
    def capture(call: Call) -> tuple[int, object]:
        if "authorization" in call.headers:
            return 401, {"type": "urn:narthex:problem:unauthenticated", "detail": "expired"}
        return 201, {"id": "itm_01jq7r3k8v2m", "kind": "text", "state": "fetched"}

    server.table["POST", "/v1/captures"] = capture
    assert narthex("add", "x").status == 4  # a credential that was named must hold
    del narthex.variables["NARTHEX_TOKEN"]
    server.on("POST", "/v1/session", 201, {"token": "nxs_old", "expires_at": ""})
    narthex("login", "CODE")
    ran = narthex("add", "x", "--json")
    assert ran.status == 0
    assert ran.document == {"items": [{"id": "itm_01jq7r3k8v2m", "kind": "text", "state": "fetched"}]}
    assert "narthex login" in ran.notes


def test_waiting_ends_when_the_daemon_has_done_its_part(narthex: Commands, server: ScriptedServer) -> None:
    states = iter(["fetched", "normalized", "proposed", "quarantined"])
    item = {"id": "itm_01jq7r3k8v2m", "kind": "text", "problem": ""}
    server.on("POST", "/v1/captures", 201, {**item, "state": "fetched"})
    server.table["GET", "/v1/items/itm_01jq7r3k8v2m"] = lambda _: (
        200,
        {**item, "state": next(states), "proposals": [ID]},
    )
    ran = narthex("add", "x", "--wait")
    assert (ran.status, ran.output) == (0, "itm_01jq7r3k8v2m  text  proposed  1 proposal\n")
    assert narthex("add", "x", "--wait").status == 4  # what needs a person
    server.on("GET", "/v1/items/itm_01jq7r3k8v2m", 401, {"detail": "who are you", "hint": "narthex login"})
    ran = narthex("add", "x", "--wait")
    assert ran.status == 4
    assert "itm_01jq7r3k8v2m" in ran.output  # it is taken in all the same
    assert "narthex login" in ran.notes


def test_ids_are_named_by_row_or_by_their_end(narthex: Commands, server: ScriptedServer) -> None:
    for path, status in (("/v1/items", 403), ("/v1/memories", 200), ("/v1/decisions", 200)):  # one is not ours to see
        server.on("GET", path, status, {"items": [], "next_cursor": None})
    rows = [{"id": ID, "title": "a"}, {"id": OTHER, "title": "b"}]
    server.on("GET", "/v1/proposals", 200, {"items": rows, "next_cursor": None})
    server.on("GET", f"/v1/proposals/{OTHER}", 200, {**PROPOSAL, "id": OTHER})
    assert narthex("show", "91ks", "-q").output == f"{OTHER}\n"  # before any list: the daemon is asked
    assert narthex("show", "1").status == 2
    narthex("proposals")
    assert narthex("show", "2", "-q").output == f"{OTHER}\n"
    assert narthex("show", "8v2m", "-q").output == f"{ID}\n"
    assert narthex("show", "3").status == 2
    assert narthex("inbox", "show", "1").status == 2  # a proposal is no item
    server.on("GET", "/v1/proposals", 200, {"items": [{"id": "prp_01jq7r3kaaaa"}, {"id": "prp_01jq7r3baaaa"}]})
    narthex("proposals")
    assert narthex("show", "aaaa").status == 2  # two of them end so
    assert narthex("show", "kaaaa").status == 3  # one does, and the server has no such path
    assert narthex("show", "zzzz").status == 3
