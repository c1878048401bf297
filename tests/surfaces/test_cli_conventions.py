"""What holds for every verb: streams, exit statuses, help, no prompt without a person, no start that is slow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli._verbs import load, parser_of, verb_names
from api.cli._visible import one_line, visible
from pipelines.model import errors
from pipelines.model.errors import NarthexError
from pipelines.model.values import Home
from tests.house.source_tree import ROOT
from tests.surfaces.cli_rig import Commands, Person, ScriptedServer, short_home

HEAVY = {"fastapi", "starlette", "sqlalchemy", "sqlmodel", "pydantic", "httpx", "httpx2", "uvicorn", "jinja2", "anyio"}
FAMILIES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, NarthexError) and value is not NarthexError
]


@pytest.fixture
def near() -> Iterator[Home]:
    with short_home() as home:
        yield home


@pytest.fixture
def narthex(tmp_path: Path, near: Home) -> Commands:
    return Commands(tmp_path / "user", variables={"NARTHEX_HOME": str(near.root)})


@pytest.fixture
def server(near: Home) -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    with scripted.listening(near):
        yield scripted


def loaded_by(*argv: str) -> set[str]:
    program = (
        "import sys; from api.cli.main import main; status = main(sys.argv[1:]);"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *argv],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return set(done.stderr.split("\n"))


def test_adding_imports_little_more_than_the_standard_library(near: Home) -> None:  # surfaces: add is there at once
    loaded = loaded_by("--home", str(near.root), "add", "x")
    foreign = {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names | {"__main__", ""}}
    tops = {name.partition(".")[0] for name in foreign}
    assert not {name.partition(".")[0] for name in loaded} & HEAVY
    assert not {"asyncio", "tempfile", "traceback", "webbrowser", "unittest"} & loaded
    assert {name for name in foreign if name.startswith("pipelines.")} <= {
        f"pipelines.model{module}" for module in ("", ".actor", ".errors", ".lifecycle", ".unseen", ".values")
    }
    assert {name for name in loaded if name.startswith("api.cli.")}.isdisjoint(
        f"api.cli.{verb}" for verb in verb_names() if verb != "add"
    )
    assert {"api", "pipelines"} <= tops


@pytest.mark.parametrize("name", verb_names())
def test_every_verb_explains_itself_with_three_examples_that_can_be_parsed(narthex: Commands, name: str) -> None:
    import shlex

    ran = narthex(name, "--help")
    assert ran.status == 0
    for example in load(name).examples:
        assert example in ran.output
        words = shlex.split(example)[1:]
        words = words[2:] if words[0] == "--home" else words
        assert words[0] == name
        parser_of(load(name)).parse_args(words[1:])


@pytest.mark.parametrize("name", verb_names())
def test_the_shared_options_stand_before_or_after_the_verb(narthex: Commands, name: str) -> None:
    assert narthex("--json", "--home", "/nowhere", name, "--help").status == 0
    assert narthex(name, "--json", "-q", "--home", "/nowhere", "--token", "x", "--help").status == 0


@pytest.mark.parametrize(
    "line",
    [
        ("init",), ("login",), ("open", "--browser"), ("inbox", "discard", "itm_01jq7r3k8v2m"),
        ("approve", "prp_01jq7r3k8v2m"), ("reject", "prp_01jq7r3k8v2m"),
    ],
)  # fmt: skip
def test_nobody_is_asked_when_nobody_is_there(narthex: Commands, server: ScriptedServer, line: tuple[str, ...]) -> None:
    narthex.person = Person(present=False)  # its ask() fails the test
    ran = narthex(*line)
    assert ran.status in {2, 4}
    assert "  next: " in ran.notes


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.code)
def test_every_problem_ends_as_three_lines_and_its_exit_status(
    narthex: Commands, server: ScriptedServer, family: type[NarthexError]
) -> None:
    problem = {
        "type": f"urn:narthex:problem:{family.code}",
        "title": family.title,
        "detail": "because",
        "hint": "do this",
    }
    server.on("GET", "/v1/search", family.status, problem)
    ran = narthex("search", "x")
    assert ran.status == family.exit_code
    assert ran.notes.splitlines() == [f"narthex: {family.title}", "  because", "  next: do this"]
    assert ran.output == ""
    assert narthex("search", "x", "--json").document == {
        "type": f"urn:narthex:problem:{family.code}",
        "title": family.title,
        "status": family.status,
        "detail": "because",
        "hint": "do this",
        "exit_code": family.exit_code,
    }


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ((), 2), (("nothing",), 2), (("add",), 2), (("add", "--bogus", "x"), 2), (("show",), 2), (("show", "a b"), 2),
        (("inbox", "list", "x"), 2), (("inbox", "release"), 2), (("token", "new"), 2), (("token", "new", "x"), 2),
        (("token", "new", "x", "--can", "approve"), 2),
        (("token", "new", "x", "--can", "read", "--expires", "soon"), 2),
        (("homes", "use"), 2), (("show", "itm_01jq7r3k8v2m"), 3), (("add", "./none"), 3), (("--help",), 0),
        (("config", "path"), 0), (("config", "check"), 0),
    ],
)  # fmt: skip
def test_exit_statuses(narthex: Commands, server: ScriptedServer, line: tuple[str, ...], status: int) -> None:
    ran = narthex(*line)
    assert ran.status == status, ran.notes
    assert bool(ran.notes) == bool(status) or line == ("config", "check")


def test_no_daemon_is_6_and_names_what_waits(narthex: Commands, near: Home) -> None:
    assert narthex("add", "x").status == 0
    ran = narthex("status")
    assert ran.status == 6
    assert "in the local queue: 1 capture" in ran.notes
    assert "next: narthexd" in ran.notes


def test_no_is_1(narthex: Commands, server: ScriptedServer, near: Home) -> None:
    server.on("GET", "/v1/search", 200, {"query": "x", "hits": []})
    server.on("GET", "/v1/status", 200, {"checks": {"disk": {"ok": False, "detail": "full"}}})
    assert narthex("search", "x").status == 0
    assert narthex("search", "x", "--fail-empty").status == 1
    assert narthex("status").status == 0
    assert narthex("status", "--check").status == 1
    near.settings.chmod(0o666)
    assert narthex("config", "check").status == 1


def test_a_defect_reads_as_one_and_ends_with_70(narthex: Commands, server: ScriptedServer) -> None:
    class Failing(Person):
        def ask(self, question: str) -> str:
            raise ZeroDivisionError("not foreseen")

    narthex.person = Failing()
    server.on("POST", "/v1/session/code", 202, {})
    ran = narthex("login")
    assert ran.status == 70
    assert "narthex found itself broken" in ran.notes


def test_an_interruption_is_130(narthex: Commands, server: ScriptedServer) -> None:
    class Leaving(Person):
        def ask(self, question: str) -> str:
            raise KeyboardInterrupt

    narthex.person = Leaving()
    server.on("POST", "/v1/session/code", 202, {})
    ran = narthex("login")
    assert ran.status == 130
    assert "interrupted" in ran.notes


def test_a_word_that_looks_like_an_option_can_be_captured(narthex: Commands, server: ScriptedServer) -> None:
    server.on("POST", "/v1/captures", 201, {"id": "itm_01jq7r3k8v2m"})
    assert narthex("add", "--", "-x").status == 0
    assert narthex("add", "- buy milk").status == 0
    assert [call.document["text"] for call in server.calls] == ["-x", "- buy milk"]


HOSTILE = "\x1b]0;owned\x07\x9b31m\u202egpj.exe\r\u200b\U000e0041é\u2028z"


def test_nothing_from_outside_reaches_the_terminal_as_a_command(narthex: Commands, server: ScriptedServer) -> None:
    server.on(
        "GET",
        "/v1/search",
        200,
        {"query": "x", "hits": [{"memory_id": HOSTILE, "title": HOSTILE, "path": HOSTILE, "snippet": HOSTILE}]},
    )
    server.on("GET", "/v1/items/itm_01jq7r3k8v2m/text", 200, {"markdown": HOSTILE + "\n\tline"})
    server.on("GET", "/v1/proposals", 200, {"items": [{"id": HOSTILE, "title": HOSTILE}], "next_cursor": HOSTILE})
    server.on("GET", "/v1/items/itm_01jq7r3k8v2m", 404, {"detail": HOSTILE, "hint": HOSTILE, "title": HOSTILE})
    for line in (("search", "x"), ("show", "itm_01jq7r3k8v2m", "--text"), ("proposals",), ("show", "itm_01jq7r3k8v2m")):
        for extra in ((), ("--json",), ("-q",)):
            ran = narthex(*line, *extra)
            shown = ran.output + ran.notes
            assert shown == visible(shown), shown.encode("unicode_escape")
            assert "\r" not in shown


def test_what_is_made_visible_says_which_character_it_was() -> None:
    assert visible("a\x1b[2Jb") == "a⟦U+001B ESCAPE⟧[2Jb"
    assert visible("tab\tand\nline é 漢") == "tab\tand\nline é 漢"
    assert one_line("a\nb\tc\r") == "a b c⟦U+000D CARRIAGE RETURN⟧"
    assert visible("\u2800") == "⟦U+2800 BRAILLE PATTERN BLANK⟧"


def test_a_listing_is_one_document_with_the_names_of_the_api(narthex: Commands, server: ScriptedServer) -> None:
    page = {"items": [{"id": "prp_01jq7r3k8v2m", "title": "é"}], "next_cursor": "c"}
    server.on("GET", "/v1/proposals", 200, page)
    ran = narthex("proposals", "--json", "--limit", "7", "--item", "itm_01jq7r3k8v2m")
    assert json.loads(ran.output) == page
    assert '"title": "é"' in ran.output
    assert server.calls[0].path == "/v1/proposals?state=pending&limit=7&item_id=itm_01jq7r3k8v2m"
    assert narthex("proposals", "-q").output == "prp_01jq7r3k8v2m\n"
