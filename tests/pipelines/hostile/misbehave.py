"""A stand-in for a hostile parser: the original's words say what it tries; what it answers says what it achieved."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from pipelines.extractors import Extractor
from pipelines.model.values import Extracted


def _read(file: BinaryIO, name: str) -> Extracted:
    word, _, argument = file.read().decode().strip().partition(" ")
    deeds: dict[str, Callable[[str], str]] = {
        "hang": _hang,
        "swell": _swell,
        "crash": _crash,
        "leave": _leave,
        "raise": _raise,
        "flood": _flood,
        "forge": _forge,
        "look": _look,
    }
    return Extracted(deeds[word](argument) if word in deeds else f"read {word}")


def _hang(argument: str) -> str:
    while True:
        pass


def _swell(argument: str) -> str:
    return "x" * (4 * 2**30)


def _crash(argument: str) -> str:
    ctypes.string_at(0)
    return ""


def _leave(argument: str) -> str:
    os._exit(3)


def _raise(argument: str) -> str:
    raise ZeroDivisionError("a fault of the parser")


def _flood(argument: str) -> str:
    return "much " * int(argument)


def _forge(argument: str) -> str:
    """Tries to stay alive, and to answer in the supervisor's and the next task's place."""
    forged = json.dumps({"status": 0, "signal": None}).encode()
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, forged)
        except OSError:
            continue
    _attempt(lambda: str(os.fork()))
    return "forged"


def _look(argument: str) -> str:
    """Everything of security case 58; ``argument`` is a port that listens on this machine."""
    deeds = {
        "uid": lambda: str(os.getuid()),
        "environment": lambda: ",".join(sorted(os.environ)),
        "read": lambda: Path("/etc/passwd").read_text("utf-8")[:10],
        "list": lambda: ",".join(os.listdir("/")),  # noqa: PTH208 -- what an attacker would write
        "write": _write,
        "connect": lambda: str(socket.create_connection(("127.0.0.1", int(argument)), 2)),
        "datagram": lambda: str(socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 53))),
        "second socket call": _socket_of_x32,
        "fork": lambda: str(os.fork()),
        "kill": lambda: _kill(os.getppid()),
        "environment of the parent": lambda: Path(f"/proc/{os.getppid()}/environ").read_text("utf-8")[:10],
        "memory of the parent": lambda: str(os.open(f"/proc/{os.getppid()}/mem", os.O_RDONLY)),
    }
    return json.dumps({deed: _attempt(attempt) for deed, attempt in deeds.items()})


def _socket_of_x32() -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(0x40000000 | 41, 2, 1, 0)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return str(descriptor)


def _write() -> str:
    with tempfile.NamedTemporaryFile(dir="/tmp") as file:
        return f"wrote {file.name}"


def _kill(process: int) -> str:
    os.kill(process, signal.SIGTERM)
    return "killed"


def _attempt(attempt: Callable[[], str]) -> str:
    try:
        return "did: " + attempt()
    except OSError as refused:
        return f"refused: {refused.strerror}"


MISBEHAVE = Extractor(media_types=("text/*",), needs=(), version="1", read=_read, sample=b"well")
