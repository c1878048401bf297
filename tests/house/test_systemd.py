"""The unit agrees with the program: its name, and the exit statuses after which starting again is no use."""

from __future__ import annotations

import configparser

from daemon.single_instance import EXIT_OCCUPIED
from pipelines.model.errors import Broken, Invalid
from tests.house.source_tree import ROOT


def test_the_unit_restarts_what_a_restart_mends() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[method-assign, assignment]  # systemd's keys are case sensitive
    unit.read_string((ROOT / "systemd/narthexd.service").read_text("utf-8"))
    service = unit["Service"]
    useless = {int(status) for status in service["RestartPreventExitStatus"].split()}
    assert useless == {EXIT_OCCUPIED, Invalid.exit_code}
    assert Broken.exit_code not in useless
    assert service["Restart"] == "on-failure"
    assert service["ExecStart"].endswith("/narthexd")
    assert service["UMask"] == "0077"
