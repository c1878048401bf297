"""Several narthexes of one user: which one is meant, the registry, and the stored logins."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.cli._homes import Bearers, Homes, HomesRegistry, locate_home
from pipelines.model.errors import Invalid
from pipelines.model.values import Home
from tests.surfaces.cli_rig import Commands, tree

NAMES = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,39}", fullmatch=True)
PATHS = st.text(st.characters(codec="utf-8"), min_size=1).map(lambda text: f"/{text}")


@pytest.fixture
def narthex(tmp_path: Path) -> Commands:
    return Commands(tmp_path / "user")


def made_home(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "narthex.toml").touch()
    return folder


@settings(deadline=None)  # each example waits for the disk
@given(st.dictionaries(NAMES, PATHS, max_size=5))
def test_what_is_written_is_what_is_read(paths: dict[str, str]) -> None:
    homes = Homes(next(iter(paths), ""), paths)
    with TemporaryDirectory() as folder:
        registry = HomesRegistry(Path(folder))
        registry.change(lambda _: homes)
        assert registry.read() == homes
        tomllib.loads(registry.path.read_text())  # and anybody else can read it
        assert [path.name for path in Path(folder).iterdir()] == ["homes.toml"]


def test_the_registry_is_the_users_alone(narthex: Commands, tmp_path: Path) -> None:
    narthex("homes", "add", "a", str(made_home(tmp_path / "A")))
    assert stat.S_IMODE((narthex.config / "homes.toml").stat().st_mode) == 0o600
    assert stat.S_IMODE(narthex.config.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "content",
    [
        "current = 1\n",
        "[homes]\na = 1\n",
        "[homes]\na = 'relative'\n",
        "current = 'b'\n",
        "other = 1\n",
        "current =",
        "\x00",
    ],
)
def test_a_registry_that_is_not_ours_is_refused_and_left_alone(narthex: Commands, content: str) -> None:
    narthex.config.mkdir(parents=True)
    path = narthex.config / "homes.toml"
    path.write_text(content)
    for line in (("homes",), ("homes", "use", "a"), ("status",)):
        ran = narthex(*line)
        assert ran.status == 2
        assert str(path) in ran.notes
    assert path.read_text() == content


def test_add_use_rename_remove_touch_no_home(narthex: Commands, tmp_path: Path) -> None:
    first, second = made_home(tmp_path / "A"), made_home(tmp_path / "B")
    before = tree(first), tree(second)
    assert narthex("homes", "add", "a", str(first)).status == 0
    assert narthex("homes", "add", "b", str(second)).status == 0
    assert narthex("homes", "--json").document == {
        "current": "a",
        "items": [
            {"name": "a", "path": str(first), "current": True, "exists": True},
            {"name": "b", "path": str(second), "current": False, "exists": True},
        ],
    }
    assert narthex("homes", "use", "b").status == 0
    assert narthex("homes", "rename", "b", "work").status == 0
    assert narthex("homes", "-q").output == "a\nwork\n"
    assert narthex("homes", "--json").document["current"] == "work"
    assert narthex("homes", "remove", "work").status == 0
    assert narthex("homes", "--json").document["current"] is None
    assert (tree(first), tree(second)) == before


def test_names_and_folders_are_taken_once(narthex: Commands, tmp_path: Path) -> None:
    first, second = made_home(tmp_path / "A"), made_home(tmp_path / "B")
    narthex("homes", "add", "a", str(first))
    assert narthex("homes", "add", "a", str(second)).status == 5
    assert narthex("homes", "add", "c", str(first)).status == 5
    assert narthex("homes", "add", "A b", str(second)).status == 2
    assert narthex("homes", "add", "c", str(tmp_path / "none")).status == 3
    assert narthex("homes", "use", "c").status == 3
    assert narthex("homes", "add", "c").status == 2
    narthex("homes", "add", "b", str(second))
    assert narthex("homes", "rename", "a", "b").status == 5


def test_which_home_is_meant(tmp_path: Path) -> None:
    registry = HomesRegistry(tmp_path / "config")
    variables = {"HOME": str(tmp_path)}
    assert locate_home("", variables, registry).root == tmp_path / "Narthex"
    registry.change(lambda homes: homes.with_home("a", tmp_path / "A"))
    assert locate_home("", variables, registry).root == tmp_path / "A"
    variables["NARTHEX_HOME"] = str(tmp_path / "B")
    assert locate_home("", variables, registry).root == tmp_path / "B"
    assert locate_home("~/C", variables, registry).root == tmp_path / "C"


def test_a_path_that_no_file_can_spell_is_not_registered(tmp_path: Path) -> None:
    registry = HomesRegistry(tmp_path)
    with pytest.raises(Invalid, match="UTF-8"):
        registry.change(lambda homes: homes.with_home("a", Path("/\udcff")))
    assert not registry.path.exists()


def test_a_login_is_kept_for_one_home_and_readable_by_the_user_alone(tmp_path: Path) -> None:
    bearers = Bearers(tmp_path / "config")
    first, second = Home(tmp_path / "A"), Home(tmp_path / "B")
    path = bearers.store(first, "nxs_one")
    assert bearers.of(first) == "nxs_one"
    assert bearers.of(second) == ""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    bearers.forget(first)
    bearers.forget(first)
    assert bearers.of(first) == ""


def in_use(folder: Path) -> Path:
    """A narthex that has run."""
    for name in ("drop", "state"):
        (folder / name).mkdir(parents=True)
    return folder


def test_a_second_home_does_not_take_the_place_of_the_first(narthex: Commands, tmp_path: Path) -> None:
    first = in_use(narthex.folder / "Narthex")
    line = ("init", "--home", str(tmp_path / "Work"), "--yes")
    planned = narthex(*line, "--dry-run")
    assert f"name    narthex = {first}" in planned.notes
    assert "use     narthex when no home is said, as before; --use" in planned.notes
    made = narthex(*line, "--json")
    assert (made.document["name"], made.document["current"]) == ("work", "narthex")
    made = narthex("init", "--home", str(tmp_path / "W"), "--yes")
    assert "narthex stays the current one; narthex homes use w changes" in made.notes
    assert narthex("homes", "--json").document["current"] == "narthex"
    assert narthex("config", "path").output.strip() == str(first / "narthex.toml")
    assert narthex("init", "--home", str(tmp_path / "Third"), "--yes", "--use").status == 0
    assert narthex("homes", "--json").document["current"] == "third"


def test_naming_a_second_home_keeps_the_first_too(narthex: Commands, tmp_path: Path) -> None:
    in_use(narthex.folder / "Narthex")
    second = in_use(tmp_path / "Work")
    ran = narthex("homes", "add", "work", str(second))
    assert "narthex stays the current one" in ran.notes
    assert narthex("homes", "-q").output == "narthex\nwork\n"
    assert narthex("homes", "--json").document["current"] == "narthex"


def test_the_first_home_can_get_a_name_of_its_own(narthex: Commands) -> None:
    first = in_use(narthex.folder / "Narthex")
    assert narthex("homes", "add", "mine", str(first)).status == 0
    assert narthex("homes", "--json").document["current"] == "mine"
    assert narthex("homes", "-q").output == "mine\n"


def test_a_home_is_said_by_its_name_or_its_path(
    narthex: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = in_use(tmp_path / "Work")
    (tmp_path / "letters").mkdir()
    monkeypatch.chdir(tmp_path)
    narthex("homes", "add", "work", str(home))
    for said in ("work", str(home)):
        assert narthex("--home", said, "config", "path").output.strip() == str(home / "narthex.toml")
    assert narthex("--home", "letters", "config", "path").output.strip() == str(tmp_path / "letters" / "narthex.toml")
    assert narthex("--home", "wrok", "add", "x").status == narthex("--home", "wrok", "config", "path").status == 3
    assert narthex("--home", "wrok", "homes").status == 0  # the list of names is what helps here
    assert "no home 'wrok'; known: work" in narthex("--home", "wrok", "status").notes
    assert "next: narthexd --home work" in narthex("--home", "work", "status").notes
    narthex.variables["NARTHEX_HOME"] = "wrok"
    assert "no home 'wrok'; known: work" in narthex("status").notes
