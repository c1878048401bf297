"""What the tests of the command line stand on: a person who answers, other parents, a scripted server."""

from __future__ import annotations

import io
import itertools
import json
import socketserver
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Final

from api.cli._agents import Process
from api.cli._session import Surroundings
from api.cli.main import run
from api.client import socket_path
from pipelines.model.values import Home

NOON: Final = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@dataclass
class Person:
    """At the terminal, with the answers that they will type, in this order; after the last they only press Enter."""

    answers: list[str] = field(default_factory=list)
    present: bool = True
    seen: list[str] = field(default_factory=list)

    def interactive(self) -> bool:
        return self.present

    def show(self, text: str) -> None:
        self.seen.append(text)

    def ask(self, question: str) -> str:
        assert self.present, f"a prompt without a person: {question}"
        self.seen.append(question)
        return self.answers.pop(0) if self.answers else ""


@dataclass(frozen=True)
class Parents:
    """A process table."""

    processes: tuple[Process, ...] = (Process(1, "bash", ("bash",)),)

    def lineage(self) -> Sequence[Process]:
        return self.processes


@dataclass(frozen=True)
class Ran:
    """How one command ended."""

    status: int
    output: str
    notes: str

    @property
    def document(self) -> dict[str, object]:
        """The one JSON document on standard output."""
        document = json.loads(self.output)
        assert isinstance(document, dict)
        return document


@dataclass
class Commands:
    """Runs commands of one user, whose folders are below ``folder``."""

    folder: Path
    person: Person = field(default_factory=Person)
    parents: Parents = field(default_factory=Parents)
    variables: dict[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def __call__(self, *argv: str) -> Ran:
        output, notes = io.StringIO(), io.StringIO()
        variables = {
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            **self.variables,
        }
        around = Surroundings(
            variables, output, notes, self.person, self.parents, lambda: NOON, lambda: f"key{next(self.numbers)}"
        )
        return Ran(run(argv, around), output.getvalue(), notes.getvalue())

    @property
    def config(self) -> Path:
        """Where the registry and the logins are."""
        return self.folder / "config" / "narthex"


@dataclass(frozen=True)
class Call:
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> dict[str, object]:
        """The JSON body."""
        document = json.loads(self.body)
        assert isinstance(document, dict)
        return document


Answering = Callable[[Call], tuple[int, object]]


class ScriptedServer:
    """Answers what its table says for a method and path, else 404, and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.table: dict[tuple[str, str], tuple[int, object] | Answering] = {}

    def on(self, method: str, path: str, status: int, document: object) -> None:
        """Always the same answer."""
        self.table[method, path] = (status, document)

    def answer(self, call: Call) -> tuple[int, object]:
        """Looks the path up without its query."""
        self.calls.append(call)
        known = self.table.get((call.method, call.path.partition("?")[0]))
        if known is None:
            return 404, {"type": "urn:narthex:problem:not-found", "title": "Not found", "detail": f"no {call.path}"}
        return known(call) if callable(known) else known

    @contextmanager
    def listening(self, home: Home, variables: Mapping[str, str] | None = None) -> Iterator[None]:
        """On the socket of this home."""
        path = socket_path(home, {} if variables is None else variables)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with _serving(_UnixServer(str(path), _request_class(self))):
            yield
        path.unlink()

    @contextmanager
    def listening_on_tcp(self) -> Iterator[int]:
        """On a free port of the loopback."""
        server = _TcpServer(("127.0.0.1", 0), _request_class(self))
        with _serving(server):
            yield server.server_address[1]


class _UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class _TcpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True


@contextmanager
def _serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _request_class(scripted: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Request(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            call = Call(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            status, document = scripted.answer(call)
            content = (
                document if isinstance(document, bytes) else b"" if status == 204 else json.dumps(document).encode()
            )
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Request


@contextmanager
def short_home() -> Iterator[Home]:
    """A home whose socket has its ordinary place: the folders of the test runner have names that are too long."""
    with tempfile.TemporaryDirectory(prefix="nx", dir="/tmp") as folder:
        home = Home(Path(folder).resolve() / "N")
        for path in (home.root, home.drop, home.state):
            path.mkdir(mode=0o700)
        home.settings.write_text("port = 0\n")
        yield home


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a folder: mode, last change, content. Two equal ones mean that nothing was written."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(folder.rglob("*"))
    }
