"""Moves that overwrite nothing, with and without the kernel's help."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from daemon.drop import filing
from daemon.drop.filing import FilingCabinet, Note, put_in_place, rename_new


class OldKernel:
    """A C library on a file system that does not know the call."""

    def renameat2(self, *arguments: object) -> int:
        """Refuses."""
        ctypes.set_errno(errno.EINVAL)
        return -1


@pytest.fixture(params=["with", "without"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """An open folder, with and without the call."""
    if request.param == "without":
        monkeypatch.setattr(filing, "_libc", OldKernel())
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def test_a_rename_refuses_a_taken_name(folder: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a", "utf-8")
    (tmp_path / "b").write_text("b", "utf-8")
    with pytest.raises(FileExistsError):
        rename_new(folder, "a", folder, "b")
    rename_new(folder, "a", folder, "c")
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == {"b": "b", "c": "a"}


def test_many_threads_file_one_name_and_lose_nothing(folder: int, tmp_path: Path) -> None:  # S-051
    cabinet = FilingCabinet(tmp_path)
    for number in range(40):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "a.txt").write_text(f"{number}", "utf-8")

    def file(number: int) -> str:
        source = os.open(tmp_path / str(number), os.O_RDONLY)
        try:
            return cabinet.file_away(source, "a.txt", "_failed", Note(".why.txt", f"because {number}"))
        finally:
            os.close(source)

    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(file, range(40)))
    assert len(set(places)) == 40
    for number, place in enumerate(places):
        assert (tmp_path / place).read_text("utf-8") == f"{number}"
        assert (tmp_path / f"{place}.why.txt").read_text("utf-8") == f"narthex: because {number}\n"


def test_a_move_that_fails_leaves_no_note(folder: int, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FilingCabinet(tmp_path).file_away(folder, "gone.txt", "_failed", Note(".why.txt", "x"))
    assert list((tmp_path / "_failed").iterdir()) == []


def test_what_was_in_the_place_is_kept_where_the_kernel_can(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("new", "utf-8")
    assert put_in_place(tmp_path, "new", "page") is None
    (tmp_path / "new").write_text("newer", "utf-8")
    assert put_in_place(tmp_path, "new", "page") == "new"
    assert ((tmp_path / "page").read_text("utf-8"), (tmp_path / "new").read_text("utf-8")) == ("newer", "new")
