"""A dropped file becomes exactly one item and leaves the root, whatever its name, its writer or its neighbours."""

from __future__ import annotations

import os
import time
import unicodedata
from pathlib import Path

import pytest

from pipelines.model.lifecycle import ItemState
from tests.daemon.drop_rig import SETTLE, DropRig, deaf
from tests.waiting import until


def test_a_dropped_file_is_captured_and_filed(drop: DropRig) -> None:
    with drop.running():
        (drop.root / "note.txt").write_text("hello", "utf-8")
        item = drop.arrived("note.txt")
        assert item.filed_as is not None
        assert item.filed_as.startswith("_done/2026-03-0")
        assert drop.original(item) == (drop.root / item.filed_as).read_bytes() == b"hello"
        assert item.channel == "drop"
        until(lambda: "`note.txt` taken in" in drop.status())
        until(lambda: drop.captured)
    assert drop.left_in_root() == []
    assert len(drop.items()) == 1


def test_files_that_were_there_before_the_start_are_found(drop: DropRig) -> None:  # events were never sent
    (drop.root / "early.md").write_text("before", "utf-8")
    with drop.running():
        drop.arrived("early.md")


def test_a_file_that_grows_is_taken_once_and_whole(drop: DropRig) -> None:  # S-047
    with drop.running() as folder:
        with (drop.root / "grows.log").open("w", encoding="utf-8") as writer:
            for number in range(6):  # longer in all than the settle time, with pauses longer than it
                writer.write(f"line {number}\n")
                writer.flush()
                quiet_since = time.monotonic()
                until(lambda since=quiet_since: time.monotonic() > since + SETTLE * 2)  # type: ignore[misc]
                folder.rescan()
                assert drop.items() == []
        item = drop.arrived("grows.log")
        assert drop.original(item).decode().splitlines() == [f"line {number}" for number in range(6)]
    assert len(drop.items()) == 1


def test_an_unfinished_download_is_taken_under_its_final_name(drop: DropRig) -> None:  # S-047
    unfinished = [drop.root / "book.epub.part", drop.root / "paper.pdf.crdownload", drop.root / ".rsync.txt.x8Fa"]
    for path in unfinished:
        path.write_text(path.name, "utf-8")
    with drop.running():
        (drop.root / "marker.txt").write_text("x", "utf-8")
        drop.arrived("marker.txt")
        assert len(drop.items()) == 1
        for path, name in zip(unfinished, ("book.epub", "paper.pdf", "rsync.txt"), strict=True):
            path.rename(drop.root / name)
        until(lambda: all(drop.filed(name) for name in ("book.epub", "paper.pdf", "rsync.txt")))
    assert len(drop.items()) == 4


def test_an_empty_file_waits_until_it_is_filled(drop: DropRig) -> None:  # B-W01
    with drop.running(rescan_seconds=3600):  # no listing helps: the change itself must be noticed
        scan = drop.root / "scan.md"
        scan.touch()
        until(lambda: "`scan.md` waiting: empty" in drop.status())
        assert drop.items() == []
        with scan.open("a", encoding="utf-8") as writer:
            writer.write("hello\n")
        item = drop.arrived("scan.md")
        assert drop.original(item) == b"hello\n"
    assert len(drop.items()) == 1
    assert drop.in_folder("_failed") == []


def test_a_file_that_stays_empty_is_parked_and_no_error(drop: DropRig) -> None:  # B-W02
    with drop.running() as folder:
        (drop.root / "blank.txt").touch()
        until(lambda: "`blank.txt` waiting: empty" in drop.status())
        for _ in range(3):
            folder.rescan()
        (drop.root / "other.txt").write_text("x", "utf-8")
        drop.arrived("other.txt")
        assert drop.status().count("blank.txt") == 1
    assert drop.left_in_root() == ["blank.txt"]
    assert len(drop.items()) == 1


def test_names_of_every_kind_keep_their_own_bytes_on_disk(drop: DropRig) -> None:  # S-051 B-W13
    decomposed = unicodedata.normalize("NFD", "é.txt")
    names = [
        decomposed.encode(), "é.txt".encode(), b"\xff\xfe.pdf", b"-rf", b"trailing. ", b"CON", b"two\nlines.txt",
        b"esc\x1b[31m.txt", "a\u202etxt.exe".encode(), b"a.md", b"A.md", b"x" * 255, ("漢" * 84 + ".md").encode(),
    ]  # fmt: skip
    for number, name in enumerate(names):
        Path(os.fsdecode(os.fsencode(drop.root) + b"/" + name)).write_text(f"content {number}", "utf-8")
    with drop.running():
        until(lambda: len(drop.items()) == len(names) and not drop.left_in_root())
    filed = {os.fsencode(name) for name in drop.in_folder("_done")}
    assert filed == set(names)
    for item in drop.items():
        assert item.name == unicodedata.normalize("NFC", item.name)
        assert item.name.isprintable()
    assert [item.name for item in drop.items()].count("é.txt") == 2
    assert {drop.original(item).decode() for item in drop.items()} == {f"content {n}" for n in range(len(names))}


def test_a_thousand_files_at_once_are_a_thousand_items(drop: DropRig) -> None:
    with drop.running():
        started = time.monotonic()
        for number in range(1000):
            (drop.root / f"n{number:04}.txt").write_text(f"file {number}\n", "utf-8")
        until(lambda: not drop.left_in_root(), seconds=60)  # all of them safe within a minute
        assert time.monotonic() - started < 60
    assert len({item.name for item in drop.items()}) == len(drop.items()) == 1000
    assert len(drop.in_folder("_done")) == 1000
    assert all((drop.root / str(item.filed_as)).exists() for item in drop.items())
    assert len([line for line in drop.status().splitlines() if line.startswith("- 2026-")]) == 20


def test_the_same_bytes_again_are_a_duplicate_for_good(drop: DropRig) -> None:  # B-W10
    (drop.root / "1.txt").write_text("a\n", "utf-8")
    with drop.running():
        first = drop.arrived("1.txt")
        (drop.root / "2.txt").write_text("a\n", "utf-8")
        until(lambda: drop.in_folder("_duplicates") == ["2.txt", "2.txt.same-as.txt"])
        assert first.id in (drop.root / "_duplicates" / "2.txt.same-as.txt").read_text("utf-8")
    states = sorted((item.name, item.state) for item in drop.items())
    assert states == [("1.txt", ItemState.FETCHED), ("2.txt", ItemState.DUPLICATE)]
    for _ in range(2):  # restarts
        with drop.running():
            (drop.root / "marker.txt").touch()
            until(lambda: "waiting: empty" in drop.status())
            (drop.root / "marker.txt").unlink()
    assert len(drop.items()) == 2


def test_nothing_in_our_folders_is_ever_overwritten(drop: DropRig) -> None:  # S-051: the same name twice
    with drop.running():
        for number in range(3):
            (drop.root / "same.txt").write_text(f"version {number}", "utf-8")
            until(lambda expected=number + 1: len(drop.in_folder("_done")) == expected)  # type: ignore[misc]
    assert drop.in_folder("_done") == ["same-2.txt", "same-3.txt", "same.txt"]
    contents = {path.read_text("utf-8") for path in (drop.root / "_done").rglob("*.txt")}
    assert contents == {"version 0", "version 1", "version 2"}


def test_what_is_on_the_ignore_list_is_left_alone(drop: DropRig) -> None:  # B-W22
    (drop.root / ".#n.md").symlink_to("me@host.1:2")
    names = ["#n.md#", ".syncthing.n.md.tmp", "~$a.docx", "x.part", ".DS_Store", "n.sync-conflict-20260302.md", "b~"]
    for name in names:
        (drop.root / name).write_text("x", "utf-8")
    (drop.root / ".git").mkdir()
    (drop.root / ".git" / "config").write_text("x", "utf-8")
    with drop.running():
        (drop.root / "last.txt").write_text("x", "utf-8")
        drop.arrived("last.txt")
    assert len(drop.items()) == 1
    assert drop.left_in_root() == sorted([*names, ".#n.md", ".git"])
    assert drop.in_folder("_failed") == []


def test_without_events_the_listing_finds_everything(drop: DropRig) -> None:  # B-W07 B-W20 S-052
    with drop.running(make_observer=deaf, rescan_seconds=0.2) as folder:
        until(lambda: folder.check().detail.startswith("degraded"))
        (drop.root / "a.txt").write_text("hi", "utf-8")
        drop.arrived("a.txt")


def test_a_moved_in_tree_gives_scope_and_tags_and_leaves_no_folders(drop: DropRig, tmp_path: Path) -> None:
    for path, content in {"readme.txt": "1", "acme/invoices/may.txt": "2", "acme/Über uns/x.txt": "3"}.items():
        (tmp_path / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / path).write_text(content, "utf-8")
    (tmp_path / "tree" / "empty").mkdir()
    (drop.root / "personal" / "work").mkdir(parents=True)
    (drop.root / "personal" / "work" / "p.txt").write_text("4", "utf-8")
    with drop.running():
        (tmp_path / "tree").rename(drop.root / "tree")
        until(lambda: all(drop.filed(name) for name in ("readme.txt", "may.txt", "x.txt", "p.txt")))
        until(lambda: not (drop.root / "tree").exists())
        until(lambda: not (drop.root / "personal" / "work").exists())
        assert (drop.root / "personal").is_dir()  # a declared scope: there to be dropped into
    tags = {item.name: item.tags for item in drop.items()}
    assert tags == {
        "readme.txt": ["tree"],
        "may.txt": ["tree", "acme", "invoices"],
        "x.txt": ["tree", "acme", "über-uns"],
        "p.txt": ["work"],
    }


def test_a_folder_that_files_are_still_copied_into_stays(drop: DropRig) -> None:
    with drop.running() as folder:
        (drop.root / "trip").mkdir()
        for number in range(4):  # cp -r makes the next file when the last one is already gone
            (drop.root / "trip" / f"{number}.txt").write_text(f"{number}", "utf-8")
            until(lambda expected=number + 1: len(drop.in_folder("_done")) == expected)  # type: ignore[misc]
            folder.rescan()
    assert len(drop.items()) == 4


@pytest.mark.parametrize("start_again", [False, True])
def test_a_root_that_goes_away_pauses_and_comes_back(drop: DropRig, start_again: bool) -> None:  # S-053 S-052
    away = drop.root.with_name("unmounted")
    with drop.running() as folder:
        until(lambda: folder.check().ok)
        drop.root.rename(away)
        until(lambda: folder.check().detail == "the drop folder is missing")
        drop.root.mkdir()
        until(lambda: folder.check().detail == "the drop folder was replaced by an empty folder")
        assert list(drop.root.iterdir()) == []
        if start_again:  # made anew by a person, who drops something
            (drop.root / "new.txt").write_text("new", "utf-8")
        else:
            drop.root.rmdir()
            away.rename(drop.root)
            until(lambda: folder.check().ok)
            (drop.root / "new.txt").write_text("new", "utf-8")
        drop.arrived("new.txt")
        assert folder.check().ok
