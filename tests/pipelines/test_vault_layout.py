"""Names and paths of the vault: what may be created, what a path may reach."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.model.errors import Invalid, NotFound, Transient
from pipelines.vault.layout import (
    check_path,
    inside,
    is_note,
    name_key,
    name_taken,
    names_in,
    note_path,
    open_folder,
    temporary_name,
)

# machines under load are slow, which proves nothing
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _free(path: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Seeds", "Seeds.md"),
        ("CON", "CON_.md"),
        ("com¹.x", "com¹_.x.md"),
        ('a/b: c? "d"', "a b c d.md"),
        ("-rf", "rf.md"),
        ("x. ", "x.md"),
        ("..", "Untitled.md"),
        ("\x1b[31m\n", "31m.md"),
        ("", "Untitled.md"),
        (".git", "git.md"),
        ("e\u0301t\u00e9", "été.md"),
        ("漢字", "漢字.md"),
        ("abc\u202etxt.exe", "abctxt.exe.md"),
        ("می\u200cخواهم", "می\u200cخواهم.md"),
        ("[[x]]#y^z|w", "x y z w.md"),
        ("note.md", "note.md"),
    ],
)
def test_a_title_becomes_a_name_that_every_system_can_hold(title: str, name: str) -> None:
    # S-051, L-138, B-A05
    assert note_path("Notes", title, _free) == f"Notes/{name}"


@pytest.mark.parametrize("title", ["漢" * 120, "😀" * 90, "a" * 250, "e\u0301\u0323" * 100])
def test_a_long_title_is_cut_on_a_character(title: str) -> None:
    # B-W17: eCryptfs leaves 143 bytes; two titles with one beginning keep two names
    one, other = note_path("", title, _free), note_path("", title + "x", _free)
    assert len(one.encode()) <= 143
    assert one != other
    assert one.endswith(".md")


@patient
@given(st.text(), st.integers(1, 3))
def test_any_title_makes_a_path_that_may_be_written(title: str, twins: int) -> None:
    # L-137, S-051: unique even where case and Unicode form do not count
    paths: list[str] = []
    for _ in range(twins):
        path = note_path("Notes/2026", title, lambda other: name_key(other) in {name_key(path) for path in paths})
        check_path(path)
        assert unicodedata.is_normalized("NFC", path)
        assert len(temporary_name(path.rpartition("/")[2]).encode()) <= 143
        paths.append(path)
    assert len({name_key(path) for path in paths}) == twins


@pytest.mark.parametrize(
    "folder",
    [
        ".git",
        ".obsidian",
        "a/.cache",
        "..",
        "a/../b",
        "/etc",
        "CON",
        "a//b",
        "a ",
        "x" * 144,
        "nul.x",
        "a\nb",
        "e\u0301",
    ],
)
def test_notes_go_to_no_reserved_folder(folder: str) -> None:
    # L-140
    with pytest.raises(Invalid):
        note_path(folder, "x", _free)
    with pytest.raises(Invalid):
        check_path(f"{folder}/x.md")


@pytest.mark.parametrize("path", ["x", "x.txt", ".x.md", "a/.x.md.nx-tmp", "x" * 141 + ".md", ""])
def test_only_notes_are_written(path: str) -> None:
    with pytest.raises(Invalid):
        check_path(path)


def test_which_files_are_notes() -> None:
    for path in ("a.md", "A/b c.MD", "a.sync-conflict-20260101-120000-ABCDEFG.md", "Quoi\u00a0?.md"):
        assert is_note(path)
    for path in (".a.md.nx-tmp", ".obsidian/a.md", "a/.trash/b.md", "a.txt", "a\x1b.md", "\udcff.md", "/a.md"):
        assert not is_note(path)


def test_a_name_is_taken_in_any_case_and_form(home_vault: Path) -> None:
    # W13, S-051
    (home_vault / "Notes").mkdir()
    (home_vault / "Notes" / "E\u0301TE\u0301.md").touch()
    assert name_taken(home_vault, "Notes/ÉtÉ.md")
    assert name_taken(home_vault, "NOTES")
    assert not name_taken(home_vault, "Notes/other.md")
    assert not name_taken(home_vault, "Missing/other.md")
    assert note_path("Notes", "été", lambda path: name_taken(home_vault, path)) == "Notes/été 2.md"


def test_a_path_stays_below_the_vault(home_vault: Path, tmp_path: Path) -> None:
    # L-139, L-141: checked before anything is created
    outside = tmp_path / "outside"
    outside.mkdir()
    (home_vault / "link").symlink_to(outside)
    (home_vault / "file.md").symlink_to(outside / "x.md")
    for path in ("../x.md", "/x.md", "a/../../x.md", "link/x.md", "file.md", ".git/x.md", "a\0b.md", "x" * 300):
        with pytest.raises(Invalid):
            inside(home_vault, path)
    with pytest.raises(Invalid), open_folder(home_vault, "link/new", create=True):
        pass
    assert inside(home_vault, "a/b.md") == home_vault / "a" / "b.md"
    assert list(outside.iterdir()) == []
    assert sorted(entry.name for entry in home_vault.iterdir()) == ["file.md", "link"]


def test_a_decomposed_name_is_found_by_its_composed_path(home_vault: Path) -> None:
    # B-W13
    (home_vault / "Ide\u0301es").mkdir()
    (home_vault / "Ide\u0301es" / "e\u0301.md").write_text("x")
    assert inside(home_vault, "Idées/é.md").read_text() == "x"
    with open_folder(home_vault, "Idées") as fd:
        assert names_in(fd) == ["e\u0301.md"]


def test_a_missing_vault_is_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(Transient), open_folder(tmp_path / "unmounted", ""):
        pass
    with pytest.raises(NotFound), open_folder(tmp_path, "missing"):
        pass


@pytest.fixture
def home_vault(tmp_path: Path) -> Path:
    """An empty vault."""
    vault = tmp_path / "vault"
    vault.mkdir()
    return vault
