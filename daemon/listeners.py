"""The two doors: TCP on the loopback and the Unix socket, in one loop. Says who may come in, not what they may do."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import stat
import struct
import threading
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from pathlib import Path
from typing import Any, Final

import h11
import uvicorn

from api.ports import LISTENER_KEY, Listener
from api.protocol import ProblemProtocol
from daemon.single_instance import Occupied
from pipelines.model.errors import Invalid

Scope = MutableMapping[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[None]]

LOOPBACK: Final = "127.0.0.1"
_BACKLOG: Final = 512
GRACE_SECONDS: Final = 6  # for answers under way when the process is asked to end
_CREDENTIALS: Final = struct.Struct("3i")


def bind_loopback(port: int) -> socket.socket:
    """A listening socket; 0 takes any free port. Raises ``Occupied`` when another program has the port."""
    # asyncio turns Nagle's delay off only where the protocol is named: else an answer on a kept connection takes 40 ms
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((LOOPBACK, port))
        door.listen(_BACKLOG)
    except OSError as error:
        door.close()
        if error.errno == errno.EADDRINUSE:
            raise Occupied(
                f"port {port} of {LOOPBACK} is taken by another program",
                hint="Set another one: port in narthex.toml, NARTHEX_PORT or --port.",
            ) from error
        raise Invalid(f"narthexd cannot listen on {LOOPBACK}:{port}: {error.strerror}") from error
    return door


def bind_socket(path: Path) -> socket.socket:
    """A listening Unix socket that only this user may open. Whoever calls it holds the lock: what lies there is stale.

    Raises ``Occupied`` when something else than an old socket of this user is there.
    """
    with contextlib.suppress(FileNotFoundError):
        status = path.lstat()
        if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.getuid():
            raise Occupied(f"{path} is in the way of the socket", hint="Move it away.")
        path.unlink()
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        door.bind(os.fspath(path))
        door.listen(_BACKLOG)
    except OSError as error:
        door.close()
        raise Invalid(f"the socket {path} cannot be made: {error.strerror}") from error
    finally:
        os.umask(before)
    return door


def peer_uid(connection: socket.socket) -> int:
    """Whose program is at the other end of a Unix socket, as the kernel says."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[1])


class PatientProtocol(ProblemProtocol):
    """HTTP that does not wait for ever: a peer that keeps a request back loses its connection, and nobody else does.

    While a body is read, the application times it (``api.guard``) and answers. What nobody reads is timed here.
    """

    head_seconds: float = 10.0
    """From the opening of the connection, or from the first byte of a later request, until the head is complete."""
    rest_seconds: float = 15.0
    """From an answer that came early until the rest of the body is here."""
    connections_at_once: int = 400
    """Beyond, whoever has kept its request back for longest makes room: less than half of what a process may open."""

    _timer: asyncio.TimerHandle | None = None
    _waits_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called by the loop."""
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > self.connections_at_once:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, piece: bytes) -> None:
        """Called by the loop."""
        super().data_received(piece)
        if self.transport.is_closing() or self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()
        elif self.conn.their_state is h11.IDLE:
            if self._waits_since is None:
                self._await_head()
        elif not self.cycle.response_complete:
            since = self._waits_since
            self._stop_waiting()  # for the head; the body is timed by who reads it
            self._waits_since = self.loop.time() if since is None else since

    def on_response_complete(self) -> None:
        """Called after each answer."""
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._await_head()  # the next request is half here
        elif self.conn.their_state is h11.SEND_BODY:
            self._timer = self.loop.call_later(self.rest_seconds, self.transport.abort)

    def _await_head(self) -> None:
        self._stop_waiting()
        self._waits_since = self.loop.time()
        self._timer = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        self._waits_since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _make_room(self) -> None:
        waiting = [
            (peer._waits_since, id(peer), peer)
            for peer in self.connections
            if isinstance(peer, PatientProtocol) and peer._waits_since is not None
        ]
        if waiting:
            longest = min(waiting)[2]
            longest._stop_waiting()  # the next newcomer of this turn of the loop takes another one's place
            longest.transport.abort()


class SameUserProtocol(PatientProtocol):
    """HTTP for programs of this user and of root; a connection of anyone else is closed before a byte is read."""

    allowed: frozenset[int] = frozenset({0, os.getuid()})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called by the loop."""
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if peer_uid(connection) not in self.allowed:
            transport.abort()


class _Server(uvicorn.Server):
    """A server that leaves the signals to us: two of them in one process would fight over them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Called by ``serve``."""
        yield


def marked(app: Application, door: Listener) -> Application:
    """``app``, told with every request through which door it came."""

    async def through_door(scope: Scope, receive: Any, send: Any) -> None:
        scope.setdefault("state", {})[LISTENER_KEY] = door
        await app(scope, receive, send)

    return through_door


class Doors:
    """Serves until ``close`` is called (from any thread) or a signal arrives; then lets answers under way finish.

    ``closing`` is called first, once: who answers for ever is told there, since nothing waits for such an answer.
    """

    def __init__(
        self,
        app: Application,
        loopback: socket.socket,
        unix: socket.socket,
        *,
        closing: Callable[[], None] = lambda: None,
        signals: bool = True,
    ) -> None:
        self._signals = signals  # only the main thread can have them
        self._tell_closing = closing
        self._loop: asyncio.AbstractEventLoop | None = None
        self._served = [
            (_server(marked(app, Listener.TCP), PatientProtocol), loopback),
            (_server(marked(app, Listener.SOCKET), SameUserProtocol), unix),
        ]
        self._closing = False

    def serve(self, opened: Callable[[], None]) -> None:
        """Blocks. ``opened`` is called once both doors answer."""
        asyncio.run(self._serve(opened))

    def close(self) -> None:
        """Asks ``serve`` to return; harmless before and after it."""
        if not self._closing:
            self._closing = True
            self._tell_closing()
        for server, _ in self._served:
            server.should_exit = True

    def answer(self, seconds: float) -> bool:
        """Whether the loop that serves both doors takes its turn within ``seconds``; not to be asked inside it."""
        if self._loop is None or self._loop.is_closed():
            return False
        turn = threading.Event()
        with contextlib.suppress(RuntimeError):  # closed at this very moment
            self._loop.call_soon_threadsafe(turn.set)
        return turn.wait(seconds)

    async def _serve(self, opened: Callable[[], None]) -> None:
        loop = self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT) if self._signals else ():
            loop.add_signal_handler(number, self._asked_to_end)
        tasks = [asyncio.create_task(server.serve(sockets=[door])) for server, door in self._served]
        while not self._closing and not all(server.started for server, _ in self._served):
            if any(task.done() for task in tasks):
                break
            await asyncio.sleep(0.01)
        if not self._closing and not any(task.done() for task in tasks):
            await loop.run_in_executor(None, opened)
        await asyncio.gather(*tasks)

    def _asked_to_end(self) -> None:
        """A second signal does not wait for answers."""
        if self._closing:
            for server, _ in self._served:
                server.force_exit = True
        self.close()


def _server(app: Application, protocol: type[PatientProtocol]) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
