"""A watch hears of changes, says when it lost some, and admits when it is deaf."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest

from daemon.watching import Watch, elsewhere_below
from tests.daemon.drop_rig import deaf
from tests.waiting import until


def test_changes_below_the_root_are_heard_with_relative_names(tmp_path: Path) -> None:
    bell = threading.Event()
    watch = Watch(tmp_path, bell)
    watch.start()
    try:
        (tmp_path / "inner").mkdir()
        until(lambda: watch.relist)  # what was written before its watch must be listed
        (tmp_path / "inner" / "a.txt").write_text("x", "utf-8")
        until(lambda: ("inner", "a.txt") in watch.heard)
        assert bell.is_set()
    finally:
        watch.stop()


def test_lost_events_ask_for_a_listing(tmp_path: Path) -> None:  # S-052
    bell = threading.Event()
    watch = Watch(tmp_path, bell)
    watch.start()
    try:
        watch.relist = False
        logging.getLogger("watchdog.observers.inotify_c").warning(
            "Inotify queue overflowed; filesystem events were lost"
        )
        assert watch.relist
        assert bell.is_set()
    finally:
        watch.stop()


def test_a_watch_that_is_not_to_be_had_is_admitted(tmp_path: Path) -> None:  # B-W20
    watch = Watch(tmp_path, threading.Event(), deaf)
    watch.start()
    assert watch.problem.startswith("polling, no watch to be had")
    watch.stop()


MOUNTS = (
    "21 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "30 21 0:40 / /mnt/share rw - cifs //nas/share rw\n"
    "31 21 0:41 / /mnt/share\\040it rw shared:1 - nfs4 nas:/x rw\n"
    "32 21 0:42 / /home/me/drop/phone rw - fuse.sshfs me@phone: rw\n"
    "33 21 0:43 / /home/me/stick rw - fuseblk /dev/sdb1 rw\n"
    "34 21 0:44 / /home/me/cloud rw - fuse.rclone x: rw\n"
    "35 34 254:0 / /home/me/cloud rw - ext4 /dev/vdb rw\n"
)


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        ("/mnt/share/drop", ["cifs"]),
        ("/mnt/share it/x", ["nfs4"]),
        ("/home/me/drop", ["fuse.sshfs"]),  # B-W08: a remote folder below a local one
        ("/home/me/stick", []),  # a local disk behind FUSE
        ("/home/me/cloud", []),  # the later mount lies over the earlier one
        ("/home/me/vault", []),
        ("/mnt", ["cifs", "nfs4"]),
    ],
)
def test_what_others_write_is_read_from_the_mounts(tmp_path: Path, path: str, kinds: list[str]) -> None:  # B-W07
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS, "utf-8")
    assert sorted(elsewhere_below(Path(path), mounts).values()) == kinds
