"""What the surfaces ask of the process they run in; the daemon implements it, the API never imports the daemon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from pipelines.model.errors import Broken


class Listener(StrEnum):
    """Which door a connection came through. The daemon puts it into each ASGI scope under ``state.listener``."""

    TCP = "tcp"
    SOCKET = "socket"


LISTENER_KEY: Final = "listener"
"""Key in ``scope["state"]``; a scope without it is treated as TCP, the door with fewer powers."""

SOCKET_HOST: Final = "narthex.sock"
"""The Host that a client sends over the Unix socket, exactly; no browser can reach that name."""

PAGE_HOST: Final = "narthex.localhost"
"""The one name that pages and cookies live on (with the port): 127.0.0.1 shares its cookies with every local port."""


@dataclass(frozen=True, slots=True)
class Check:
    """One readiness check; ``detail`` is a sentence for a person, without content or secrets."""

    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the settings table; ``source`` says where the value comes from (default, file, environment)."""

    key: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Measures:
    """How much the threads of the daemon have to do at this moment."""

    drop_waiting: int
    """Files in the drop folder that are not taken in yet."""
    workers: int
    workers_busy: int


class DaemonPort(Protocol):
    """Implemented by ``daemon.wiring``. Every method may be called from any request thread and returns at once."""

    def wake(self) -> None:
        """Work may be due: an item was captured, released or decided."""

    def announce_code(self, code: str) -> None:
        """Prints a one-time code on the terminal or into the journal of the daemon, never anywhere else."""

    def broken(self, error: Broken) -> None:
        """An invariant failed inside a request: end the process with exit status 70 after the answer is out."""

    def checks(self) -> Mapping[str, Check]:
        """The readiness checks by name (database, vault, drop folder, extraction, disk…)."""

    def measures(self) -> Measures:
        """What the threads have to do; lists the drop folder."""

    def settings_table(self) -> Sequence[Setting]:
        """All settings in the order of the settings file; secrets shown as ``set`` or ``not set``."""

    @property
    def started_at(self) -> datetime:
        """When the process began, in UTC."""

    @property
    def address(self) -> str:
        """Where the API listens, such as ``http://127.0.0.1:6278``."""

    @property
    def version(self) -> str:
        """Of the distribution."""


def login_link(port: int, code: str) -> str:
    """Where a browser opens its session; the code stands after ``#``, which no browser sends to a server."""
    return f"http://{PAGE_HOST}:{port}/login#code={code}"
