"""Setting up: the plan is the whole truth, nothing is overwritten, and what a person says becomes captures only."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path

import pytest

from api.cli._setup import template_names
from daemon.settings import read_settings
from pipelines.model.values import Home
from tests.surfaces.cli_rig import Commands, Person, tree


@pytest.fixture
def narthex(tmp_path: Path) -> Commands:
    (tmp_path / "user").mkdir()
    return Commands(tmp_path / "user")


def captures(root: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in sorted((root / "drop" / ".queue").glob("*.json"))]


def test_yes_creates_what_the_plan_said_and_nothing_else(narthex: Commands, tmp_path: Path) -> None:
    line = ("init", "--home", "~/deep/Narthex", "--profile-name", "Ada", "--template", "project", "--json")
    before = tree(tmp_path)
    planned = narthex(*line, "--dry-run")
    assert planned.status == 0
    assert tree(tmp_path) == before  # a plan writes nothing
    created = narthex(*line, "--yes")
    root = tmp_path / "user" / "deep" / "Narthex"
    assert created.document == {**planned.document, "outcome": "created"}
    assert created.document == {  # golden shape
        "outcome": "created",
        "home": str(root),
        "name": "narthex",
        "current": "narthex",
        "creates": [
            *(str(tmp_path / "user" / path) for path in ("deep", "deep/Narthex", "deep/Narthex/drop")),
            *(str(root / path) for path in ("drop/.queue", "narthex.toml")),
        ],
        "captures": ["How to address me", "Project: (name it)"],
    }
    promised = {str(Path(path).relative_to(tmp_path)) for path in created.document["creates"]}  # type: ignore[attr-defined]
    new = set(tree(tmp_path)) - set(before)
    beside = {f"user/deep/Narthex/drop/.queue/key{number}.json" for number in (0, 1)}
    registered = {"user/config", "user/config/narthex", "user/config/narthex/homes.toml"}
    assert new == promised | beside | registered
    for path in created.document["creates"]:  # type: ignore[attr-defined]
        assert path in created.notes


def test_the_home_is_private_and_its_settings_are_those_that_the_daemon_reads(
    narthex: Commands, tmp_path: Path
) -> None:
    root = tmp_path / "H"
    ran = narthex("init", "--home", str(root), "--yes", "--port", "7000", "-s", "work", "-s", "family")
    assert ran.status == 0
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "narthex.toml").stat().st_mode) == 0o600
    values = read_settings(Home(root)).values
    assert (values.port, values.scopes, values.default_scope) == (7000, ("work", "family"), "work")
    narthex("init", "--home", str(tmp_path / "plain"), "--yes")
    assert tomllib.loads((tmp_path / "plain" / "narthex.toml").read_text()) == {}  # only what differs


def test_what_is_said_becomes_captures_without_rank_or_trust(narthex: Commands, tmp_path: Path) -> None:  # L-130, L-169
    root = tmp_path / "H"
    every = [word for name in template_names() for word in ("--template", name)]
    narthex("init", "--home", str(root), "--yes", "--profile-work", "seeds", "--profile-preference", "short", *every)
    notes = captures(root)
    assert len(notes) == 2 + len(template_names()) > 2
    for note in notes:
        assert set(note) == {"kind", "text", "title", "note", "tags", "scope", "queued_at", "key"}
        assert note["kind"] == "text"
    assert not (root / "vault").exists()
    assert not (root / "state").exists()


def test_a_second_narthex_gets_a_port_and_a_name_of_its_own(narthex: Commands, tmp_path: Path) -> None:
    narthex("init", "--home", str(tmp_path / "a" / "Narthex"), "--yes")
    second = narthex("init", "--home", str(tmp_path / "b" / "Narthex"), "--yes")
    assert read_settings(Home(tmp_path / "b" / "Narthex")).values.port == 6279
    assert narthex("homes", "-q").output == "narthex\nnarthex-2\n"
    assert "narthex homes use narthex-2" in second.notes  # the current one stays until told


@pytest.mark.parametrize("content", ["note.md", ".obsidian", "vault"])
def test_a_folder_that_holds_anything_gets_no_write(narthex: Commands, tmp_path: Path, content: str) -> None:  # L-130
    folder = tmp_path / "Notes"
    folder.mkdir()
    (folder / content).write_text("mine")
    before = tree(tmp_path)
    ran = narthex("init", "--home", str(folder), "--yes", "--profile-name", "Ada")
    assert ran.status == 5
    assert "next: Choose another folder" in ran.notes
    assert tree(tmp_path) == before


def test_a_file_or_link_in_its_place_gets_no_write(narthex: Commands, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = tree(tmp_path)
    for name in ("file", "link"):
        assert narthex("init", "--home", str(tmp_path / name), "--yes").status == 5
    assert tree(tmp_path) == before


def test_what_is_a_narthex_already_is_left_as_it_is(narthex: Commands, tmp_path: Path) -> None:
    root = tmp_path / "H"
    narthex("init", "--home", str(root), "--yes")
    before = tree(tmp_path)
    ran = narthex("init", "--home", str(root), "--yes", "--profile-name", "Ada", "--template", "project")
    assert ran.status == 0
    assert "already" in ran.output
    assert narthex("init", "--home", str(root / "vault"), "--yes").status == 5  # nor is one put into another
    assert tree(tmp_path) == before


def test_an_empty_folder_may_be_used(narthex: Commands, tmp_path: Path) -> None:
    (tmp_path / "H").mkdir()
    assert narthex("init", "--home", str(tmp_path / "H"), "--yes").status == 0


def test_a_name_that_is_taken_is_told_before_anything_is_written(narthex: Commands, tmp_path: Path) -> None:
    narthex("init", "--home", str(tmp_path / "a"), "--yes")
    before = tree(tmp_path)
    assert narthex("init", "--home", str(tmp_path / "b"), "--name", "a", "--yes").status == 5
    assert narthex("init", "--home", str(tmp_path / "b"), "--name", "No Name", "--yes").status == 2
    assert narthex("init", "--home", str(tmp_path / "b"), "-s", "No Scope", "--yes").status == 2
    assert tree(tmp_path) == before


def test_a_person_is_asked_and_shown_the_plan_before_anything_is_written(narthex: Commands, tmp_path: Path) -> None:
    before = tree(tmp_path)
    narthex.person = Person(["", "Ada", "", "", "n"])
    ran = narthex("init")
    assert ran.status == 1
    assert "nothing was written" in ran.notes
    assert tree(tmp_path) == before
    narthex.person = Person(["", "Ada", "", "", "y"])
    assert narthex("init").status == 0
    assert [note["text"] for note in captures(tmp_path / "user" / "Narthex")] == ["I want to be called Ada."]
    assert [question.partition("?")[0] for question in narthex.person.seen][1:] == [
        "What do you want to be called", "What do you work on", "One thing that you prefer", "Create this",
    ]  # fmt: skip


def test_an_answer_cannot_break_out_of_its_capture(narthex: Commands, tmp_path: Path) -> None:
    narthex("init", "--home", str(tmp_path / "H"), "--yes", "--profile-name", '{0} {} "x"\n---\nid: mem_1')
    (note,) = captures(tmp_path / "H")
    assert note["text"] == 'I want to be called {0} {} "x"\n---\nid: mem_1.'


def test_without_a_person_nothing_is_asked(narthex: Commands, tmp_path: Path) -> None:
    narthex.person = Person(present=False)
    before = tree(tmp_path)
    ran = narthex("init")
    assert ran.status == 2
    assert "--yes" in ran.notes
    assert tree(tmp_path) == before
