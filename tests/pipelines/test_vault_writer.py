"""Writing notes: durable, atomic, repeatable, and never over what somebody else wrote."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipelines.model import failpoint
from pipelines.model.errors import Broken, Conflict, Invalid, StorageFull
from pipelines.model.plan import digest_text
from pipelines.model.values import Home
from pipelines.vault.reader import scan
from pipelines.vault.writer import OutsideEdit, Written, remove_note, sweep_temporaries, write_note

PATH = "Notes/2026/Seeds.md"


def test_a_new_note_is_there_and_private(home: Home) -> None:
    assert write_note(home.vault, PATH, "é\n", None) == Written(PATH, digest_text("é\n"))
    file = home.vault / PATH
    assert file.read_bytes() == "é\n".encode()
    assert file.stat().st_nlink == 1
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert _names(home.vault) == [PATH]


def test_a_replacement_keeps_the_permissions(home: Home) -> None:
    write_note(home.vault, PATH, "one", None)
    (home.vault / PATH).chmod(0o644)
    write_note(home.vault, PATH, "two", digest_text("one"))
    assert (home.vault / PATH).read_text() == "two"
    assert (home.vault / PATH).stat().st_mode & 0o777 == 0o644


def test_every_write_can_be_repeated(home: Home) -> None:
    for expected in (None, digest_text("something older"), digest_text("x")):
        assert write_note(home.vault, PATH, "x", expected).digest == digest_text("x")
    remove_note(home.vault, PATH, digest_text("x"))
    remove_note(home.vault, PATH, digest_text("x"))
    remove_note(home.vault, "Never/there.md", digest_text("x"))
    assert _names(home.vault) == []


@pytest.mark.parametrize("expected", [None, digest_text("one")])
def test_an_outside_edit_is_never_overwritten(home: Home, expected: str | None) -> None:
    # L-137, F-007
    (home.vault / "Notes").mkdir()
    (home.vault / "Notes/a.md").write_text("by hand")
    with pytest.raises(OutsideEdit):
        write_note(home.vault, "Notes/a.md", "two", expected)
    with pytest.raises(OutsideEdit):
        remove_note(home.vault, "Notes/a.md", digest_text("one"))
    assert (home.vault / "Notes/a.md").read_text() == "by hand"
    assert _names(home.vault) == ["Notes/a.md"]
    assert issubclass(OutsideEdit, Conflict)


def test_a_note_that_was_deleted_outside_does_not_come_back(home: Home) -> None:
    for path in ("a.md", "Gone/a.md"):
        with pytest.raises(OutsideEdit):
            write_note(home.vault, path, "two", digest_text("one"))
    assert _names(home.vault) == []
    assert not (home.vault / "Gone").exists()


@pytest.mark.parametrize("point", ["project.temp_written", "project.synced"])
@pytest.mark.parametrize("expected", [None, digest_text("one")])
def test_an_edit_at_the_last_moment_wins(home: Home, point: str, expected: str | None) -> None:
    # the comparison is repeated immediately before the name is given
    file = home.vault / "a.md"
    if expected:
        file.write_text("one")
    with _at(point, lambda: file.write_text("by hand")), pytest.raises(OutsideEdit):
        write_note(home.vault, "a.md", "two", expected)
    assert file.read_text() == "by hand"
    assert _names(home.vault) == ["a.md"]


def test_an_edit_between_comparing_and_replacing_is_put_back(home: Home) -> None:
    file = home.vault / "a.md"
    file.write_text("one")
    with _at("project.compared", lambda: file.write_text("by hand")), pytest.raises(OutsideEdit):
        write_note(home.vault, "a.md", "two", digest_text("one"))
    assert file.read_text() == "by hand"
    assert _names(home.vault) == ["a.md"]


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_something_that_is_no_file_is_left_alone(home: Home, tmp_path: Path, kind: str) -> None:
    place = home.vault / "a.md"
    target = tmp_path / "target.md"
    target.write_text("one")
    if kind == "link":
        place.symlink_to(target)
    elif kind == "folder":
        place.mkdir()
    else:
        os.mkfifo(place)
    for expected in (None, digest_text("one")):
        with pytest.raises(OutsideEdit):
            write_note(home.vault, "a.md", "two", expected)
    with pytest.raises(OutsideEdit):
        remove_note(home.vault, "a.md", digest_text("one"))
    assert target.read_text() == "one"


def test_nothing_is_written_through_a_linked_folder(home: Home, tmp_path: Path) -> None:
    # L-139, S-050
    outside = tmp_path / "outside"
    outside.mkdir()
    (home.vault / "Notes").symlink_to(outside)
    for path in (PATH, "Notes/a.md"):
        with pytest.raises(Invalid):
            write_note(home.vault, path, "x", None)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "path", ["../a.md", "/a.md", ".git/a.md", ".obsidian/a.md", "CON/a.md", "a.txt", "e\u0301.md", "a\n.md"]
)
def test_a_path_that_may_not_be_is_refused_before_anything_is_made(home: Home, path: str) -> None:
    # L-140, L-141
    with pytest.raises(Invalid):
        write_note(home.vault, path, "x", None)
    assert list(home.vault.iterdir()) == []


def test_half_a_surrogate_pair_is_refused(home: Home) -> None:
    with pytest.raises(Invalid):
        write_note(home.vault, "a.md", "\ud800", None)


def test_a_file_in_another_unicode_form_is_the_same_file(home: Home) -> None:
    # B-W13
    (home.vault / "e\u0301.md").write_text("one")
    with pytest.raises(OutsideEdit):
        write_note(home.vault, "é.md", "two", None)
    write_note(home.vault, "é.md", "two", digest_text("one"))
    assert [(entry.name, entry.read_text()) for entry in home.vault.iterdir()] == [("e\u0301.md", "two")]


def test_names_at_the_limit_are_written(home: Home) -> None:
    # B-W17
    name = "漢" * 46 + "ab.md"
    assert len(name.encode()) == 143
    write_note(home.vault, name, "one", None)
    write_note(home.vault, name, "two", digest_text("one"))
    assert (home.vault / name).read_text() == "two"


def test_leftovers_of_a_crash_are_swept(home: Home) -> None:
    write_note(home.vault, PATH, "x", None)
    for leftover in (".Seeds.md.nx-tmp", "Notes/2026/.Seeds.md.nx-tmp"):
        (home.vault / leftover).write_text("half")
    (home.vault / ".obsidian").mkdir()
    (home.vault / ".obsidian/.theirs.nx-tmp").touch()
    write_note(home.vault, PATH, "y", digest_text("x"))  # a leftover in the way does no harm
    assert sweep_temporaries(home.vault) == 1
    assert sweep_temporaries(home.vault) == 0
    assert _names(home.vault) == [".obsidian/.theirs.nx-tmp", PATH]


def test_the_steps_come_in_the_order_that_survives_a_power_cut(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    # S-064: bytes, then name, then folder; every new folder in its parent
    steps: list[str] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        steps.append("fsync " + str(Path(f"/proc/self/fd/{fd}").readlink().relative_to(home.vault)))
        real(fd)

    monkeypatch.setattr("pipelines.durable.os.fsync", fsync)
    with _all_points(steps):
        write_note(home.vault, "New/a.md", "x", None)
    assert steps == [
        "fsync .",
        "project.temp_written",
        "fsync New/.a.md.nx-tmp",
        "project.synced",
        "project.renamed",
        "fsync New",
        "project.folder_synced",
    ]
    steps.clear()
    with _all_points(steps):
        write_note(home.vault, "New/a.md", "x", None)
        remove_note(home.vault, "New/a.md", digest_text("x"))
    assert steps == [
        "fsync New/a.md",
        "fsync New",
        "project.folder_synced",
        "project.removed",
        "fsync New",
        "project.folder_synced",
    ]


def test_a_failed_fsync_stops_and_leaves_the_old_note(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    # S-065
    write_note(home.vault, "a.md", "one", None)
    monkeypatch.setattr("pipelines.durable.os.fsync", _fails(errno.EIO))
    with pytest.raises(Broken):
        write_note(home.vault, "a.md", "two", digest_text("one"))
    assert (home.vault / "a.md").read_text() == "one"


def test_a_full_disk_is_said_and_leaves_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    # S-066
    monkeypatch.setattr("pipelines.vault.writer.os.fchmod", _fails(errno.ENOSPC))
    with pytest.raises(StorageFull):
        write_note(home.vault, "a.md", "x", None)
    assert _names(home.vault) == []


def test_without_hard_links_a_new_name_still_replaces_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.vault.writer.os.link", _fails(errno.EPERM))
    write_note(home.vault, "a.md", "x", None)
    with _at("project.synced", lambda: (home.vault / "b.md").write_text("by hand")), pytest.raises(OutsideEdit):
        write_note(home.vault, "b.md", "x", None)
    assert (home.vault / "b.md").read_text() == "by hand"
    assert _names(home.vault) == ["a.md", "b.md"]


def test_of_many_writers_one_wins_and_the_others_hear_of_it(home: Home) -> None:
    # L-137, S-051: the same name twice in one millisecond
    outcomes: list[str] = []
    start = threading.Barrier(8)

    def write(text: str) -> None:
        start.wait()
        try:
            outcomes.append(write_note(home.vault, PATH, text, None).digest)
        except OutsideEdit:
            outcomes.append("lost")

    threads = [threading.Thread(target=write, args=(f"text {number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("lost") == 7
    assert [file.digest for file in scan(home.vault)] == [digest for digest in outcomes if digest != "lost"]


def _names(vault: Path) -> list[str]:
    return sorted(str(path.relative_to(vault)) for path in vault.rglob("*") if not path.is_dir())


def _fails(code: int) -> Callable[..., None]:
    def fail(*arguments: object, **more: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


@contextmanager
def _at(point: str, action: Callable[[], object]) -> Iterator[None]:
    def hook(name: str) -> None:
        if name == point:
            action()

    yield from _hooked(hook)


@contextmanager
def _all_points(steps: list[str]) -> Iterator[None]:
    yield from _hooked(steps.append)


def _hooked(hook: Callable[[str], None]) -> Iterator[None]:
    failpoint.install(hook)
    try:
        yield
    finally:
        failpoint.install(lambda name: None)
