"""Tells the service manager how the process is: ready, ending, alive. Says nothing to it where something hangs.

Sends datagrams and never waits: a manager that does not read is as good as none. Decides no health itself.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

_PINGS_IN_A_PERIOD: Final = 3  # one that is late or lost must not count as a death


class Notifier:
    """The manager that these variables name, if any; every call is harmless without one."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        address = variables.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._period = _watchdog_seconds(variables)
        self._stopped = threading.Event()

    def ready(self, status: str) -> None:
        """The process serves; ``status`` is for ``systemctl status``."""
        self._send("READY=1", f"STATUS={status}")

    def stopping(self) -> None:
        """The process was asked to end, or will; from now on the manager expects no sign of life."""
        self._stopped.set()
        self._send("STOPPING=1", "STATUS=finishing what is under way")

    def watch(self, ailing: Callable[[], str]) -> None:
        """Gives a sign of life several times a period, while ``ailing`` answers nothing (and answers at all).

        Its text says what is wrong. Where the manager asked for no such signs, nothing is started.
        """
        if self._period > 0:
            threading.Thread(target=self._ping, args=(ailing,), name="watchdog", daemon=True).start()

    def _ping(self, ailing: Callable[[], str]) -> None:
        said = ""
        while not self._stopped.is_set():
            problem = ailing()
            if not problem:
                self._send("WATCHDOG=1")
            if problem != said and not self._stopped.is_set():
                self._send(f"STATUS={problem or 'well again'}")
                said = problem
            self._stopped.wait(self._period / _PINGS_IN_A_PERIOD)

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as channel:
            channel.sendto("\n".join(lines).encode("utf-8", "replace"), self._address)


def _watchdog_seconds(variables: Mapping[str, str]) -> float:
    """0 where no signs are asked for, or another process is asked for them."""
    microseconds, pid = variables.get("WATCHDOG_USEC", ""), variables.get("WATCHDOG_PID", "")
    if not microseconds.isascii() or not microseconds.isdigit() or pid not in ("", str(os.getpid())):
        return 0.0
    return int(microseconds) / 1e6
