"""The user manager of systemd and the unit that it is given: fills the unit in, calls systemctl and journalctl, and
says plainly where there is no such manager."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from api.cli._homes import config_folder
from pipelines.model.errors import Broken, NotFound, Transient
from pipelines.model.values import Home

_UNIT_FILE: Final = "narthexd.service"
_FILLED: Final = ("ExecStart", "Environment", "ReadWritePaths")
_SHOWN: Final = ("ActiveState", "SubState", "UnitFileState", "MainPID", "StatusText", "Result", "ExecMainStatus")
_NO_MANAGER: Final = re.compile(r"connect to (user scope )?bus|not been booted with systemd|No medium found", re.I)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./@+:=,-]+")


class NoServiceManager(Transient):
    """systemd, or the part of it that runs services of a user, is not here."""

    code = "no-service-manager"
    title = "There is no systemd for services of a user here"


def template() -> str:
    """The unit as it is published: beside this file in an installed narthex, in ``systemd/`` of the source tree."""
    here = Path(__file__)
    for place in (here.with_name(_UNIT_FILE), here.parents[2] / "systemd" / _UNIT_FILE):
        if place.is_file():
            return place.read_text("utf-8")
    raise Broken("this installation has no unit file", hint="Install narthex again.")


def program(variables: Mapping[str, str]) -> Path:
    """``narthexd`` of this very installation, else the first on the path. Raises ``NotFound``."""
    beside = Path(sys.executable).with_name("narthexd")
    if os.access(beside, os.X_OK):
        return beside
    found = shutil.which("narthexd", path=variables.get("PATH", os.defpath))
    if found is None:
        raise NotFound("the program narthexd is not installed here", hint="Install narthex with its programs.")
    return Path(found)


def filled(unit: str, home: Home, narthexd: Path, socket: Path) -> str:
    """The unit for this home and this program."""
    root = home.root.resolve()
    writable = [root] if socket.is_relative_to(root) else [root, socket.parent]
    values = {
        "ExecStart": _quoted(str(narthexd)).replace("$", "$$"),
        "Environment": _quoted(f"NARTHEX_HOME={root}"),
        "ReadWritePaths": " ".join(_quoted(str(path)) for path in writable),
    }
    lines = unit.splitlines()
    for key in _FILLED:
        (place,) = (number for number, line in enumerate(lines) if line.startswith(f"{key}="))
        lines[place] = f"{key}={values[key]}"
    return "\n".join(lines) + "\n"


def home_line(unit: str) -> str:
    """The line of a unit that says which home it runs; empty when it says none."""
    return next((line for line in unit.splitlines() if line.startswith("Environment=") and "NARTHEX_HOME" in line), "")


def _quoted(text: str) -> str:
    """As systemd reads it back: specifiers doubled, and in quotes where anything in it could end a word."""
    text = text.replace("%", "%%")
    if _PLAIN.fullmatch(text.replace("%", "")):
        return text
    if "\n" in text:
        raise NotFound("a path with a line break cannot stand in a unit", hint="Move the home.")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class UserManager:
    """One unit of the user's systemd. Every call raises ``NoServiceManager`` where there is none."""

    def __init__(self, variables: Mapping[str, str], unit: str) -> None:
        self._variables = variables
        self.unit = unit
        self.path = config_folder(variables).parent / "systemd" / "user" / f"{unit}.service"

    def verb(self, action: str) -> str:
        """The command line for a next step with this unit."""
        return f"narthex service {action}" + ("" if self.unit == "narthexd" else f" --unit {self.unit}")

    def enabling(self) -> Sequence[tuple[str, ...]]:
        """What is asked of the manager after the unit was written."""
        return (("daemon-reload",), ("enable", f"{self.unit}.service"))

    def check(self) -> None:
        """Raises ``NoServiceManager``."""
        self.do("show", "--property=Version")

    def do(self, *words: str) -> str:
        """Runs ``systemctl --user``; its standard output. Raises ``Transient`` with what it said when it fails."""
        import subprocess

        done = subprocess.run(
            [self._found("systemctl"), "--user", *words],
            env=dict(self._variables),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        said = done.stderr.strip()
        if done.returncode and _NO_MANAGER.search(said):
            raise self._absent(said.splitlines()[0])
        if done.returncode:
            raise Transient(f"systemctl {words[0]}: {said or f'exit status {done.returncode}'}", hint=self.verb("logs"))
        return done.stdout

    def properties(self) -> dict[str, str]:
        """What the manager says of the unit."""
        said = self.do("show", f"{self.unit}.service", f"--property={','.join(_SHOWN)}")
        return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)

    def journal(self, lines: int, *, follow: bool) -> Iterator[str]:
        """What narthexd printed and logged."""
        import subprocess

        command = [self._found("journalctl"), "--user", f"--unit={self.unit}", f"--lines={lines}", "--no-pager"]
        with subprocess.Popen(
            [*command, "--follow"] if follow else command,
            env=dict(self._variables),
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        ) as running:
            assert running.stdout is not None
            try:
                for line in running.stdout:
                    yield line.rstrip("\n")
            finally:
                running.terminate()

    def _found(self, name: str) -> str:
        found = shutil.which(name, path=self._variables.get("PATH", os.defpath))
        if found is None:
            raise self._absent(f"there is no {name}")
        return found

    def _absent(self, why: str) -> NoServiceManager:
        by_hand = program(self._variables)
        return NoServiceManager(why, hint=f"run it by hand: {by_hand}")
