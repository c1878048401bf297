"""Files that stay: by the settings or because they may not be moved; each content of each is one capture, for ever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from daemon.drop.habits import DropMode
from daemon.drop.kept import KeptFiles, content_key
from daemon.drop.probe import look
from tests.daemon.drop_rig import DropRig, deaf
from tests.waiting import until

KEEP = DropMode.KEEP


def test_a_kept_file_stays_and_is_captured_once_over_restarts(drop: DropRig) -> None:
    (drop.root / "work").mkdir()
    (drop.root / "work" / "a.txt").write_text("a", "utf-8")
    with drop.running(mode=KEEP):
        (drop.root / "b.txt").write_text("b", "utf-8")
        until(lambda: drop.item("a.txt") and drop.item("b.txt"))
        until(lambda: "`b.txt` taken in → `b.txt`" in drop.status())
        assert "leaves it where it is" in drop.status()
    for forgotten in (False, True):  # the cache is a cache: without it everything is read again, and known
        if forgotten:
            drop.kept_at.unlink()
        with drop.running(mode=KEEP) as folder:
            until(lambda: "looked at and staying: 2" in folder.check().detail)
            folder.rescan()
            (drop.root / "c.txt").write_text(f"c {forgotten}", "utf-8")
            until(lambda wanted=3 + forgotten: len(drop.items()) == wanted)  # type: ignore[misc]
        (drop.root / "c.txt").unlink()
    assert sorted(item.name for item in drop.items()) == ["a.txt", "b.txt", "c.txt", "c.txt"]
    assert drop.left_in_root() == ["b.txt", "work"]
    assert not (drop.root / "_done").exists()
    assert [item.filed_as for item in drop.items() if item.name == "a.txt"] == ["work/a.txt"]


def test_a_changed_file_is_a_new_capture_and_a_touched_one_is_not(drop: DropRig) -> None:  # S-052
    path = drop.root / "a.txt"
    path.write_text("first", "utf-8")
    with drop.running(mode=KEEP) as folder:
        until(lambda: len(drop.items()) == 1)
        for moment in range(3):  # as a synchroniser or a backup program does
            os.utime(path, (moment, moment))
            path.chmod(0o600 + moment * 0o40)
            folder.rescan()
        path.write_text("second", "utf-8")
        until(lambda: len(drop.items()) == 2)
    with drop.running(mode=KEEP):
        os.utime(path, (5, 5))
        (drop.root / "marker.txt").write_text("x", "utf-8")
        until(lambda: drop.item("marker.txt"))
    assert [drop.original(item) for item in drop.items()] == [b"first", b"second", b"x"]


def test_equal_kept_files_are_one_item_and_one_duplicate(drop: DropRig) -> None:  # B-W10
    for name in ("1.txt", "2.txt"):
        (drop.root / name).write_text("a\n", "utf-8")
    for _ in range(3):
        with drop.running(mode=KEEP) as folder:
            until(lambda: "looked at and staying: 2" in folder.check().detail)
    assert sorted(item.state for item in drop.items()) == ["duplicate", "fetched"]


def test_what_cannot_be_taken_in_is_said_once_and_stays(drop: DropRig) -> None:
    (drop.root / "link").symlink_to("nowhere")
    with (drop.root / "huge.bin").open("wb") as file:
        file.truncate(2**40)
    for _ in range(2):
        with drop.running(mode=KEEP) as folder:
            until(lambda: "looked at and staying: 2" in folder.check().detail)
            until(lambda: "`huge.bin` not taken in" in drop.status())
    assert drop.status().count("not taken in") == 2
    assert drop.left_in_root() == ["huge.bin", "link"]
    assert drop.items() == []


def test_a_quarantined_kept_file_is_named_on_the_page_and_not_moved(drop: DropRig) -> None:
    (drop.root / "locked.pdf").write_text("x", "utf-8")
    with drop.running(mode=KEEP) as folder:
        item = until(lambda: drop.item("locked.pdf"))
        assert item is not None
        drop.quarantine(item.id)
        folder.reconcile_soon()
        until(lambda: "`locked.pdf` needs you: the PDF is locked → `locked.pdf`" in drop.status())
    assert drop.left_in_root() == ["locked.pdf"]


def test_kept_files_are_only_filed_when_they_need_not_stay_any_more(drop: DropRig) -> None:
    (drop.root / "a.txt").write_text("a", "utf-8")
    with drop.running(mode=KEEP):
        item = until(lambda: drop.item("a.txt"))
    with drop.running():
        assert drop.arrived("a.txt").id == getattr(item, "id", "")
    assert len(drop.items()) == 1
    assert drop.in_folder("_duplicates") == []


def test_kept_files_are_found_without_events_too(drop: DropRig) -> None:  # B-W07
    with drop.running(mode=KEEP, make_observer=deaf, rescan_seconds=0.2):
        (drop.root / "a.txt").write_text("a", "utf-8")
        until(lambda: drop.item("a.txt"))


@pytest.mark.parametrize("content", ["", "{", '{"format": 1, "files": 3}', '{"format": 9, "files": []}', "\0", "[]"])
def test_a_torn_cache_is_an_empty_one(tmp_path: Path, content: str) -> None:
    place = tmp_path / "cache" / "kept.json"
    place.parent.mkdir()
    place.write_text(content, "utf-8")
    assert KeptFiles(place).count() == 0


def test_the_cache_keeps_odd_names_and_knows_a_file_again(tmp_path: Path) -> None:  # S-051
    path = tmp_path / os.fsdecode(b"\xff.txt")
    path.write_text("x", "utf-8")
    seen = look(path)
    assert seen is not None
    kept = KeptFiles(tmp_path / "cache" / "kept.json")
    kept.remember((path.name,), seen, content_key((path.name,), "d"))
    kept.save()
    again = KeptFiles(tmp_path / "cache" / "kept.json")
    assert again.find((path.name,), seen) == kept.find((path.name,), seen)
    path.write_text("xy", "utf-8")
    changed = look(path)
    assert changed is not None
    assert again.find((path.name,), changed) is None
