"""Runs every extraction in a child process that can be killed; a crash or a bomb costs one item, never the daemon.

Imports no parser and interprets no original: what comes back is checked like anything from outside.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path
from typing import IO, Final

from pipelines.isolation import wire
from pipelines.isolation.limits import Limits
from pipelines.model.errors import Transient, Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Extraction

__all__ = ["ExtractionPool", "Limits"]

_START_SECONDS: Final = 60.0  # a loaded machine that imports everything from a cold disk
_GRACE_SECONDS: Final = 5.0
_CHUNK: Final = 256 * 1024
_CHILD: Final = "pipelines.isolation.child"
_SIGNALS: Final = {signal.SIGXCPU: "used up its processor time", signal.SIGKILL: "was killed by its limits"}


class ExtractionPool:
    """Up to ``workers`` extractions at once, in children that start at need and go when idle; safe to share by threads.

    ``package`` names the family of extractors that the children load.
    """

    def __init__(self, limits: Limits, workers: int = 1, package: str = "pipelines.extractors") -> None:
        self._limits = limits
        self._children = [_Child(limits, package) for _ in range(workers)]
        self._free: queue.LifoQueue[_Child] = queue.LifoQueue()
        for child in self._children:
            self._free.put(child)
        self._closed = False

    def extract(self, path: Path, name: str) -> Extraction:
        """Reads the original at ``path``; ``name`` is what a person calls it. Blocks, at most a little over the limit.

        Raises ``Unreadable`` with a quarantine reason for whatever is wrong with the content, limits included, and
        ``Transient`` when the original or a child could not be had.
        """
        try:
            original = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise Transient(f"the original cannot be opened: {error.strerror}") from error
        try:
            if os.fstat(original).st_size == 0:
                raise Unreadable("the file is empty", reason=QuarantineReason.EMPTY)
            child = self._free.get()
            try:
                return self._run(child, original, name)
            finally:
                self._free.put(child)
        finally:
            os.close(original)

    def _run(self, child: _Child, original: int, name: str) -> Extraction:
        for _ in range(2):  # a child that went idle the moment before is no reason to fail
            if self._closed:
                break
            answer = child.run(original, name)
            if answer is not None:
                return wire.parse(_accepted(*answer, self._limits))
        raise Transient("no extraction child could be had")

    def health(self) -> str:
        """What confines the children, for the status page."""
        said = {child.confinement for child in self._children if child.confinement}
        bounds = f"{self._limits.address_space // 2**20} MiB, {self._limits.cpu_seconds} s"
        return f"{'; '.join(sorted(said)) or 'no child has run yet'} ({bounds})"

    def close(self) -> None:
        """Kills what runs; extractions under way raise ``Transient``."""
        self._closed = True
        for child in self._children:
            child.kill()


def _accepted(reply: bytes, end: wire.End, limits: Limits) -> bytes:
    """The reply of a task that ended well; raises ``Unreadable`` saying which limit or fault ended it otherwise."""
    if len(reply) > limits.output_bytes:
        limit = f"{limits.output_bytes / 2**20:.3g} MiB"
        raise Unreadable(f"it holds more text than the limit of {limit}", reason=QuarantineReason.TOO_LARGE)
    if end.status == 0:
        return reply
    if end.signal is None and end.status is None:
        raise Unreadable(f"reading it took longer than {limits.wall_seconds:g} seconds")
    if end.signal is not None:
        name = signal.Signals(end.signal).name
        raise Unreadable(f"the reader {_SIGNALS.get(signal.Signals(end.signal), f'crashed ({name})')}")
    raise Unreadable("the reader gave up")


class _Child:
    """One supervisor process and the way to talk to it; used by one thread at a time, ``kill`` by any."""

    def __init__(self, limits: Limits, package: str) -> None:
        self._limits = limits
        self._package = package
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self.confinement = ""

    def run(self, original: int, name: str) -> tuple[bytes, wire.End] | None:
        """Reply and end of one task; None when the child was gone before it took the task."""
        control = self._control if self._control is not None else self._start()
        ours, theirs = socket.socketpair()
        with ours:
            try:
                socket.send_fds(control, [wire.request(name)], [original, theirs.fileno()])
            except OSError:
                self.kill()
                return None
            finally:
                theirs.close()
            deadline = time.monotonic() + self._limits.wall_seconds + _GRACE_SECONDS
            try:
                reply = _receive(ours, deadline, self._limits.output_bytes)
                ours.close()  # a task that has more to say than we take would wait for us until its time is up
                return reply, self._end(control, deadline)
            except TimeoutError:
                self.kill()
                return b"", wire.End()
            except (OSError, ValueError):
                self.kill()
                return None

    def _end(self, control: socket.socket, deadline: float) -> wire.End:
        control.settimeout(max(0.01, deadline - time.monotonic()))
        message = control.recv(4096)
        if not message:
            raise ConnectionError("the child went away")
        return wire.End.from_json(message)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-P", "-m", _CHILD, str(theirs.fileno()), self._limits.to_json(), self._package]
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,  # until it is ready: later on a traceback would hold content
                cwd="/",
                env=_environment(),
                close_fds=True,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        threading.Thread(target=self._process.wait, name="extraction-child", daemon=True).start()
        ours.settimeout(_START_SECONDS)
        try:
            said = ours.recv(4096)
        except OSError:
            said = b""
        self._control = ours
        errors = self._process.stderr
        if not said:
            self.kill()
            raise Transient(f"the extraction child does not start: {_last_line(errors)}")
        if errors is not None:
            errors.close()
        self.confinement = "restricted: " + said.decode("utf-8", "replace") if said != b"-" else "not restricted"
        return ours

    def kill(self) -> None:
        """The supervisor and, with it, its task."""
        process, control = self._process, self._control
        self._process = self._control = None
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if control is not None:
            control.close()


def _last_line(errors: IO[bytes] | None) -> str:
    if errors is None:
        return ""
    with errors:
        lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else "it ended without a word"


def _receive(connection: socket.socket, deadline: float, most: int) -> bytes:
    """Everything until the task closes its end; stops just above ``most``."""
    chunks, size = [], 0
    while size <= most:
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        chunk = connection.recv(_CHUNK)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


def _environment() -> dict[str, str]:
    """Nothing of the daemon's, no secret, no home; hashes are the same every time, so that the text is."""
    root = str(Path(__file__).resolve().parents[1])
    own = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    return own if root == sysconfig.get_path("purelib") else {**own, "PYTHONPATH": root}
