"""Adding while no daemon runs: what is acknowledged is durable, complete, and in the form that the daemon takes."""

from __future__ import annotations

import itertools
import json
import os
import stat
from pathlib import Path

import pytest

from api.cli import _queue
from api.cli._captures import Capture, Labels, from_stream, guessed
from pipelines.model.errors import Conflict, NotFound, Refused
from pipelines.model.values import Home, ItemKind
from tests.surfaces.cli_rig import NOON, Commands, tree


@pytest.fixture
def narthex(tmp_path: Path, home: Home) -> Commands:
    return Commands(tmp_path / "user", variables={"NARTHEX_HOME": str(home.root), "NARTHEX_PORT": "1"})


def queued(home: Home) -> dict[str, object]:
    (path,) = (home.drop / ".queue").glob("*.json")
    note = json.loads(path.read_text())
    assert isinstance(note, dict)
    assert path.stem == note["key"]
    return note


def test_a_text_waits_with_all_that_was_said_about_it(narthex: Commands, home: Home) -> None:
    ran = narthex(
        "add", "Seeds keep", "cold", "-t", "garden", "-t", "seeds", "-s", "work", "-n", "why", "--title", "Seeds"
    )
    assert ran.status == 0
    assert "1 waiting" in ran.notes
    assert "next: narthexd" in ran.notes
    assert queued(home) == {
        "kind": "text", "text": "Seeds keep cold", "title": "Seeds", "note": "why", "tags": ["garden", "seeds"],
        "scope": "work", "queued_at": NOON.isoformat(), "key": "key0",
    }  # fmt: skip


def test_a_link_and_a_file_wait_too(narthex: Commands, home: Home, tmp_path: Path) -> None:
    path = tmp_path / "a b.pdf"
    path.write_bytes(os.urandom(3_000_000))
    assert narthex("add", str(path)).status == 0
    note = queued(home)
    assert (note["kind"], note["name"]) == ("file", "a b.pdf")
    assert (home.drop / ".queue" / "key0.bytes").read_bytes() == path.read_bytes()
    assert narthex("add", "HTTPS://example.org/x").status == 0
    assert json.loads((home.drop / ".queue" / "key1.json").read_text())["url"] == "HTTPS://example.org/x"


def test_the_answer_names_what_waits(narthex: Commands, home: Home) -> None:  # golden shape
    assert narthex("add", "x", "--json").document == {
        "items": [
            {
                "queued": True,
                "key": "key0",
                "kind": "text",
                "name": "x",
                "path": str(home.drop / ".queue" / "key0.json"),
            }
        ]
    }
    assert narthex("add", "x", "-q").output == "key1\n"


def test_bytes_are_safe_before_the_note_that_names_them(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # acknowledged means durable
    steps: list[str] = []
    fsync, rename = os.fsync, os.rename

    def recorded_fsync(descriptor: int) -> None:
        steps.append(f"fsync {Path(f'/proc/self/fd/{descriptor}').readlink().name}")
        fsync(descriptor)

    def recorded_rename(source: Path, target: Path) -> None:
        steps.append(f"rename {Path(target).name}")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "rename", recorded_rename)
    path = tmp_path / "a"
    path.write_bytes(b"x")
    _queue.put(home, Capture(ItemKind.FILE, Labels(), file=path), "k", NOON)
    assert steps == [
        "fsync drop",
        "fsync .k.bytes.tmp", "rename k.bytes", "fsync .queue",
        "fsync .k.json.tmp", "rename k.json", "fsync .queue",
    ]  # fmt: skip


def test_what_is_queued_is_readable_by_the_user_alone(narthex: Commands, home: Home) -> None:
    narthex("add", "secret")
    folder = home.drop / ".queue"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "key0.json").stat().st_mode) == 0o600


def test_a_file_that_changes_while_it_is_copied_leaves_nothing_behind(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"x" * 10)
    looks = itertools.count()
    fstat = os.fstat

    def meanwhile(descriptor: int) -> os.stat_result:
        """Somebody else writes to it between the look before the copy and the look after it."""
        if next(looks) == 2:
            path.write_bytes(b"x" * 20)
        return fstat(descriptor)

    monkeypatch.setattr(os, "fstat", meanwhile)
    source = Capture(ItemKind.FILE, Labels(), file=path)
    with pytest.raises(Conflict, match="changed"):
        _queue.put(home, source, "k", NOON)
    assert not list((home.drop / ".queue").iterdir())


def test_without_a_home_nothing_is_made_up(tmp_path: Path) -> None:
    narthex = Commands(tmp_path / "user", variables={"NARTHEX_PORT": "1"})
    (tmp_path / "user").mkdir()
    ran = narthex("add", "x")
    assert ran.status == 3
    assert "next: narthex init" in ran.notes
    assert not tree(tmp_path / "user")


def test_several_files_of_which_one_is_a_pipe_are_partly_done(narthex: Commands, home: Home, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("x")
    ran = narthex("add", str(tmp_path / "file"), str(tmp_path / "pipe"), "--json")
    assert ran.status == 7
    items = ran.document["items"]
    assert isinstance(items, list)
    assert items[0]["queued"] is True
    assert items[1]["subject"] == "pipe"
    assert items[1]["problem"]["exit_code"] == 4
    assert narthex("add", str(tmp_path / "pipe")).status == 4  # and it does not wait for a writer
    assert narthex("add", str(tmp_path)).status == 4


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["buy milk"], ItemKind.TEXT),
        (["buy", "milk"], ItemKind.TEXT),
        (["https://example.org"], ItemKind.LINK),
        (["http://example.org/a?b#c"], ItemKind.LINK),
        (["see https://example.org"], ItemKind.TEXT),
        (["https://example.org", "and", "more"], ItemKind.TEXT),
        (["javascript:alert(1)"], ItemKind.TEXT),
        (["file:///etc/passwd"], ItemKind.TEXT),
        (["/etc/hostname is a file"], ItemKind.TEXT),
        (["x" * 5000], ItemKind.TEXT),
        (["a\0b"], ItemKind.TEXT),
    ],
)
def test_what_is_meant_is_guessed_without_surprise(words: list[str], kind: ItemKind) -> None:
    assert [capture.kind for capture in guessed(words, Labels())] == [kind]


@pytest.mark.parametrize("word", ["./none.pdf", "/none/none", "~/none.pdf", "../none"])
def test_a_path_that_is_none_is_not_kept_as_a_text(word: str) -> None:
    with pytest.raises(NotFound):
        guessed([word], Labels())


@pytest.mark.parametrize("words", [[], [""], ["  "]])
def test_nothing_is_not_captured(words: list[str]) -> None:
    with pytest.raises(Refused):
        guessed(words, Labels())


def test_a_stream_is_a_text_when_it_is_one() -> None:
    assert from_stream("né\n".encode(), Labels()).words == "né\n"
    assert from_stream(b"\xff\xfe", Labels()).kind is ItemKind.FILE
    assert from_stream(b"a\0b", Labels(title="dump")).file_name == "dump"
    with pytest.raises(Refused):
        from_stream(b"\n", Labels())


def test_a_name_that_is_no_utf8_is_carried_as_far_as_possible(narthex: Commands, home: Home, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/a\xff.txt"
    with open(path, "wb") as file:  # noqa: PTH123  # Path cannot spell it
        file.write(b"x")
    assert narthex("add", os.fsdecode(path)).status == 0
    assert queued(home)["name"] == "a�.txt"
