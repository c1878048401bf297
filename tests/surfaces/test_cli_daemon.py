"""The command line and a real daemon: queued, proposed, approved at a real terminal, found; or refused."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.model.values import Home
from tests.house.source_tree import ROOT
from tests.surfaces.cli_rig import Commands, short_home
from tests.waiting import until

CODE = re.compile(r"\b[0-9A-Z]{4}-[0-9A-Z]{4}\b")
# the terminal and everything behind it are real; the parents are not, since a test may be run by anybody
AT_THE_TERMINAL = """
import dataclasses, sys
import api.cli.main as main
from tests.surfaces.cli_rig import Parents
ask = main.run
main.run = lambda argv, around: ask(argv, dataclasses.replace(around, processes=Parents()))
sys.exit(main.main(sys.argv[1:]))
"""


@dataclass
class Running:
    """A daemon of its own, and a user who is logged in to it."""

    home: Home
    narthex: Commands
    log: Path

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a program of this user."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.narthex.folder),
            "XDG_CONFIG_HOME": str(self.narthex.folder / "config"),
            "XDG_CACHE_HOME": str(self.narthex.folder / "cache"),
            "NARTHEX_HOME": str(self.home.root),
            "TERM": "xterm",
        }

    def ids(self, *line: str) -> list[str]:
        """What ``-q`` prints."""
        ran = self.narthex(*line, "-q")
        assert ran.status == 0, ran.notes
        return ran.output.split()

    def newest_code(self) -> str:
        """The one-time code that the daemon printed last."""
        codes = CODE.findall(self.log.read_text())
        return str(codes[-1]) if codes else ""


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with short_home() as near:
        home = Home(near.root.parent / "Narthex")
        narthex = Commands(near.root.parent / "user", variables={"NARTHEX_HOME": str(home.root)})
        narthex.folder.mkdir()
        assert narthex("init", "--yes", "--profile-name", "Ada").status == 0
        home.settings.write_text("port = 0\nsettle_seconds = 0.1\n")
        assert narthex("add", "Seeds keep longest when they lie cold and dry.", "-t", "garden").status == 0
        running = Running(home, narthex, near.root.parent / "log")
        with running.log.open("wb") as log:
            program = [sys.executable, "-m", "daemon.main"]
            daemon = subprocess.Popen(program, cwd=ROOT, env=running.variables, stdout=log, stderr=log)
        try:
            until(running.newest_code, 60)
            assert narthex("login", running.newest_code()).status == 0
            yield running
        finally:
            daemon.terminate()
            assert daemon.wait(30) == 0, running.log.read_text()


@dataclass
class Ended:
    """How a command at the terminal ended: its exit status, what was on the screen, and its standard output."""

    status: int
    screen: str
    output: str


def at_the_terminal(running: Running, *line: str, typed: str, early: str = "") -> Ended:
    """Runs a command with a terminal of its own; types ``early`` before it asks anything, ``typed`` when it asks."""
    ours, theirs = pty.openpty()
    os.write(ours, early.encode())
    program = [sys.executable, "-c", AT_THE_TERMINAL, *line]
    with subprocess.Popen(
        program,
        cwd=ROOT,
        env=running.variables,
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as command:
        screen = b""

        def asked() -> bool:
            nonlocal screen
            if select.select([ours], [], [], 0)[0]:
                screen += os.read(ours, 65536)
            return b"[y/N]" in screen or b"Code:" in screen or command.poll() is not None

        until(asked, 60)
        os.write(ours, f"{typed}\n".encode())
        output = command.stdout.read() if command.stdout else b""
        status = command.wait(60)
    while select.select([ours], [], [], 0)[0]:
        screen += os.read(ours, 65536)
    os.close(theirs)
    os.close(ours)
    return Ended(status, screen.decode(), output.decode())


def test_what_was_queued_is_approved_at_a_terminal_and_found(running: Running) -> None:  # F-001
    until(lambda: len(running.ids("proposals")) >= 2, 60)
    assert not list((running.home.drop / ".queue").glob("*.json"))
    running.narthex("proposals")
    titles = running.narthex("proposals", "--json").document["items"]
    assert isinstance(titles, list)
    seeds = next(one for one in titles if "Seeds" in one["after"])
    assert not running.ids("search", "seeds")
    ended = at_the_terminal(running, "approve", seeds["id"], typed="y")
    assert ended.status == 0, ended.screen
    for line in seeds["after"].splitlines():
        assert f"  | {line}" in ended.screen
    memory, path = ended.output.split(maxsplit=3)[2:4]
    assert until(lambda: (running.home.vault / path.strip()).read_text()) == seeds["after"]
    assert running.ids("search", "seeds") == [memory]
    assert running.narthex("search", "seeds", "--fail-empty").status == 0
    again = at_the_terminal(running, "approve", seeds["id"], typed="y")
    assert again.status == 5  # approving twice makes one memory
    shown = running.narthex("show", memory[-6:])
    assert "| # " in shown.output or "Seeds keep" in shown.output
    assert running.narthex("show", memory, "--history").status == 0
    decision = running.narthex("show", memory, "--json").document["decision_id"]
    assert running.narthex("show", str(decision), "--json").document["proposal_id"] == seeds["id"]


def test_what_was_typed_before_the_question_is_no_answer(running: Running) -> None:
    until(lambda: running.ids("proposals"), 60)
    identifier = running.ids("proposals")[0]
    ended = at_the_terminal(running, "approve", identifier, early="y\ny\n", typed="n")
    assert ended.status == 1
    assert identifier in running.ids("proposals")


def test_an_agents_mark_in_the_real_process_tree_is_refused_and_recorded(running: Running) -> None:
    identifier = until(lambda: running.ids("proposals"), 60)[0]
    before = running.narthex("status", "--json").document["chain"]
    program = [
        sys.executable,
        "-c",
        "import sys; from api.cli.main import main; sys.exit(main())",
        "approve",
        identifier,
    ]
    ours, theirs = pty.openpty()
    marked = {**running.variables, "CLAUDECODE": "1"}
    done = subprocess.run(
        program,
        cwd=ROOT,
        env=marked,
        stdin=theirs,
        capture_output=True,
        text=True,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 4
    assert "the attempt is recorded" in done.stderr
    after = running.narthex("status", "--json").document["chain"]
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert after["seq"] > before["seq"]
    assert identifier in running.ids("proposals")


def test_rejecting_at_a_terminal_says_why(running: Running) -> None:
    item = running.ids("add", "The moon is made of cheese, somebody said.", "--wait")[0]
    identifier = until(lambda: running.ids("proposals", "--item", item), 60)[0]
    ended = at_the_terminal(running, "reject", identifier, "-m", "no", "--reason", "wrong", "--json", typed="yes")
    assert ended.status == 0, ended.screen
    assert '"reason_code": "wrong"' in ended.output
    assert not running.ids("proposals", "--item", item)


def test_a_login_at_a_terminal_asks_for_the_code_that_the_daemon_prints(running: Running) -> None:
    ended = at_the_terminal(running, "login", typed="NOTHEONE")
    assert ended.status == 4
    old = running.newest_code()
    assert running.narthex("login", old).status == 0
    assert running.narthex("login", old).status == 4  # a code works once


def test_a_token_captures_and_cannot_decide(running: Running) -> None:
    secret = running.narthex("token", "new", "pocket", "--can", "capture", "--expires", "9d", "-q").output.strip()
    assert secret.startswith("nx_")
    assert running.narthex("add", "from my pocket", "--token", secret).status == 0
    assert running.narthex("proposals", "--token", secret).status == 4
    assert running.narthex("token", "revoke", "1", "--json").status == 2  # there was no list yet
    assert len(running.ids("token")) == 1
    assert running.narthex("token", "revoke", "1").status == 0
    assert running.narthex("add", "from my pocket", "--token", secret).status == 4


def test_what_gets_stuck_is_released_and_discarded(running: Running, tmp_path: Path) -> None:
    path = tmp_path / "strange.bin"
    path.write_bytes(bytes(range(256)) * 20)
    ran = running.narthex("add", str(path), "--wait", "--json")
    assert ran.status == 4
    (item,) = running.ids("inbox", "--state", "quarantined")
    assert "strange.bin" in running.narthex("inbox").output
    assert running.narthex("inbox", "release", item).status == 0
    until(lambda: running.ids("inbox", "--state", "quarantined"), 60)
    assert running.narthex("inbox", "discard", item[-5:], "--yes").output.split()[:2] == [item, "discarded"]
    assert running.narthex("inbox", "release", item).status == 5


def test_every_answer_is_a_screen_and_a_document(running: Running) -> None:
    item = running.ids("add", "An answer has two shapes, they say.", "--wait")[0]
    lines = [
        ("status",), ("inbox",), ("inbox", "list", "--state", "proposed"), ("inbox", "show", item), ("show", item),
        ("show", item, "--text"), ("proposals",), ("proposals", "--state", "rejected"), ("search", "nothing"),
        ("token",), ("config",), ("config", "check"), ("config", "path"), ("open",), ("homes",),
    ]  # fmt: skip
    for line in lines:
        ran = running.narthex(*line)
        assert ran.status == 0, ran.notes
        assert running.narthex(*line, "--json").document
        assert running.narthex(*line, "-q").status == 0
    assert running.narthex("open").output.startswith("http://narthex.localhost:")
    running.home.settings.write_text(running.home.settings.read_text() + "prot = 1\n")
    assert "prot" in running.narthex("config", "check").output
