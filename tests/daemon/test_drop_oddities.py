"""What must not be opened, cannot be had, or changes under our hands: never followed, never lost, never taken twice."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from daemon.drop.intake import ACTOR
from daemon.drop.probe import look
from pipelines import capture
from pipelines.capture import Captured
from pipelines.model.actor import Actor
from pipelines.model.errors import Transient
from tests.daemon.drop_rig import DropRig
from tests.waiting import until


class Between:
    """The real capture, with something happening before or after it."""

    def __init__(
        self, drop: DropRig, *, before: Callable[[], None] | None = None, after: Callable[[], None] | None = None
    ):
        self._capture = partial(capture.capture_file, drop.premises)
        self._before, self._after = before, after
        self.calls = 0

    def __call__(
        self,
        path: Path,
        actor: Actor,
        *,
        name: str,
        tags: tuple[str, ...],
        scope: str | None,
        source_key: str,
        filed_as: str,
    ) -> Captured:
        self.calls += 1
        if self._before is not None:
            self._before()
        captured = self._capture(
            path, actor, name=name, tags=tags, scope=scope, source_key=source_key, filed_as=filed_as
        )
        if self._after is not None:
            self._after()
        return captured


def test_links_pipes_sockets_and_second_names_are_moved_and_never_opened(
    drop: DropRig, tmp_path: Path
) -> None:  # S-049
    secret = tmp_path / "secret"
    secret.write_text("outside", "utf-8")
    (drop.root / "link").symlink_to(secret)
    (drop.root / "dangling").symlink_to(tmp_path / "nowhere")
    (drop.root / "loop").symlink_to("loop")
    (drop.root / "folder").symlink_to(tmp_path)
    os.mkfifo(drop.root / "pipe")  # opening it would block until a writer comes
    (drop.root / "second-name").hardlink_to(secret)
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(drop.root)  # the path of a socket may not be long
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
        with drop.running():
            until(lambda: not drop.left_in_root())
            (drop.root / "fine.txt").write_text("still at work", "utf-8")
            drop.arrived("fine.txt")
    odd = ["dangling", "folder", "link", "loop", "pipe", "second-name", "socket"]
    assert drop.in_folder("_failed") == sorted([*odd, *(f"{name}.why.txt" for name in odd)])
    for name in odd:
        assert (drop.root / "_failed" / f"{name}.why.txt").read_text("utf-8").startswith("narthex: this is a")
    assert secret.read_text("utf-8") == "outside"
    assert [item.name for item in drop.items()] == ["fine.txt"]


def test_a_device_is_moved_and_never_opened(drop: DropRig) -> None:  # S-049
    from tests.need import need

    need("root")
    os.mknod(drop.root / "null", 0o20666, os.makedev(1, 3))
    with drop.running():
        until(lambda: drop.in_folder("_failed") == ["null", "null.why.txt"])


def test_a_folder_called_like_a_file_is_a_folder(drop: DropRig) -> None:  # S-049
    (drop.root / "a.pdf").mkdir()
    (drop.root / "a.pdf" / "inside.txt").write_text("x", "utf-8")
    with drop.running():
        drop.arrived("inside.txt")
        until(lambda: not (drop.root / "a.pdf").exists())


def test_a_file_above_the_limit_is_moved_with_the_reason(drop: DropRig) -> None:  # S-049: a terabyte of nothing
    with (drop.root / "huge.bin").open("wb") as file:
        file.truncate(2**40)
    with drop.running():
        until(lambda: drop.in_folder("_failed") == ["huge.bin", "huge.bin.why.txt"])
        until(lambda: "`huge.bin` not taken in" in drop.status())
    assert drop.items() == []


def test_a_long_name_gets_a_note_that_fits(drop: DropRig) -> None:  # S-051
    name = "漢" * 85  # 255 bytes
    (drop.root / name).symlink_to("nowhere")
    with drop.running():
        until(lambda: len(drop.in_folder("_failed")) == 2)
    note = next(one for one in drop.in_folder("_failed") if one.endswith(".why.txt"))
    assert len(os.fsencode(note)) <= 255
    assert name in drop.in_folder("_failed")


def test_a_file_that_is_busy_is_tried_until_it_can_be_had(drop: DropRig) -> None:  # B-W05 B-W16
    shown: list[str] = []

    def busy() -> None:
        shown.append(drop.status())
        if between.calls < 3:
            raise Transient("the file cannot be opened now: Device or resource busy")

    between = Between(drop, before=busy)
    with drop.running(capture_file=between, settle_seconds=0.3):
        (drop.root / "scan.pdf").write_text("x", "utf-8")
        until(lambda: "waiting: the file cannot be opened now: Device or resource busy" in drop.status())
        drop.arrived("scan.pdf")
    assert between.calls == 3
    assert len(drop.items()) == 1
    assert re.search(r"\((1 try|2 tries), (next \d\d:\d\d:\d\d|now once more)\)", "".join(shown))


def test_events_and_listings_during_a_slow_capture_make_no_second_one(drop: DropRig) -> None:  # B-W04
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        assert go_on.wait(20)

    between = Between(drop, before=slow)
    with drop.running(capture_file=between) as folder:
        path = drop.root / "a.txt"
        path.write_text("once", "utf-8")
        assert begun.wait(20)
        os.utime(path)
        folder.rescan()
        go_on.set()
        drop.arrived("a.txt")
        (drop.root / "later.txt").write_text("x", "utf-8")
        drop.arrived("later.txt")
    assert sorted(item.name for item in drop.items()) == ["a.txt", "later.txt"]
    assert "not taken in" not in drop.status()


def test_what_is_written_between_copy_and_move_is_captured_too(drop: DropRig) -> None:
    path = drop.root / "a.txt"

    def overwrite() -> None:
        if between.calls == 1:
            other = drop.root / ".other"
            other.write_text("second", "utf-8")
            other.replace(path)

    between = Between(drop, after=overwrite)
    with drop.running(capture_file=between):
        path.write_text("first", "utf-8")
        until(lambda: len(drop.items()) == 2 and not drop.left_in_root())
    assert {drop.original(item) for item in drop.items()} == {b"first", b"second"}
    assert drop.in_folder("_done") == ["a.txt"]


def test_a_link_that_takes_the_place_of_a_file_or_folder_gives_nothing_from_outside(
    drop: DropRig, tmp_path: Path
) -> None:  # S-050
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("outside", "utf-8")
    inner = drop.root / "inner"

    def swap() -> None:
        inner.rename(drop.root / f".away{between.calls}")
        inner.symlink_to(tmp_path / "outside")

    between = Between(drop, before=swap)
    inner.mkdir()
    (inner / "a.txt").write_text("inside", "utf-8")
    with drop.running(capture_file=between):
        until(lambda: "inner" in drop.in_folder("_failed"))
    assert {drop.original(item) for item in drop.items()} <= {b"inside"}
    assert (tmp_path / "outside" / "a.txt").read_text("utf-8") == "outside"


def test_swapping_a_file_for_a_link_all_the_time_gives_nothing_from_outside(
    drop: DropRig, tmp_path: Path
) -> None:  # S-050
    secret = tmp_path / "secret"
    secret.write_text("outside", "utf-8")
    fresh, victim = drop.root / ".fresh", drop.root / "victim.txt"
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            fresh.write_text("inside", "utf-8")
            fresh.replace(victim)
            fresh.symlink_to(secret)
            fresh.replace(victim)

    swapper = threading.Thread(target=swap)
    folder = drop.folder()
    swapper.start()
    try:
        for _ in range(1000):
            seen = look(victim)
            if seen is not None and seen.is_file and seen.size:
                folder._intake.take(("victim.txt",), seen)
    finally:
        stop.set()
        swapper.join()
    assert {drop.original(item) for item in drop.items()} <= {b"inside"}
    for path in (drop.root / "_done").rglob("*"):
        assert not path.is_symlink()


def test_a_crash_between_capture_and_filing_makes_no_second_item(drop: DropRig) -> None:  # S-048
    path = drop.root / "a.txt"
    path.write_text("once", "utf-8")
    seen = look(path)
    assert seen is not None
    key = seen.source_key(("a.txt",))
    capture.capture_file(drop.premises, path, ACTOR, name="a.txt", tags=(), scope=None, source_key=key)
    with drop.running():  # the process died here, and this is the next one
        item = drop.arrived("a.txt")
    assert [one.id for one in drop.items()] == [item.id]
    assert drop.in_folder("_done") == ["a.txt"]
    assert drop.in_folder("_duplicates") == []


def test_something_with_the_name_of_our_folder_is_waited_for(drop: DropRig) -> None:
    (drop.root / "_done").write_text("a file of that name", "utf-8")
    (drop.root / "a.txt").write_text("x", "utf-8")
    folder = drop.folder()
    folder.start()
    try:
        until(lambda: "'_done' is not a folder" in folder.check().detail)
        assert not folder.check().ok
        (drop.root / "_done").unlink()
        drop.arrived("a.txt")
    finally:
        folder.stop()


def test_a_folder_that_may_not_be_listed_is_shown(drop: DropRig) -> None:  # S-054
    inner = drop.root / "private"
    inner.mkdir()
    (inner / "x.txt").write_text("x", "utf-8")
    if os.geteuid() == 0:
        inner.rename(drop.root.with_name("elsewhere"))  # root may list everything: nothing to see
        return
    inner.chmod(0)
    with drop.running():
        until(lambda: "the folder private cannot be listed" in drop.status())
        inner.chmod(0o700)
        drop.arrived("x.txt")


def test_a_dropped_file_with_the_name_of_our_page_is_taken_in(drop: DropRig) -> None:
    with drop.running():
        until(drop.status)
        (drop.root / "STATUS.md").write_text("my own status", "utf-8")
        (drop.root / "a.txt").write_text("x", "utf-8")
        item = drop.arrived("STATUS-2.md")
        assert drop.original(item) == b"my own status"
        until(lambda: drop.status().startswith("# Drop folder"))
