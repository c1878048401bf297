"""How a program on this machine talks to narthexd: HTTP over its Unix socket, else over TCP; problems become errors.

Imports only the standard library, so that a command starts at once; never opens anything below ``HOME/state`` but the
socket.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias, cast

from api.multipart import chunks, envelope
from pipelines.model import errors
from pipelines.model.errors import NarthexError, NotPermitted, Transient
from pipelines.model.values import Home

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = "Mapping[str, Json]"

DEFAULT_PORT: Final = 6278
SOCKET_HOST: Final = "narthex.sock"  # api.ports.SOCKET_HOST, which a thin client may not import; a test compares them
LOOPBACK: Final = "127.0.0.1"
_LONGEST_SOCKET: Final = 100  # bytes; the kernel takes 107, and the name must not depend on how the home is spelled
_CONNECT_SECONDS: Final = 3.0
_PROBLEM: Final = "urn:narthex:problem:"
_CREDENTIALS: Final = struct.Struct("3i")


class Unreachable(Transient):
    """Nobody answers for this home, or somebody who is not its daemon."""

    code = "unreachable"
    title = "The daemon does not answer"


def environment() -> Mapping[str, str]:
    """The variables of this process; the command line reads them here only."""
    return os.environ


def wall_clock() -> datetime:
    """The time, for the command line, which has no daemon to ask for it when it queues a capture."""
    return datetime.now(UTC)


def home_key(home: Home) -> str:
    """Sixteen hexadecimal characters that stand for this home, however its path was spelled."""
    return hashlib.sha256(os.fsencode(home.root.resolve())).hexdigest()[:16]


def socket_path(home: Home, variables: Mapping[str, str] | None = None) -> Path:
    """Where the daemon of ``home`` listens: in the home, or in the run-time folder when that name would be too long."""
    path = home.root.resolve() / "state" / "narthexd.sock"
    if len(os.fsencode(path)) < _LONGEST_SOCKET:
        return path
    folder = (environment() if variables is None else variables).get("XDG_RUNTIME_DIR") or "/tmp"
    return Path(folder) / f"narthex-{os.getuid()}-{home_key(home)}.sock"


def port_of(home: Home, variables: Mapping[str, str]) -> int:
    """NARTHEX_PORT, else ``port`` in ``narthex.toml``, else 6278. 0: a free one that only it knows."""
    stated: object = variables.get("NARTHEX_PORT") or None
    if stated is None and home.settings.is_file():
        import tomllib  # only where TCP is needed: it costs a tenth of the start

        try:
            stated = tomllib.loads(home.settings.read_text("utf-8")).get("port")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise errors.Invalid(f"{home.settings} is not valid TOML: {error}", hint="narthex config check") from error
    text = str(DEFAULT_PORT if stated is None else stated)
    if not text.isascii() or not text.isdigit() or not int(text) < 65536:
        raise errors.Invalid(f"the port must be a number up to 65535, it is {text!r}", hint="narthex config path")
    return int(text)


class _SocketConnection(HTTPConnection):
    """HTTP/1.1 over a Unix socket whose other end runs as a user in ``uids``."""

    def __init__(self, path: Path, uids: frozenset[int], seconds: float) -> None:
        super().__init__(SOCKET_HOST, timeout=seconds)
        self._path = path
        self._uids = uids
        self._seconds = seconds

    def connect(self) -> None:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            channel.settimeout(_CONNECT_SECONDS)
            channel.connect(os.fspath(self._path))
            # a run-time folder that all may write could hold a stranger's socket, and a bearer goes over it
            self._check_peer(channel)
        except BaseException:
            channel.close()
            raise
        channel.settimeout(self._seconds)
        self.sock = channel

    def _check_peer(self, channel: socket.socket) -> None:
        if hasattr(socket, "SO_PEERCRED"):
            raw = channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            if _CREDENTIALS.unpack(raw)[1] not in self._uids:
                raise NotPermitted(f"{self._path} belongs to another user", hint="Remove it, then start narthexd.")


class Client:
    """Calls the daemon of one home. A bearer is sent only to a program that runs as the user or the home's owner."""

    def __init__(
        self,
        home: Home,
        variables: Mapping[str, str],
        bearer: str = "",
        *,
        seconds: float = 30,
        socket_only: bool = False,
    ) -> None:
        self._home = home
        self._variables = variables
        self._bearer = bearer
        self._seconds = seconds
        self._socket_only = socket_only

    def anonymous(self, *, socket_only: bool = True) -> Client:
        """The same daemon without a credential; only the socket takes more of such calls than a one-time code."""
        return Client(self._home, self._variables, seconds=self._seconds, socket_only=socket_only)

    def call(
        self,
        method: str,
        path: str,
        body: JsonObject | None = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """The JSON object that the daemon answers, empty for 204.

        Raises the error that the problem names, and ``Unreachable`` when there is no daemon of ours.
        """
        sent = dict(headers or {})
        content = None
        if body is not None:
            content = [json.dumps(body).encode()]
            sent["Content-Type"] = "application/json"
            sent["Content-Length"] = str(len(content[0]))
        if query:
            from urllib.parse import urlencode

            path = f"{path}?{urlencode(query, errors='replace')}"
        return self._exchange(method, path, content, sent)

    def send_file(
        self, path: str, file: BinaryIO, name: str, fields: Sequence[tuple[str, str]], headers: Mapping[str, str]
    ) -> JsonObject:
        """Streams ``file`` (from its start, as long as it is now) as multipart; its bytes are never all in memory.

        Raises as ``call``, and ``Conflict`` when the file shrinks meanwhile.
        """
        size = os.fstat(file.fileno()).st_size
        boundary = "narthex-" + os.urandom(16).hex()
        head, tail = envelope(boundary, name, fields)
        sent = {
            **headers,
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(len(head) + size + len(tail)),
        }
        file.seek(0)
        return self._exchange("POST", path, chunks(head, file, size, tail), sent)

    def pages(self, path: str, query: Mapping[str, str], most: int) -> Iterator[JsonObject]:
        """The rows of a list, page after page, at most ``most``."""
        cursor: Json = ""
        while most > 0 and cursor is not None:
            step = {**query, "limit": str(min(most, 200)), **({"cursor": str(cursor)} if cursor else {})}
            page = self.call("GET", path, query=step)
            rows = cast("Sequence[JsonObject]", page.get("items") or ())
            yield from rows[:most]
            most -= len(rows)
            cursor = page.get("next_cursor")

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of an answer that may go on for ever, each as it comes. Raises as ``call``."""
        with self._answer("GET", path, None, {"Accept": "text/event-stream"}) as response:
            if response.status >= 300:
                _read(response, response.read())
            yield from response

    def _exchange(self, method: str, path: str, body: Iterable[bytes] | None, headers: dict[str, str]) -> JsonObject:
        with self._answer(method, path, body, {"Accept": "application/json", **headers}) as response:
            return _read(response, response.read())

    @contextmanager
    def _answer(
        self, method: str, path: str, body: Iterable[bytes] | None, headers: dict[str, str]
    ) -> Iterator[HTTPResponse]:
        connection = self._connect()
        if self._bearer:
            headers["Authorization"] = f"Bearer {self._bearer}"
        try:
            # it may refuse before it has read everything: then its answer says why
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path, body, headers)
            with connection.getresponse() as response:
                yield response
        except (HTTPException, OSError) as error:
            raise Unreachable(f"narthexd went away during the call: {type(error).__name__} {error}") from error
        finally:
            connection.close()

    def _connect(self) -> HTTPConnection:
        path = socket_path(self._home, self._variables)
        uids = self._trusted()
        connection: HTTPConnection = _SocketConnection(path, uids, self._seconds)
        try:
            connection.connect()
            return connection
        except OSError as error:
            if self._socket_only or isinstance(error, TimeoutError):
                raise Unreachable(f"no answer on {path}") from error
        port = port_of(self._home, self._variables)
        connection = HTTPConnection(LOOPBACK, port, timeout=_CONNECT_SECONDS)
        try:
            connection.connect()
        except OSError as error:
            raise Unreachable(f"no answer on {path}, nor on {LOOPBACK}:{port}") from error
        if not _listeners(port) <= uids:
            connection.close()
            raise NotPermitted(f"{LOOPBACK}:{port} belongs to another user", hint="Set another port in narthex.toml.")
        connection.sock.settimeout(self._seconds)
        return connection

    def _trusted(self) -> frozenset[int]:
        owner = {self._home.root.stat().st_uid} if self._home.root.exists() else set()
        return frozenset({0, os.getuid()} | owner)


def _listeners(port: int) -> set[int]:
    """The users whose programs listen on this port of the loopback, as far as the kernel tells."""
    ours = {"0100007F", "00000000", "0" * 32, "0000000000000000FFFF00000100007F"}
    found: set[int] = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            words = line.split()
            host, _, number = words[1].partition(":")
            if words[3] == "0A" and int(number, 16) == port and host in ours:
                found.add(int(words[7]))
    return found


def _read(response: HTTPResponse, content: bytes) -> JsonObject:
    if response.status == 204:
        return {}
    body: object = None
    with suppress(ValueError):
        body = json.loads(content)
    if not isinstance(body, dict):
        raise Unreachable(f"what answers (status {response.status}) is not narthexd")
    if response.status >= 300:
        raise error_of(response.status, body)
    return body


def error_of(status: int, problem: JsonObject) -> NarthexError:
    """The error that a problem document stands for: of the family that its code names, else its status."""
    code = str(problem.get("type") or "").removeprefix(_PROBLEM)
    family = _BY_CODE.get(code) or _BY_STATUS.get(status) or (errors.Refused if status < 500 else Transient)
    if (family.code, family.status) != (code, status):
        attributes = {"code": code or family.code, "status": status, "title": problem.get("title") or family.title}
        family = cast("type[NarthexError]", type(family.__name__, (family,), attributes))
    message = str(problem.get("detail") or problem.get("title") or f"status {status}")
    details = cast("Sequence[JsonObject]", problem.get("errors") or ())
    named = "; ".join(f"{one.get('pointer') or '?'}: {one.get('message') or '?'}" for one in details[:3])
    return family(f"{message} ({named})" if named else message, hint=str(problem.get("hint") or ""))


_FAMILIES: Final = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, NarthexError) and value is not NarthexError
]
_BY_CODE: Final = {family.code: family for family in _FAMILIES}
_BY_STATUS: Final = {family.status: family for family in reversed(_FAMILIES)}  # the first of a status stands for it
