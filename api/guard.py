"""The outermost layer of every request: Host, Origin, sizes, types and headers, before anything is routed or read.

Decides on the scope alone (path, headers), never on a URL built from them; knows no credential and no product.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.meter import Meter
from api.ports import LISTENER_KEY, PAGE_HOST, SOCKET_HOST, Listener
from api.problems import Malformed, TooSlow, answer
from pipelines.model.errors import NarthexError, Refused, TooLarge, Unauthenticated
from pipelines.model.identity import Ids
from pipelines.model.policy import Policy

log = logging.getLogger("narthex.api")

_JSON_BYTES: Final = 1024 * 1024
_FORM_BYTES: Final = 64 * 1024
_FORM_OVERHEAD: Final = 256 * 1024  # fields and part headers around an uploaded file
_ESCAPED: Final = 3  # JSON may spell two bytes of text as six
_PATH_BYTES: Final = 4 * 1024
_QUERY_BYTES: Final = 16 * 1024
_HEADER_BYTES: Final = 32 * 1024
_IDLE_SECONDS: Final = 15.0
_API: Final = ("/v1/", "/livez", "/readyz", "/metrics", "/openapi.json")
_CAPTURES: Final = "/v1/captures"
_FILES: Final = "/v1/captures/file"
_ENTRANCES: Final = frozenset({"/", "/login"})  # what a link on another site may lead to; they show nothing
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{8,64}", re.ASCII)
_FETCH_SITES: Final = frozenset({"none", "same-origin"})

_PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_CONTENT_POLICY: Final = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cache-Control": "no-store",
        # not no-referrer: with it browsers send "Origin: null" with our own forms, and null is refused
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
)


class Misdirected(Refused):
    """The Host is none of ours."""

    code = "misdirected"
    title = "This name does not lead here"
    status = 421


class ForeignOrigin(Refused):
    """A page of another site caused this request."""

    code = "foreign-origin"
    title = "Requests from other sites are refused"
    status = 403


class WrongType(Refused):
    """The body is of a type or an encoding that is not read here."""

    code = "wrong-type"
    title = "The body has the wrong type"
    status = 415


class PathTooLong(Refused):
    """The path or the query is too long."""

    code = "path-too-long"
    title = "The address is too long"
    status = 414


class HeadersTooLarge(Refused):
    """All headers together are too large."""

    code = "headers-too-large"
    title = "The headers are too large"
    status = 431


class Guard:
    """Wraps the whole application. ``port`` is the TCP port that appears in the allowed Hosts."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        port: int,
        policy: Policy,
        ids: Ids,
        meter: Meter,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self._app = app
        self._page_host = f"{PAGE_HOST}:{port}"
        self._hosts = {
            Listener.TCP: frozenset({f"127.0.0.1:{port}", f"localhost:{port}", self._page_host}),
            Listener.SOCKET: frozenset({SOCKET_HOST}),
        }
        self._text_bytes = policy.max_text_bytes * _ESCAPED + _JSON_BYTES
        self._file_bytes = policy.max_original_bytes + _FORM_OVERHEAD
        self._ids = ids
        self._meter = meter
        self._idle_seconds = idle_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})  # before the upgrade: there is no WebSocket here
            return
        headers = Headers(scope=scope)
        state = scope.setdefault("state", {})
        offered = headers.get("x-request-id", "")
        state["request_id"] = offered if _REQUEST_ID.fullmatch(offered) else self._ids.new("req")
        sender = _Sealed(send, scope, self._meter)
        try:
            response = self._refusal(scope, headers)
        except NarthexError as error:
            log.warning("refused", extra={"problem": error.code, "request_id": state["request_id"]})
            response = answer(scope, error)
        if response is not None:
            await response(scope, receive, sender)
            return
        await self._app(scope, _Metered(receive, self._limit(scope), self._idle_seconds), sender)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        path: str = scope["path"]
        listener = listener_of(scope)
        host = self._host(headers, listener)
        _check_sizes(scope)
        if not path.startswith("/") or "\x00" in path:
            raise Malformed("the path must begin with '/' and hold no NUL")
        self._check_origin(scope, headers)
        if len(headers.getlist("authorization")) > 1:
            raise Unauthenticated("two Authorization headers were sent")
        if not path.startswith(_API) and host != self._page_host:
            return self._other_door(scope, listener)
        self._check_body(scope, headers)
        return None

    def _host(self, headers: Headers, listener: Listener) -> str:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not hosts[0]:
            raise Malformed("exactly one Host header is needed")
        if hosts[0] not in self._hosts[listener]:
            allowed = ", ".join(sorted(self._hosts[listener]))
            raise Misdirected("this Host is not one of ours", hint=f"use one of: {allowed}")
        return hosts[0]

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        origins = headers.getlist("origin")
        if origins:
            if origins != [f"http://{self._page_host}"]:
                raise ForeignOrigin("only pages of narthex itself may send requests")
            return
        if all(site in _FETCH_SITES for site in headers.getlist("sec-fetch-site")):
            return
        top_level = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if not (top_level and scope["method"] == "GET" and scope["path"] in _ENTRANCES):
            raise ForeignOrigin("another site led here", hint=f"open http://{self._page_host}/ yourself")

    def _other_door(self, scope: Scope, listener: Listener) -> Response:
        # before any cookie could be set: cookies of 127.0.0.1 are shared with every other port of this machine
        if listener is Listener.TCP and scope["method"] == "GET":
            return RedirectResponse(f"http://{self._page_host}{quote(scope['path'])}", 303)
        raise Misdirected("pages live on one name only", hint=f"open http://{self._page_host}/")

    def _check_body(self, scope: Scope, headers: Headers) -> None:
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise WrongType("compressed bodies are not read", hint="send the body as it is")
        length = headers.get("content-length", "")
        if length and "transfer-encoding" in headers:
            raise Malformed("a body has one length: Content-Length or Transfer-Encoding, not both")
        if not (length or "transfer-encoding" in headers) or length == "0":
            return
        expected = _media_type(scope["path"])
        sent = headers.get("content-type", "")
        media_type, _, parameters = sent.partition(";")
        if media_type.strip().lower() != expected:
            raise WrongType(f"a body here must be {expected}", hint=f"send 'Content-Type: {expected}'")
        if expected == "application/json" and parameters.strip().lower().replace('"', "") not in ("", "charset=utf-8"):
            raise WrongType("JSON is always UTF-8 here")
        if length.isascii() and length.isdigit() and int(length[:20]) > (limit := self._limit(scope)):
            raise _too_large(limit)

    def _limit(self, scope: Scope) -> int:
        path = scope["path"]
        if path == _FILES:
            return self._file_bytes
        if path == _CAPTURES:
            return self._text_bytes
        return _JSON_BYTES if path.startswith(_API) else _FORM_BYTES


class _Metered:
    """Counts the bytes that really come, whatever was declared, and gives up on a body that stops coming."""

    def __init__(self, receive: Receive, limit: int, idle_seconds: float) -> None:
        self._receive = receive
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._left = limit
        self._complete = False

    async def __call__(self) -> Message:
        if self._complete:
            return await self._receive()
        try:
            with anyio.fail_after(self._idle_seconds):
                message = await self._receive()
        except TimeoutError as error:
            raise TooSlow(f"nothing more of the body came for {self._idle_seconds:g} s") from error
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise _too_large(self._limit)
        self._complete = not message.get("more_body", False)
        return message


class _Sealed:
    """Adds the headers that every answer carries, counts it, and logs one line: no path, no content."""

    def __init__(self, send: Send, scope: Scope, meter: Meter) -> None:
        self._send = send
        self._scope = scope
        self._meter = meter
        self._began = time.monotonic()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            page = headers.get("content-type", "").startswith("text/html")
            headers.setdefault("Content-Security-Policy", _PAGE_POLICY if page else _CONTENT_POLICY)
            headers["X-Request-Id"] = self._scope["state"]["request_id"]
            self._log(message["status"])
        await self._send(message)

    def _log(self, status: int) -> None:
        route = self._scope.get("route")
        seconds = time.monotonic() - self._began
        self._meter.answered(self._scope["method"], getattr(route, "path", None), status, seconds)
        fields = {
            "operation": getattr(route, "operation_id", None),
            "status": status,
            "ms": round(seconds * 1000),
            "request_id": self._scope["state"]["request_id"],
        }
        log.debug("answered", extra=fields)


def listener_of(scope: Scope) -> Listener:
    """The door of this request; without the daemon's mark it is TCP, the one with fewer powers."""
    return Listener(scope.get("state", {}).get(LISTENER_KEY, Listener.TCP))


def _check_sizes(scope: Scope) -> None:
    if len(scope["path"]) > _PATH_BYTES or len(scope["query_string"]) > _QUERY_BYTES:
        raise PathTooLong("the path or the query is too long")
    if sum(len(name) + len(value) for name, value in scope["headers"]) > _HEADER_BYTES:
        raise HeadersTooLarge(f"all headers together may have {_HEADER_BYTES} bytes")


def _media_type(path: str) -> str:
    if path == _FILES:
        return "multipart/form-data"
    return "application/json" if path.startswith(_API) else "application/x-www-form-urlencoded"


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is larger than {limit} bytes")
