"""The unit agrees with the program: its name, its exit statuses, its signs of life; and systemd itself takes it."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from api.cli import _systemd
from daemon.listeners import GRACE_SECONDS
from daemon.single_instance import EXIT_OCCUPIED
from pipelines.model.errors import Broken, Invalid
from pipelines.model.values import Home
from tests.house.source_tree import ROOT

UNIT = ROOT / "systemd/narthexd.service"
HIGHEST_EXPOSURE = 2.0  # S-072


def service() -> configparser.SectionProxy:
    """The section Service; a key that stands twice shows its last line."""
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[method-assign, assignment]  # systemd's keys are case sensitive
    unit.read_string(UNIT.read_text("utf-8"))
    return unit["Service"]


def test_the_unit_restarts_what_a_restart_mends() -> None:
    useless = {int(status) for status in service()["RestartPreventExitStatus"].split()}
    assert useless == {EXIT_OCCUPIED, Invalid.exit_code}
    assert Broken.exit_code not in useless
    assert service()["Restart"] == "on-failure"
    assert service()["ExecStart"].endswith("/narthexd")
    assert service()["UMask"] == "0077"


def test_the_unit_waits_as_long_as_the_program_takes() -> None:
    assert service()["Type"] == "notify"
    assert service()["NotifyAccess"] == "main"
    assert int(service()["WatchdogSec"]) >= 30  # a large commit on a slow disk is no hang
    assert int(service()["TimeoutStopSec"]) > GRACE_SECONDS + 6  # and the worker's two waits


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_systemd_takes_the_unit_as_it_is_installed(tmp_path: Path) -> None:  # S-072
    program = tmp_path / "narthexd"
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    unit = tmp_path / "narthexd.service"
    unit.write_text(_systemd.filled(UNIT.read_text("utf-8"), Home(tmp_path), program, tmp_path / "n.sock"), "utf-8")
    verified = _analyze("verify", str(unit))
    assert verified.returncode == 0, verified.stderr
    assert "narthexd.service:" not in verified.stderr  # not a word about any line of it
    exposure = re.search(r"exposure level for narthexd\.service: ([0-9.]+)", _exposure(unit))
    assert exposure is not None
    assert float(exposure[1]) <= HIGHEST_EXPOSURE


def _exposure(unit: Path) -> str:
    found = _analyze("security", "--offline=true", str(unit))
    if "unrecognized option" in found.stderr:
        pytest.skip("this systemd judges only units that it runs")
    return found.stdout


def _analyze(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False, timeout=60)
