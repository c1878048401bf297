"""The vault is looked at when it is at rest after a change, again when it comes back, and not for what is no note."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from daemon.vault_watcher import VaultWatcher
from pipelines.model.errors import Transient
from tests.daemon.drop_rig import deaf
from tests.waiting import until


class Looks:
    """Stands for the comparison: counts how often it was asked for, and fails while ``missing`` is set."""

    def __init__(self) -> None:
        self.count = 0
        self.missing = threading.Event()

    def __call__(self) -> str:
        if self.missing.is_set():
            raise Transient("the vault is not there")
        self.count += 1
        return ""


@contextmanager
def watched(watcher: VaultWatcher) -> Iterator[VaultWatcher]:
    """Started and stopped."""
    watcher.start()
    try:
        until(lambda: watcher.check().ok)
        yield watcher
    finally:
        watcher.stop()


def test_a_changed_note_asks_for_one_look_and_other_files_for_none(tmp_path: Path) -> None:
    looks = Looks()
    with watched(VaultWatcher(tmp_path, looks, rest_seconds=0.3)):
        assert looks.count == 1
        (tmp_path / ".obsidian-cache").write_text("x", "utf-8")
        (tmp_path / "picture.png").write_text("x", "utf-8")
        for number in range(5):
            (tmp_path / "note.md").write_text(f"version {number}", "utf-8")
        until(lambda: looks.count == 2)
        (tmp_path / "note.md").rename(tmp_path / "renamed.md")
        until(lambda: looks.count == 3)


def test_a_note_that_never_rests_is_looked_at_all_the_same(tmp_path: Path) -> None:
    looks, stop = Looks(), threading.Event()

    def scribble() -> None:
        while not stop.is_set():
            (tmp_path / "note.md").write_text("again", "utf-8")

    with watched(VaultWatcher(tmp_path, looks, rest_seconds=0.05)):
        writer = threading.Thread(target=scribble)
        writer.start()
        try:
            until(lambda: looks.count >= 2)
        finally:
            stop.set()
            writer.join()


def test_without_events_it_looks_now_and_then(tmp_path: Path) -> None:  # B-W20
    looks = Looks()
    with watched(VaultWatcher(tmp_path, looks, rescan_seconds=0.1, make_observer=deaf)) as watcher:
        until(lambda: looks.count >= 3)
        assert "degraded" in watcher.check().detail


def test_a_vault_that_is_away_pauses_and_comes_back(tmp_path: Path) -> None:  # S-053
    looks = Looks()
    with watched(VaultWatcher(tmp_path, looks)) as watcher:
        looks.missing.set()
        watcher.rescan()
        until(lambda: watcher.check().detail == "paused: the vault is not there")
        assert not watcher.check().ok
        looks.missing.clear()
        watcher.rescan()
        until(lambda: watcher.check().ok)
