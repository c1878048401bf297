"""One daemon a home; everything it makes belongs to the user alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from daemon.single_instance import Occupied, lock_file, make_home, take_lock
from pipelines.model.errors import Invalid
from pipelines.model.values import Home


def mode(path: Path) -> int:
    """Permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_second_daemon_is_refused_and_told_who_has_it(home: Home) -> None:  # S-068
    lock = take_lock(home)
    with pytest.raises(Occupied, match=str(os.getpid())) as caught:
        take_lock(home)
    assert caught.value.exit_code == 75
    lock.release()
    take_lock(home).release()


def test_a_stale_lock_file_is_no_lock(home: Home) -> None:  # S-068: stale pid
    lock_file(home).write_text("1\n", "utf-8")
    lock = take_lock(home)
    assert lock_file(home).read_text("utf-8") == f"{os.getpid()}\n"
    lock.release()


def test_what_is_made_is_private(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    assert make_home(home)
    assert not make_home(home)  # the second time it was there
    for folder in (home.root, home.drop, home.vault, home.state, home.originals):
        assert mode(folder) == 0o700
    take_lock(home).release()
    assert mode(lock_file(home)) == 0o600


def test_a_mistyped_path_makes_no_tree(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="there is no folder") as caught:
        make_home(Home(tmp_path / "nope" / "a" / "b"))
    assert caught.value.exit_code == 2
    assert not list(tmp_path.iterdir())


def _ready(home: Home) -> None:
    make_home(home)
    take_lock(home)


def test_what_the_system_refuses_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "gone" / "away")
    (tmp_path / "odd" / "state").mkdir(parents=True)
    (tmp_path / "odd" / "state" / "narthexd.lock").symlink_to(tmp_path / "file")
    for root in (Path("/proc/x"), tmp_path / "file", tmp_path / "link", tmp_path / "odd", tmp_path / ("x" * 300)):
        with pytest.raises(Invalid, match=f"{root.name[:200]}.* cannot be the home: ") as caught:
            _ready(Home(root))
        assert "--home" in caught.value.hint
    assert (tmp_path / "file").read_text() == "mine"


def test_others_are_shut_out_of_the_state_and_the_rest_is_left_as_it_is(home: Home) -> None:
    home.state.chmod(0o755)
    home.vault.chmod(0o755)
    make_home(home)
    assert (mode(home.state), mode(home.vault)) == (0o700, 0o755)
