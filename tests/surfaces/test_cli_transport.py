"""How the thin client finds its daemon, what it sends there, and what it makes of the answers."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import HTTP
from pathlib import Path

import pytest

from api import ports
from api.client import SOCKET_HOST, Client, Json, Unreachable, error_of, port_of, socket_path
from pipelines.model import errors
from pipelines.model.errors import Conflict, Invalid, NarthexError, NotPermitted, Transient
from pipelines.model.values import Home
from tests.need import need
from tests.surfaces.cli_rig import Call, ScriptedServer, short_home

FAMILIES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, NarthexError) and value is not NarthexError
]


@pytest.fixture
def near() -> Iterator[Home]:
    with short_home() as home:
        yield home


def test_the_socket_is_asked_first_and_by_the_name_that_the_guard_expects(near: Home) -> None:
    server = ScriptedServer()
    server.on("GET", "/v1/status", 200, {"version": "1"})
    with server.listening(near):
        assert Client(near, {}, "nxs_secret").call("GET", "/v1/status") == {"version": "1"}
    headers = server.calls[0].headers
    assert headers["host"] == SOCKET_HOST == ports.SOCKET_HOST
    assert headers["authorization"] == "Bearer nxs_secret"


def test_without_a_socket_it_is_tcp_with_the_host_that_the_guard_expects(near: Home) -> None:
    server = ScriptedServer()
    server.on("GET", "/livez", 200, {"status": "ok"})
    with server.listening_on_tcp() as port:
        assert Client(near, {"NARTHEX_PORT": str(port)}).call("GET", "/livez") == {"status": "ok"}
        assert server.calls[0].headers["host"] == f"127.0.0.1:{port}"
        with pytest.raises(Unreachable):  # what only the socket grants is not tried elsewhere
            Client(near, {"NARTHEX_PORT": str(port)}).anonymous().call("POST", "/v1/session/code", {})


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.code)
def test_every_problem_becomes_the_error_that_it_was(family: type[NarthexError]) -> None:
    problem = {"type": f"urn:narthex:problem:{family.code}", "detail": "what and why", "hint": "what next"}
    error = error_of(family.status, problem)
    assert type(error) is family
    assert (error.message, error.hint, error.exit_code) == ("what and why", "what next", family.exit_code)


def test_a_problem_of_a_newer_daemon_keeps_its_code_and_falls_into_the_family_of_its_status() -> None:
    error = error_of(409, {"type": "urn:narthex:problem:merged", "title": "Merged", "status": 409})
    assert isinstance(error, Conflict)
    assert (error.code, error.status, error.title, error.exit_code) == ("merged", 409, "Merged", 5)
    assert isinstance(error_of(502, {}), Transient)
    assert error_of(418, {}).exit_code == 2


def test_the_fields_of_an_invalid_request_are_named() -> None:
    problem: dict[str, Json] = {"detail": "not valid", "errors": [{"pointer": "/text", "message": "too long"}]}
    assert error_of(422, problem).message == "not valid (/text: too long)"


def test_nobody_there_is_unreachable_and_names_both_places(near: Home) -> None:
    with pytest.raises(Unreachable, match=r"narthexd\.sock, nor on 127\.0\.0\.1:1") as caught:
        Client(near, {"NARTHEX_PORT": "1"}).call("GET", "/livez")
    assert caught.value.exit_code == 6


@pytest.mark.parametrize("answer", [b"<html>hello</html>", b"[1]", b"\xff"])
def test_something_else_on_the_port_is_not_taken_for_the_daemon(near: Home, answer: bytes) -> None:
    server = ScriptedServer()
    server.on("GET", "/livez", 200, answer)
    with server.listening(near), pytest.raises(Unreachable, match="not narthexd"):
        Client(near, {}).call("GET", "/livez")


def test_a_daemon_that_dies_during_the_call_is_unreachable(near: Home) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(socket_path(near)))
        listener.listen()

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.recv(10)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        with pytest.raises(Unreachable, match="went away"):
            Client(near, {}).call("GET", "/livez")
        thread.join()


def test_a_bearer_is_not_sent_to_a_stranger(near: Home) -> None:
    """Another user's program that squats on the socket, or on the port while the daemon is down, gets nothing."""
    need("root")
    heard, told = os.pipe()
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _squat(socket_path(near), told, go)
        finally:
            os._exit(0)
    number = int.from_bytes(os.read(ready, 2), "big")
    with pytest.raises(NotPermitted, match="another user"):
        Client(near, {}, "nxs_secret").call("GET", "/livez")
    assert os.read(heard, 100) == b"-"
    socket_path(near).unlink()
    with pytest.raises(NotPermitted, match="another user"):
        Client(near, {"NARTHEX_PORT": str(number)}, "nxs_secret").call("GET", "/livez")
    assert os.read(heard, 100) == b"-"
    os.waitpid(child, 0)
    for descriptor in (heard, told, ready, go):
        os.close(descriptor)


def test_a_file_travels_as_it_is_with_its_fields(near: Home, tmp_path: Path) -> None:
    content = os.urandom(300_000)
    path = tmp_path / "a"
    path.write_bytes(content)
    server = ScriptedServer()
    server.on("POST", "/v1/captures/file", 201, {"id": "itm_1"})
    with server.listening(near), path.open("rb") as file:
        fields = [("note", "é\r\nX: y"), ("tags", "a"), ("tags", "b")]
        Client(near, {}).send_file("/v1/captures/file", file, 'q"\r\nx.pdf', fields, {"Idempotency-Key": "k"})
    parts = _parts(server.calls[0])
    assert [(name, file_name) for name, file_name, _ in parts] == [
        ("note", None), ("tags", None), ("tags", None), ("file", "q%22%0D%0Ax.pdf"),
    ]  # fmt: skip
    assert parts[0][2] == "é\r\nX: y".encode()
    assert parts[3][2] == content


def test_a_file_that_shrinks_while_it_is_sent_is_a_conflict(near: Home, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 200_000)
    server = ScriptedServer()
    with server.listening(near), path.open("rb") as file:

        def fields() -> list[tuple[str, str]]:
            return [("note", "n")]

        class Shrinking:
            """Its size is asked first; then somebody truncates it."""

            def fileno(self) -> int:
                return file.fileno()

            def seek(self, offset: int) -> int:
                path.write_bytes(b"short")
                return file.seek(offset)

            def read(self, size: int) -> bytes:
                return file.read(size)

        with pytest.raises(Conflict, match="shorter"):
            Client(near, {}).send_file("/v1/captures/file", Shrinking(), "a", fields(), {})  # type: ignore[arg-type]


def test_an_early_refusal_is_heard_although_not_everything_was_sent(near: Home, tmp_path: Path) -> None:
    path = tmp_path / "big"
    with path.open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    refusal = b'{"type":"urn:narthex:problem:too-large","detail":"too much"}'
    answer = b"HTTP/1.1 413 x\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(refusal) + refusal
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(socket_path(near)))
        listener.listen()

        def refuse() -> None:
            connection, _ = listener.accept()
            connection.recv(1000)
            connection.sendall(answer)
            connection.shutdown(socket.SHUT_RD)
            while connection.recv(65536):
                pass
            connection.close()

        thread = threading.Thread(target=refuse)
        thread.start()
        with path.open("rb") as big, pytest.raises(errors.TooLarge, match="too much"):
            Client(near, {}).send_file("/v1/captures/file", big, "big", [], {})
        thread.join()


def test_a_long_home_gets_a_short_socket_that_both_programs_find(tmp_path: Path) -> None:
    home = Home(tmp_path / ("n" * 100))
    short = socket_path(home, {"XDG_RUNTIME_DIR": "/run/user/1"})
    assert short.parent == Path("/run/user/1")
    assert len(os.fsencode(short)) < 100
    assert socket_path(home, {}).parent == Path("/tmp")
    home.root.mkdir()
    alias = tmp_path / "alias"
    alias.symlink_to(home.root)
    assert socket_path(Home(alias), {}) == socket_path(home, {})  # however the home is spelled


def test_the_port_is_the_variable_then_the_file_then_the_default(home: Home) -> None:
    assert port_of(home, {}) == 6278
    home.settings.write_text("port = 7000\n")
    assert port_of(home, {}) == 7000
    assert port_of(home, {"NARTHEX_PORT": "7001"}) == 7001
    for wrong in ("x", "-1", "65536", "٣"):
        with pytest.raises(Invalid):
            port_of(home, {"NARTHEX_PORT": wrong})
    home.settings.write_text("port = \n")
    with pytest.raises(Invalid, match="TOML"):
        port_of(home, {})


def _squat(path: Path, told: int, go: int) -> None:
    """As another user: takes the socket and a port, and says what it hears at each."""
    with socket.socket(socket.AF_UNIX) as squatter:
        squatter.bind(str(path))
        os.setresuid(65534, 65534, 65534)
        squatter.listen()
        with socket.socket() as port:
            port.bind(("127.0.0.1", 0))
            port.listen()
            os.write(go, port.getsockname()[1].to_bytes(2, "big"))
            for listener in (squatter, port):
                connection, _ = listener.accept()
                os.write(told, connection.recv(100) or b"-")
                connection.close()


def _parts(call: Call) -> list[tuple[str, str | None, bytes]]:
    head = f"Content-Type: {call.headers['content-type']}\r\n\r\n".encode()
    message = message_from_bytes(head + call.body, policy=HTTP)
    return [
        (
            str(part.get_param("name", header="content-disposition")),
            part.get_filename(),
            part.get_payload(decode=True) or b"",  # type: ignore[misc]
        )
        for part in message.iter_parts()
    ]
