"""narthexd as a process on a home of its own: started, read, stopped, killed and started again by a test."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

from api.client import Client
from pipelines.model.values import Home
from tests.waiting import until

ROOT: Final = Path(__file__).resolve().parents[2]
_ADDRESS: Final = re.compile(r"Address\s+http://127\.0\.0\.1:(\d+)")
_CODE: Final = re.compile(r"One-time code\s+([0-9A-Z]{4}-[0-9A-Z]{4})")
_LINK: Final = re.compile(r"Review\s+(http://narthex\.localhost:\d+/login#code=\S+)")


class Narthexd:
    """One home and, most of the time, one process on it. Short settle times; any other setting by ``variables``."""

    entry: tuple[str, ...] = ("-m", "daemon.main")
    """What Python is told to run; the crash rig has an entry of its own."""

    def __init__(self, root: Path, variables: Mapping[str, str] | None = None) -> None:
        self.home = Home(root)
        self.port = 0
        self._config = root.with_name(root.name + "-config")
        self._variables = {"NARTHEX_SETTLE_SECONDS": "0.2", "NARTHEX_RESCAN_SECONDS": "1", **(variables or {})}
        self._process: subprocess.Popen[str] | None = None
        self._said: list[str] = []
        self._listeners: list[threading.Thread] = []

    def environment(self) -> dict[str, str]:
        """For the daemon and for commands that talk to it: this home, this user's files elsewhere."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NARTHEX_")}
        own = {"NARTHEX_HOME": str(self.home.root), "XDG_CONFIG_HOME": str(self._config), "PYTHONPATH": str(ROOT)}
        return {**kept, **own}

    def start(self, *arguments: str, wait: bool = True) -> Narthexd:
        """Starts the process and, with ``wait``, returns once it serves. After the first start the port stays."""
        command = [sys.executable, *self.entry, "--port", str(self.port), *arguments]
        environment = {**self.environment(), **self._variables}
        self._said.clear()
        self._listeners.clear()
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            self._listeners.append(threading.Thread(target=self._listen, args=(stream,), daemon=True))
            self._listeners[-1].start()
        if wait:
            until(lambda: _CODE.search(self.said()) or self._process_ended(), seconds=60)
            found = _ADDRESS.search(self.said())
            assert found is not None, self.said()
            self.port = int(found[1])
        return self

    def _listen(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._said.append(line)

    def _process_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def said(self) -> str:
        """Everything on its terminal since the last start."""
        return "".join(self._said)

    @property
    def code(self) -> str:
        """The one-time code that it printed last."""
        return str(_CODE.findall(self.said())[-1])

    @property
    def link(self) -> str:
        """The review link that it printed last."""
        return str(_LINK.findall(self.said())[-1])

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None
        return self._process.pid

    def stop(self, seconds: float = 30.0) -> int:
        """Asks it to end; answers the exit status."""
        return self.end(signal.SIGTERM, seconds)

    def kill(self) -> None:
        """As a power cut of the process: no clean-up runs."""
        self.end(signal.SIGKILL)

    def end(self, number: signal.Signals, seconds: float = 30.0) -> int:
        """Sends a signal and waits for the end."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(number)
        return self.wait(seconds)

    def wait(self, seconds: float = 30.0) -> int:
        """Waits until it ends by itself; answers the exit status."""
        assert self._process is not None
        status = self._process.wait(seconds)
        for listener in self._listeners:
            listener.join(5)
        return status

    def close(self) -> None:
        """Leaves nothing running."""
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def client(self, bearer: str = "") -> Client:
        """Talks to it as the command line does."""
        return Client(self.home, {**self.environment(), "NARTHEX_PORT": str(self.port)}, bearer)

    def owner(self) -> Client:
        """An owner session, opened with the one-time code that it printed."""
        answer = self.client().call("POST", "/v1/session", {"code": self.code, "client": "tests"})
        return self.client(str(answer["token"]))

    def narthex(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Runs the command line against this home."""
        command = [sys.executable, "-c", "from api.cli.main import main; raise SystemExit(main())", *arguments]
        environment = {**self.environment(), "NARTHEX_PORT": str(self.port)}
        return subprocess.run(
            command, cwd=ROOT, env=environment, input=text, text=True, capture_output=True, check=False, timeout=60
        )
