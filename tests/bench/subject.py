"""narthexd as a process with its defaults, its terminal in a file, and what the kernel says it uses."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from api.client import Client
from pipelines.model.values import Home
from tests.waiting import until

ROOT: Final = Path(__file__).resolve().parents[2]
_CODE: Final = re.compile(r"One-time code\s+([0-9A-Z]{4}-[0-9A-Z]{4})")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Subject:
    """One home and one process on it; end it with ``stop``. Settings are the defaults but for ``variables``."""

    def __init__(self, root: Path, variables: Mapping[str, str] | None = None) -> None:
        self.home = Home(root)
        self.port = _free_port()
        self._variables = dict(variables or {})
        self._said = root.with_name(root.name + ".said")
        self._process: subprocess.Popen[bytes] | None = None

    def environment(self) -> dict[str, str]:
        """For the daemon and for commands that talk to it."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NARTHEX_")}
        config = str(self.home.root.with_name("config"))
        own = {"NARTHEX_HOME": str(self.home.root), "NARTHEX_PORT": str(self.port), "XDG_CONFIG_HOME": config}
        return {**kept, **own, "PYTHONPATH": str(ROOT), **self._variables}

    def start(self) -> float:
        """The seconds from the start of the process to the first 200 of /readyz."""
        with self._said.open("wb") as said:
            began = time.perf_counter()
            self._process = subprocess.Popen(
                [*program("narthexd", "daemon.main"), "--port", str(self.port)],
                cwd=ROOT,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        while not self._ready():
            if self._process.poll() is not None or time.perf_counter() - began > 60:
                raise AssertionError(f"narthexd does not start: {self._said.read_text()}")
        return time.perf_counter() - began

    def _ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as door:
                lines = ("GET /readyz HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Connection: close", "", "")
                door.sendall("\r\n".join(lines).encode())
                return door.recv(64).startswith(b"HTTP/1.1 200 ")
        except OSError:
            os.sched_yield()
            return False

    def stop(self) -> None:
        """Asks it to end and waits."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def owner(self) -> str:
        """The bearer of a fresh owner session."""
        code = until(lambda: _CODE.findall(self._said.read_text()))[-1]
        client = Client(self.home, self.environment())
        return str(client.call("POST", "/v1/session", {"code": code, "client": "bench"})["token"])

    def client(self, bearer: str) -> Client:
        """Talks to it as the command line does."""
        return Client(self.home, self.environment(), bearer)

    def post_file(self, connection: http.client.HTTPConnection, bearer: str, name: str, content: bytes) -> str:
        """Captures one file; answers the id of its item."""
        mark = "narthexbench7d1f"
        head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
        body = head + content + f"\r\n--{mark}--\r\n".encode()
        kind = f"multipart/form-data; boundary={mark}"
        headers = {"Authorization": f"Bearer {bearer}", "Content-Type": kind}
        connection.request("POST", "/v1/captures/file", body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status in (200, 201), text
        return text.partition('"id":"')[2].partition('"')[0]

    def connect(self) -> http.client.HTTPConnection:
        """A connection over TCP that persists."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def tree(self) -> list[int]:
        """The process and all below it."""
        assert self._process is not None
        found = [self._process.pid]
        for pid in found:
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                found += [int(child) for child in children.read_text().split()]
        return found

    def memory_mb(self) -> tuple[float, float]:
        """Resident and proportional set sizes of the tree, in units of 10^6 bytes."""
        resident = proportional = 0
        for pid in self.tree():
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                resident += int(line.split()[1]) if line.startswith("Rss:") else 0
                proportional += int(line.split()[1]) if line.startswith("Pss:") else 0
        return resident * 1024 / 1e6, proportional * 1024 / 1e6

    def cpu_seconds(self) -> float:
        """User and system time of the tree so far, that of ended children included."""
        total = 0
        for pid in self.tree():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(ticks) for ticks in fields[11:15])
        return total / _TICKS


def program(script: str, module: str) -> list[str]:
    """The installed command beside this interpreter, else its module."""
    installed = Path(sys.executable).with_name(script)
    return [str(installed)] if installed.exists() else [sys.executable, "-m", module]


def copied(template: Path, place: Path) -> Path:
    """A home like the template, which no process has open."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(template, place, symlinks=True)
    return place


def _free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])
