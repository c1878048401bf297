"""A watch hears of changes, says when it lost some, and admits when it is deaf."""

from __future__ import annotations

import errno
import logging
import threading
from pathlib import Path

import pytest
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

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


def test_a_watch_is_asked_for_again_after_growing_pauses(tmp_path: Path) -> None:  # B-W20
    asked: list[float] = []
    free = threading.Event()
    now = 0.0

    def observer() -> BaseObserver:
        asked.append(now)
        if not free.is_set():
            raise OSError(errno.EMFILE, "inotify instance limit reached")
        return Observer()

    watch = Watch(tmp_path, threading.Event(), observer)
    watch.start()
    for moment in range(1, 100):
        now = float(moment)
        watch.listed(now)
    assert watch.problem == "polling, no watch to be had (inotify instance limit reached)"
    assert asked == [0.0, 1.0, 6.0, 16.0, 36.0, 76.0]
    free.set()
    try:
        watch.listed(200.0)
        assert watch.problem == ""
        (tmp_path / "a.txt").touch()
        until(lambda: ("a.txt",) in watch.heard)
    finally:
        watch.stop()


def test_numbers_that_never_fit_are_no_alarm(tmp_path: Path) -> None:  # some file systems show others than they use
    watch = Watch(tmp_path, threading.Event())
    watch.start()
    try:
        for moment in (0.0, 60.0, 120.0, 180.0):
            watch.listed(moment, {tmp_path.stat().st_ino, 2**62})
            assert watch.problem == ""
        (tmp_path / "a.txt").touch()
        until(lambda: ("a.txt",) in watch.heard)
    finally:
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


def test_a_remote_folder_below_a_local_one_is_polled_and_the_rest_is_heard(tmp_path: Path) -> None:  # B-W08
    (tmp_path / "drop" / "nas").mkdir(parents=True)
    mounts = tmp_path / "mountinfo"
    local = "21 1 254:0 / / rw - ext4 /dev/vda rw\n"
    mounts.write_text(f"{local}30 21 0:40 / {tmp_path}/drop/nas rw - nfs4 nas:/x rw\n", "utf-8")
    watch = Watch(tmp_path / "drop", threading.Event(), mounts=mounts)
    watch.start()
    try:
        assert watch.problem == "polling, nfs4 tells nothing of what other machines write"
        (tmp_path / "drop" / "local.txt").touch()
        until(lambda: ("local.txt",) in watch.heard)
        mounts.write_text(local, "utf-8")
        watch.listed(60.0)
        assert watch.problem == ""  # it was unmounted
    finally:
        watch.stop()
