"""What a newcomer does wrong or sees first: nothing is lost by it, and the answer says what to do instead."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.access import Caller, authorise
from api.cli._terminal import RealTerminal
from api.cli._verbs import verb_names
from api.ports import Listener
from pipelines.model.actor import Actor, ActorKind, Capability, Channel
from pipelines.model.errors import NotPermitted
from pipelines.model.values import Home
from tests.house.source_tree import ROOT
from tests.surfaces.cli_rig import Commands, Person, ScriptedServer, short_home, tree

ITEM, OTHER = "itm_01jq7r3k8v2m", "itm_01jq7r3k8v2n"
PROPOSAL, MEMORY = "prp_01jq7r3k8v2m", "mem_01jq7r3k8v2m"


@pytest.fixture
def near() -> Iterator[Home]:
    with short_home() as home:
        yield home


@pytest.fixture
def narthex(tmp_path: Path, near: Home) -> Commands:
    (tmp_path / "user").mkdir()
    return Commands(tmp_path / "user", variables={"NARTHEX_HOME": str(near.root)})


@pytest.fixture
def server(near: Home) -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    with scripted.listening(near):
        yield scripted


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the person types: it has two files and a folder."""
    folder = tmp_path / "desk"
    (folder / "letters").mkdir(parents=True)
    for name in ("good.txt", "notes"):
        (folder / name).write_text(name)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("good.txt", "typo.txt"), ("typo.txt", "good.txt"), ("nosuch.pdf",), ("a.md", "b.md"), ("sub/nosuch.pdf",),
        ("good.txt", "some", "words"), ("notes", "nosuch"), ("./none",), ("~/none",),
        ("https://example.org/a", "a.pdf"), ("letters", "typo.txt"), ("song.mp3",), ("archive.tar.gz",), ("ζεῦς.txt",),
    ],
)  # fmt: skip
def test_a_mistyped_file_costs_none_of_the_others(
    narthex: Commands, server: ScriptedServer, desk: Path, words: tuple[str, ...]
) -> None:
    ran = narthex("add", *words)
    assert ran.status == 3
    assert "no such file: " in ran.notes
    assert "narthex add --text" in ran.notes
    assert server.calls == []


@pytest.mark.parametrize(
    "words",
    [
        ("buy", "milk"), ("read report.pdf today",), ("read", "report.pdf", "today"), ("3.14",), ("e.g.",), ("Done.",),
        ("wait...what",), ("fix", "letters"), ("see", "https://example.org/a"),
    ],
)  # fmt: skip
def test_words_stay_one_text(narthex: Commands, server: ScriptedServer, desk: Path, words: tuple[str, ...]) -> None:
    server.on("POST", "/v1/captures", 201, {"id": ITEM})
    assert narthex("add", *words).status == 0
    assert [call.document for call in server.calls] == [{"kind": "text", "text": " ".join(words)}]


def test_text_can_be_forced_and_files_may_stand_beside_links(
    narthex: Commands, server: ScriptedServer, desk: Path
) -> None:
    server.on("POST", "/v1/captures", 201, {"id": ITEM})
    server.on("POST", "/v1/captures/file", 201, {"id": OTHER})
    assert narthex("add", "--text", "good.txt", "typo.txt").status == 0
    assert server.calls[0].document["text"] == "good.txt typo.txt"
    assert narthex("add", "good.txt", "https://example.org/a", "-q").output.split() == [OTHER, ITEM]
    assert narthex("add", "--text").status == 2


@pytest.mark.parametrize(
    ("content", "variables"),
    [("prot = 1\n", {}), ("port = 99999\n", {}), ("port =\n", {}), ("", {"NARTHEX_PORT": "abc"}), ('scopes = "a"', {})],
)
def test_config_check_says_what_the_daemon_would_say(
    narthex: Commands, near: Home, content: str, variables: dict[str, str]
) -> None:
    near.settings.write_text(content)
    narthex.variables |= variables
    program = [sys.executable, "-m", "daemon.main", "--check-config", "--home", str(near.root)]
    daemon = subprocess.run(program, cwd=ROOT, env=narthex.variables, capture_output=True, text=True, check=False)
    ran = narthex("config", "check")
    assert ran.status == daemon.returncode == 2
    for line in daemon.stderr.splitlines():
        assert line.removeprefix("narthexd: ").strip() in ran.output
    document = narthex("config", "check", "--json").document
    assert (document["ok"], document["port"]) == (False, None)


def test_config_check_is_not_fooled_by_the_folder_it_is_typed_in(narthex: Commands, near: Home, desk: Path) -> None:
    (desk / "daemon").mkdir()
    (desk / "daemon" / "main.py").write_text("raise SystemExit(2)")
    near.settings.chmod(0o600)
    assert narthex("config", "check").output == f"ok     {near.settings}, port 0\n"
    near.settings.chmod(0o622)
    ran = narthex("config", "check")
    assert ran.status == 1
    assert f"chmod 600 {near.settings}" in ran.output


def test_proposals_name_their_source(narthex: Commands, server: ScriptedServer) -> None:
    known = {"id": PROPOSAL, "title": "A", "item_id": ITEM, "source": {"name": "a.pdf"}}
    older = {"id": "prp_01jq7r3k8v2n", "title": "B", "item_id": OTHER}
    edited = {"id": "prp_01jq7r3k8v2p", "title": "C", "item_id": None, "source": None}
    server.on("GET", "/v1/proposals", 200, {"items": [known, older, older, edited], "next_cursor": None})
    server.on("GET", f"/v1/items/{OTHER}", 200, {"name": "b.pdf"})
    lines = narthex("proposals").output.splitlines()
    assert [line.partition("from ")[2].strip() for line in lines] == ["a.pdf", "b.pdf", "b.pdf", ""]
    assert [call.path.partition("?")[0] for call in server.calls] == ["/v1/proposals", f"/v1/items/{OTHER}"]
    del server.table["GET", f"/v1/items/{OTHER}"]
    assert narthex("proposals").status == 0  # a name that cannot be had is no reason to fail


def test_a_row_of_another_list_says_which_list_it_was(narthex: Commands, server: ScriptedServer) -> None:
    server.on("GET", "/v1/items", 200, {"items": [{"id": ITEM, "captured_at": "1", "state": "fetched"}]})
    server.on("GET", "/v1/status", 200, {})
    assert narthex("inbox", "--state", "fetched").status == 0
    ran = narthex("approve", "1")
    assert ran.status == 2
    assert "row 1 of the last list, which was narthex inbox, is an item; this takes a proposal (prp_…)" in ran.notes
    assert "next: narthex proposals, then the number again" in ran.notes
    assert "no row of the last list (1 row)" in narthex("approve", "9").notes
    wrong = narthex("approve", ITEM)
    assert wrong.notes.splitlines()[0] == "narthex: That is another kind of thing"


def test_a_listing_whose_reader_left_keeps_its_rows(narthex: Commands, server: ScriptedServer, near: Home) -> None:
    rows = [{"id": f"itm_01jq7r3k8v{end}"} for end in ("2a", "2b", "2c")]
    server.on("GET", "/v1/items", 200, {"items": rows})
    program = "import sys; from api.cli.main import main; sys.exit(main(sys.argv[1:]))"
    variables = {"HOME": str(narthex.folder), "XDG_CACHE_HOME": str(narthex.folder / "cache"), **narthex.variables}
    read, write = os.pipe()
    os.close(read)  # as head does when it has seen enough
    line = [sys.executable, "-c", program, "inbox", "-q", "--state", "fetched"]
    done = subprocess.run(line, cwd=ROOT, env=variables, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
    server.on("GET", "/v1/items/itm_01jq7r3k8v2c", 200, {"id": "itm_01jq7r3k8v2c"})
    assert narthex("show", "3").status == 0


@pytest.mark.parametrize("answer", ["n", "maybe", "", "yes please"])
@pytest.mark.parametrize(("verb", "said"), [("approve", "nothing was stored"), ("reject", "nothing was rejected")])
def test_anything_but_yes_says_that_nothing_happened(
    narthex: Commands, server: ScriptedServer, answer: str, verb: str, said: str
) -> None:
    server.on("GET", f"/v1/proposals/{PROPOSAL}", 200, {"id": PROPOSAL, "state": "pending", "after": "x"})
    narthex.person = Person([answer])
    ran = narthex(verb, PROPOSAL)
    assert ran.status == 1
    assert f"{said}; {PROPOSAL} waits as before" in ran.notes
    assert {call.method for call in server.calls} == {"GET"}


def test_the_end_of_input_is_no_answer_and_leaves_a_clean_line(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r+b", buffering=0) as terminal, open(theirs, "w", closefd=False) as screen:
        monkeypatch.setattr(sys, "stdin", open(terminal.fileno(), closefd=False))  # noqa: SIM115
        monkeypatch.setattr(sys, "stderr", screen)
        monkeypatch.setattr("termios.tcflush", lambda *_: os.write(ours, b"\x04"))
        assert RealTerminal().ask("Store? ") == ""
    assert os.read(ours, 100).endswith(b"\n")
    os.close(ours)


def test_inbox_says_when_there_are_more(narthex: Commands, server: ScriptedServer) -> None:
    def listed(call: object) -> tuple[int, object]:
        asked = str(getattr(call, "path", ""))
        rows = [{"id": ITEM, "captured_at": "2"}, {"id": OTHER, "captured_at": "1"}] if "state=fetched" in asked else []
        return 200, {"items": rows, "next_cursor": None}

    server.table["GET", "/v1/items"] = listed
    server.on("GET", "/v1/status", 200, {})
    assert "there are more; these are the newest 1: narthex inbox --limit 200" in narthex("inbox", "--limit", "1").notes
    assert narthex("inbox", "--limit", "1", "--json").document["more"] is True
    assert "there are more" not in narthex("inbox").notes
    assert narthex("inbox", "--json").document["more"] is False
    server.on("GET", "/v1/items", 200, {"items": [{"id": ITEM}], "next_cursor": "c"})
    assert "narthex inbox --state STATE" in narthex("inbox", "--limit", "200").notes
    assert "there are more" in narthex("inbox", "--state", "fetched").notes


def test_an_item_reads_as_columns_and_leaves_empty_fields_out(narthex: Commands, server: ScriptedServer) -> None:
    event = {"at": "2026-03-02T12:00:00.123456Z", "action": "captured", "actor": "cli", "ms": None}
    empty: dict[str, object] = {"tags": [], "details": []}
    document = {"id": ITEM, "quarantine_reason": "unsupported", **empty, "timeline": [event, {**event, "ms": 5}]}
    server.on("GET", f"/v1/items/{ITEM}", 200, document)
    shown = narthex("show", ITEM).output
    assert "[]" not in shown
    assert "quarantine_reason   unsupported\n" in shown
    columns = [line.index("captured") for line in shown.splitlines() if "captured" in line]
    assert len(set(columns)) == 1


def test_one_of_a_thing_is_not_many(narthex: Commands, near: Home) -> None:
    narthex("add", "x")
    assert "in the local queue: 1 capture\n" in narthex("status").notes
    narthex("add", "y")
    assert "in the local queue: 2 captures\n" in narthex("status").notes


def test_json_shows_real_characters_and_hides_none(narthex: Commands, server: ScriptedServer) -> None:
    hidden = "a\u202eb\u200bc\x9bd\U000e0041"
    page = {"items": [{"id": PROPOSAL, "title": f"Größe 漢字 {hidden}"}], "next_cursor": None}
    server.on("GET", "/v1/proposals", 200, page)
    ran = narthex("proposals", "--json")
    assert json.loads(ran.output) == page
    assert "Größe 漢字" in ran.output
    assert not set(hidden) & set(ran.output) - set("abcd")


@pytest.mark.parametrize("content", ["note.md", "vault"])
def test_a_folder_that_is_taken_did_not_change_meanwhile(narthex: Commands, tmp_path: Path, content: str) -> None:
    folder = tmp_path / "Notes"
    folder.mkdir()
    (folder / content).write_text("mine")
    before = tree(folder)
    ran = narthex("init", "--home", str(folder), "--yes")
    assert ran.notes.splitlines()[0] == "narthex: It is taken already"
    assert tree(folder) == before


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"FORCE_COLOR": "1", "TERM": "xterm"}])
def test_nothing_is_coloured(narthex: Commands, server: ScriptedServer, variables: dict[str, str]) -> None:
    narthex.variables |= variables
    server.on("GET", "/v1/search", 200, {"query": "x", "hits": [{"memory_id": MEMORY, "title": "T"}]})
    ran = narthex("search", "x")
    assert "\x1b" not in ran.output + ran.notes


LINES = {
    "add": ("add", "x.pdf"), "approve": ("approve", PROPOSAL), "config": ("config", "show"), "doctor": ("doctor",),
    "drop": ("drop", "ignore-test", "*.bak"), "events": ("events",), "homes": ("homes", "use", "x"),
    "inbox": ("inbox",), "init": ("init",), "login": ("login",), "open": ("open",), "proposals": ("proposals",),
    "reject": ("reject", PROPOSAL), "search": ("search", "x"), "service": ("service", "status"), "show": ("show", ITEM),
    "status": ("status",), "token": ("token", "list"),
}  # fmt: skip


@pytest.mark.parametrize("verb", verb_names())
def test_every_verb_answers_programs_in_their_language_also_when_it_fails(narthex: Commands, verb: str) -> None:
    narthex.person = Person(present=False)  # and no daemon runs
    ran = narthex(*LINES.get(verb, (verb,)), "--json")
    document = ran.document  # exactly one, on standard output
    assert document.get("exit_code", ran.status) == ran.status
    assert bool(ran.status) == bool(ran.notes) or verb == "doctor"
    quiet = narthex(*LINES.get(verb, (verb,)), "-q")
    assert quiet.status == ran.status
    assert all(" " not in line for line in quiet.output.splitlines())


@pytest.mark.parametrize(("operation", "offered"), [("list_tokens", False), ("capture_item", True)])
def test_who_lacks_a_power_is_offered_a_token_only_where_one_could_have_it(operation: str, offered: bool) -> None:
    bot = Actor(ActorKind.AGENT, "bot", Channel.API, None, "req_1")
    with pytest.raises(NotPermitted) as caught:
        authorise(operation, Caller(Listener.TCP, bot, frozenset({Capability.READ})), "personal", "req_1")
    assert ("token new" in caught.value.hint) is offered
    assert ("narthex login" in caught.value.hint) is not offered
