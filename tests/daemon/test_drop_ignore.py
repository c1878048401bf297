"""Own globs hide what they say and no more; the command lists what one would hide, as the daemon would."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from daemon.drop.names import BUILT_IN, IgnoreList
from daemon.drop.rescan import list_drop
from tests.daemon.drop_rig import DropRig
from tests.surfaces.cli_rig import Commands
from tests.waiting import until

PATTERNS = ["._*", "*.BAK", "a?.txt", "[ab]*", "old", "*", "no such", "a.txt", ".*", "-x*", "*.t[!y]t", "\\*", "x*y"]
NAMES = [
    "._a",
    "ab.txt",
    "a.bak",
    "b.BAK",
    "old/inside.txt",
    "old/a.bak",
    "-x.txt",
    "deep/old/z.md",
    "*",
    "x\ny",
    ".h/q",
]


@pytest.fixture
def narthex(drop: DropRig, tmp_path: Path) -> Commands:
    """The command line, on the home whose drop folder it is."""
    for name in NAMES:
        path = drop.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, "utf-8")
    (drop.root / "_done").mkdir()
    (drop.root / "_done" / "._ours").write_text("x", "utf-8")
    (drop.root / os.fsdecode(b"\xff.bak")).write_text("x", "utf-8")
    return Commands(tmp_path / "user", variables={"NARTHEX_HOME": str(drop.premises.home.root)})


def test_a_pattern_lists_what_it_hides_and_no_more(narthex: Commands) -> None:  # B-W23
    ran = narthex("drop", "ignore-test", "._*")
    assert (ran.status, ran.output.splitlines()) == (0, ["._a"])  # as a regular expression it would hide ab.txt too
    assert "would hide 1 of the 12 files" in ran.notes


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_command_and_the_daemon_agree(narthex: Commands, drop: DropRig, pattern: str) -> None:  # B-W23
    ran = narthex("drop", "ignore-test", "--json", "--", pattern)
    own = IgnoreList((pattern,))
    everything = {tuple(name.split("/")) for name in NAMES} | {(os.fsdecode(b"\xff.bak"),)}
    left = set(list_drop(drop.root, own).files)
    hidden_already = {parts for parts in everything if IgnoreList().hides(parts)}
    said = {tuple(str(name).split("/")) for name in ran.document["hidden"]}  # type: ignore[attr-defined]
    assert {_shown(parts) for parts in everything - left} == said | {_shown(parts) for parts in hidden_already}


def _shown(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.fsencode(part).decode("utf-8", "replace") for part in parts)


@pytest.mark.parametrize("pattern", ["a/b", "", " "])
def test_a_path_is_no_pattern(narthex: Commands, pattern: str) -> None:
    ran = narthex("drop", "ignore-test", pattern)
    assert ran.status == 2
    assert "a pattern is for one name" in ran.notes


def test_own_globs_are_left_alone_in_addition_to_ours(drop: DropRig) -> None:  # B-W22
    for name in ("keep.bak", "KEEP.BAK", "cache", "x.part", "fine.txt"):
        (drop.root / name).write_text(name, "utf-8")
    (drop.root / "node_modules").mkdir()
    (drop.root / "node_modules" / "a.js").write_text("x", "utf-8")
    with drop.running(ignore=("*.bak", "cache", "node_modules")):
        drop.arrived("fine.txt")
        (drop.root / "cache2").write_text("x", "utf-8")
        drop.arrived("cache2")
    assert drop.left_in_root() == ["KEEP.BAK", "cache", "keep.bak", "node_modules", "x.part"]
    assert sorted(item.name for item in drop.items()) == ["cache2", "fine.txt"]


@pytest.mark.parametrize("pattern", BUILT_IN)
def test_no_built_in_glob_hides_ordinary_names(pattern: str) -> None:
    assert not IgnoreList((pattern,)).hides(("Minutes of the meeting.docx",))


def test_an_ignored_file_is_taken_once_it_has_its_name(drop: DropRig) -> None:
    with drop.running(ignore=("*.bak",)):
        (drop.root / "a.bak").write_text("x", "utf-8")
        (drop.root / "a.bak").rename(drop.root / "a.txt")
        until(lambda: drop.filed("a.txt"))
