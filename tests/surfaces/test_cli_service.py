"""``narthex service``: shown before it is written, written whole, and plain words where there is no systemd."""

from __future__ import annotations

import configparser
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli import _systemd
from api.cli._visible import visible
from pipelines.model.errors import NotFound
from pipelines.model.values import Home
from tests.house.source_tree import ROOT
from tests.surfaces.cli_rig import Commands, Person, short_home

MANAGER = """#!/bin/sh
echo "$0 $*" | sed "s|.*/||" >> "$LOG"
case "$*" in
*"--property=ActiveState"*) printf 'ActiveState=%s\\nSubState=x\\nStatusText=serving\\nResult=success\\n' "$ACTIVE" ;;
*journalctl*) ;;
esac
[ -z "$SAID" ] || { echo "$SAID" >&2; exit 1; }
"""
JOURNAL = """#!/bin/sh
echo "$0 $*" | sed "s|.*/||" >> "$LOG"
printf 'a line\\nwith \\033[31mcolour\\n'
"""


@pytest.fixture
def near() -> Iterator[Home]:
    with short_home() as home:
        yield home


@pytest.fixture
def narthex(tmp_path: Path, near: Home) -> Commands:
    """A user with a stand-in for systemd, which is no part of narthex but of what it runs on."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("systemctl", MANAGER), ("journalctl", JOURNAL)):
        (programs / name).write_text(text, "utf-8")
        (programs / name).chmod(0o755)
    variables = {
        "NARTHEX_HOME": str(near.root),
        "PATH": f"{programs}:/usr/bin:/bin",
        "LOG": str(tmp_path / "asked"),
        "ACTIVE": "active",
    }
    return Commands(tmp_path, variables=variables)


def asked(narthex: Commands) -> list[str]:
    """What the manager was asked, in order."""
    log = Path(narthex.variables["LOG"])
    return log.read_text("utf-8").splitlines() if log.exists() else []


def unit_of(narthex: Commands, name: str = "narthexd") -> Path:
    """Where systemd looks for the units of a user."""
    return narthex.folder / "config" / "systemd" / "user" / f"{name}.service"


def settings(unit: str) -> configparser.SectionProxy:
    """The section Service; a key that stands twice shows its last line."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[method-assign, assignment]
    parser.read_string(unit)
    return parser["Service"]


def test_it_is_shown_and_then_written_and_enabled(narthex: Commands, near: Home) -> None:  # F-073
    narthex.person = Person(["y"])
    ran = narthex("service", "install")
    assert ran.status == 0, ran.notes
    text = unit_of(narthex).read_text("utf-8")
    assert text in "".join(narthex.person.seen)
    assert f"write {unit_of(narthex)}" in "".join(narthex.person.seen)
    service = settings(text)
    assert service["ExecStart"].endswith("/narthexd")
    assert service["ExecStart"].startswith("/")
    assert service["Environment"] == f"NARTHEX_HOME={near.root}"
    assert service["ReadWritePaths"] == str(near.root)
    assert asked(narthex) == [
        "systemctl --user show --property=Version",
        "systemctl --user daemon-reload",
        "systemctl --user enable narthexd.service",
    ]
    assert "narthex service start" in ran.notes
    again = narthex("service", "install")  # the same once more asks nothing
    assert (again.status, unit_of(narthex).read_text("utf-8")) == (0, text)


def test_nothing_is_written_without_a_yes(narthex: Commands) -> None:
    narthex.person = Person(["n"])
    assert narthex("service", "install").status == 1
    narthex.person = Person(present=False)
    ran = narthex("service", "install")
    assert ran.status == 2
    assert "--yes" in ran.notes
    assert not unit_of(narthex).exists()
    assert narthex("service", "install", "--yes").status == 0
    assert unit_of(narthex).exists()


def test_a_second_home_gets_a_unit_of_its_own(narthex: Commands) -> None:
    assert narthex("service", "install", "--yes").status == 0
    before = unit_of(narthex).read_text("utf-8")
    with short_home() as other:
        ran = narthex("--home", str(other.root), "service", "install", "--yes")
        assert ran.status == 5
        assert "--unit" in ran.notes
        assert narthex("--home", str(other.root), "service", "install", "--yes", "--unit", "narthexd-work").status == 0
        assert str(other.root) in unit_of(narthex, "narthexd-work").read_text("utf-8")
    assert unit_of(narthex).read_text("utf-8") == before
    for name in ("../x", "a b", "", "-x"):
        assert narthex("service", "status", f"--unit={name}").status == 2


def test_without_a_home_there_is_nothing_to_run(narthex: Commands, tmp_path: Path) -> None:
    ran = narthex("--home", str(tmp_path / "nowhere"), "service", "install", "--yes")
    assert ran.status == 3
    assert "narthex init" in ran.notes


def test_without_systemd_the_next_step_is_said(narthex: Commands, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    said = "Failed to connect to bus: No medium found"
    for variables in (
        {"PATH": str(empty)},
        {"SAID": said},
        {"SAID": "System has not been booted with systemd as init"},
    ):
        without = Commands(tmp_path, variables={**narthex.variables, **variables})
        ran = without("service", "install", "--yes")
        assert ran.status == 6
        assert "There is no systemd" in ran.notes
        assert "run it by hand: /" in ran.notes
        assert not unit_of(narthex).exists()


def test_what_systemd_refuses_is_passed_on(narthex: Commands) -> None:
    assert narthex("service", "install", "--yes").status == 0
    narthex.variables["SAID"] = "Job for narthexd.service failed."
    ran = narthex("service", "start")
    assert ran.status == 6
    assert "Job for narthexd.service failed." in ran.notes
    assert "narthex service logs" in ran.notes


def test_start_stop_restart_and_status(narthex: Commands) -> None:
    assert narthex("service", "status").status == 3  # nothing is installed
    assert narthex("service", "install", "--yes").status == 0
    for action in ("start", "stop", "restart"):
        assert narthex("service", action).status == 0
        assert f"systemctl --user {action} narthexd.service" in asked(narthex)
    ran = narthex("service", "--json")
    assert (ran.status, ran.document["running"], ran.document["StatusText"]) == (0, True, "serving")
    narthex.variables["ACTIVE"] = "inactive"
    ran = narthex("service", "status")
    assert (ran.status, ran.output.split()[:2]) == (1, ["narthexd", "inactive"])


def test_logs_are_shown_and_drive_no_terminal(narthex: Commands) -> None:
    assert narthex("service", "install", "--yes").status == 0
    ran = narthex("service", "logs", "-n", "7")
    assert ran.output.splitlines() == ["a line", f"with {visible(chr(27))}[31mcolour"]
    assert asked(narthex)[-1] == "journalctl --user --unit=narthexd --lines=7 --no-pager"
    assert narthex("service", "logs", "--follow").status == 0
    assert asked(narthex)[-1].endswith("--follow")
    assert narthex("service", "logs", "--json").document["lines"] == ["a line", "with \x1b[31mcolour"]
    assert narthex("service", "logs", "--json", "--follow").status == 2


def test_uninstall_takes_the_unit_and_nothing_else(narthex: Commands, near: Home) -> None:
    assert narthex("service", "install", "--yes").status == 0
    narthex.person = Person(["n"])
    assert narthex("service", "uninstall").status == 1
    narthex.person = Person(present=False)
    assert narthex("service", "uninstall").status == 2
    assert unit_of(narthex).exists()
    assert narthex("service", "uninstall", "--yes").status == 0
    assert not unit_of(narthex).exists()
    assert near.settings.exists()
    assert asked(narthex)[-2:] == [
        "systemctl --user disable --now narthexd.service",
        "systemctl --user daemon-reload",
    ]


@pytest.mark.parametrize("name", ["plain", "with space", "100%", 'a"b', "back\\slash", "$HOME", "é", "a;b", "#x"])
def test_any_path_is_quoted_as_systemd_reads_it(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path / name)
    unit = _systemd.filled(_systemd.template(), home, tmp_path / name / "narthexd", home.state / "narthexd.sock")
    service = settings(unit)
    assert _read_back(service["Environment"]) == [f"NARTHEX_HOME={home.root}"]
    assert _read_back(service["ReadWritePaths"]) == [str(home.root)]
    assert _read_back(service["ExecStart"].replace("$$", "$")) == [str(tmp_path / name / "narthexd")]


def _read_back(value: str) -> list[str]:
    return [word.replace("%%", "%") for word in shlex.split(value)]


def test_a_socket_elsewhere_may_be_written_too(tmp_path: Path) -> None:
    unit = _systemd.filled(_systemd.template(), Home(tmp_path), Path("/x/narthexd"), Path("/run/user/7/n.sock"))
    assert settings(unit)["ReadWritePaths"] == f"{tmp_path} /run/user/7"
    with pytest.raises(NotFound):
        _systemd.filled(_systemd.template(), Home(tmp_path / "a\nb"), Path("/x"), Path("/y"))


def test_the_unit_is_the_published_one() -> None:
    assert _systemd.template() == (ROOT / "systemd" / "narthexd.service").read_text("utf-8")
