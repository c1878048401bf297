"""Other programs write in many ways: what they finish is taken once and whole, what they touch is not taken again."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from pathlib import Path

import pytest

from daemon.drop.probe import look
from daemon.drop.progress import copied, share, size_text
from tests.daemon.drop_rig import SETTLE, DropRig, deaf
from tests.daemon.test_drop_oddities import Between
from tests.waiting import until


def test_a_file_created_first_and_written_in_many_openings_is_taken_whole(drop: DropRig) -> None:  # S-047
    path = drop.root / "scan.pdf"  # as a network mount or a scanner does: nobody has it open in between
    with drop.running(settle_seconds=0.5):
        path.touch()
        for number in range(20):
            with path.open("a", encoding="utf-8") as writer:
                writer.write(f"part {number}\n")
            quiet_since = time.monotonic()
            until(lambda since=quiet_since: time.monotonic() > since + 0.1)  # type: ignore[misc]
        item = drop.arrived("scan.pdf")
    assert drop.original(item).decode().splitlines() == [f"part {number}" for number in range(20)]
    assert len(drop.items()) == 1


def test_cp_of_a_large_file_is_taken_once(drop: DropRig, tmp_path: Path) -> None:  # S-047
    with (tmp_path / "large.bin").open("wb") as file:
        for number in range(48):
            file.write(bytes([number]) * 1024 * 1024)
    with drop.running(rescan_seconds=0.1):
        subprocess.run(["cp", str(tmp_path / "large.bin"), str(drop.root)], check=True)
        item = drop.arrived("large.bin")
    assert drop.original(item) == (tmp_path / "large.bin").read_bytes()
    assert len(drop.items()) == 1


def test_a_file_touched_for_ever_is_taken_once(drop: DropRig) -> None:  # S-052
    path, over = drop.root / "touched.txt", threading.Event()

    def touch() -> None:
        while not over.wait(SETTLE / 2):
            for place in [path, *drop.root.glob("_done/*/touched.txt")]:
                if place.exists():
                    os.utime(place)

    path.write_text("x", "utf-8")
    toucher = threading.Thread(target=touch)
    toucher.start()
    try:
        with drop.running():
            drop.arrived("touched.txt")
            (drop.root / "later.txt").write_text("later", "utf-8")
            drop.arrived("later.txt")
    finally:
        over.set()
        toucher.join()
    assert sorted(item.name for item in drop.items()) == ["later.txt", "touched.txt"]


def test_a_disk_that_was_full_costs_nobody_a_step(drop: DropRig) -> None:  # B-W16
    from pipelines.model.errors import StorageFull

    def full() -> None:
        if between.calls < 3:
            raise StorageFull("the original could not be stored: there is no space left")

    between = Between(drop, before=full)
    with drop.running(capture_file=between, settle_seconds=0.5) as folder:
        (drop.root / "a.txt").write_text("x", "utf-8")
        until(lambda: re.search(r"there is no space left \(2 tries, next \d\d:\d\d:\d\d\)", drop.status()))
        assert re.search(r"to be tried again: 1, the next in \d s", folder.check().detail)
        drop.arrived("a.txt")
    assert between.calls == 3


@pytest.mark.parametrize("seen", [True, False])
def test_the_drop_folder_deleted_and_made_again_goes_on(drop: DropRig, seen: bool) -> None:  # S-052
    with drop.running(rescan_seconds=3600) as folder:
        for number in range(3):  # the new folder often has the number of the old one
            if seen:
                subprocess.run(["rm", "-r", str(drop.root)], check=True)
                until(lambda: not folder.check().ok)
                drop.root.mkdir()
            else:
                subprocess.run(["sh", "-c", 'rm -r "$1"; mkdir "$1"', "sh", str(drop.root)], check=True)
            (drop.root / f"{number}.txt").write_text(f"{number}", "utf-8")
            drop.arrived(f"{number}.txt")
            (drop.root / f"heard {number}.txt").write_text(f"heard {number}", "utf-8")  # no listing comes any more
            drop.arrived(f"heard {number}.txt")


def test_a_mount_that_never_tells_is_listed(drop: DropRig) -> None:  # B-W07
    with drop.running(make_observer=deaf, rescan_seconds=0.3) as folder:
        until(lambda: folder.check().detail.startswith("degraded: polling, "))
        assert folder.check().ok
        for number in range(3):
            (drop.root / f"{number}.txt").write_text(f"{number}", "utf-8")
            drop.arrived(f"{number}.txt")


def test_the_progress_of_a_copy_is_where_its_descriptor_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"x" * 1000)
    seen = look(path)
    assert seen is not None
    assert copied(seen) == 0
    with path.open("rb", buffering=0) as file:
        file.read(340)
        assert (copied(seen), share(seen)) == (340, "34 % of 0 MB")
    assert [size_text(size) for size in (64_000_000, 1_400_000_000)] == ["64 MB", "1.4 GB"]
