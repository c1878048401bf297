"""The one place of the API where an error becomes an answer (RFC 9457); shows no stack trace, logs no content."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.ports import PAGE_HOST, DaemonPort
from api.web.render import problem_page
from pipelines.model.errors import (
    Broken,
    Busy,
    Conflict,
    NarthexError,
    NotFound,
    Refused,
    StorageFull,
    TooLarge,
    Transient,
    Unauthenticated,
)

log = logging.getLogger("narthex.api")

MEDIA_TYPE: Final = "application/problem+json"
_RETRY_SECONDS: Final = 2
_RETRY_SECONDS_BUSY: Final = 30
_RETRY_SECONDS_FULL: Final = 60


class WrongMethod(Refused):
    """The path exists, the method does not."""

    code = "wrong-method"
    title = "This method is not possible here"
    status = 405


class Malformed(Refused):
    """The request breaks a rule of HTTP or of this API's transport."""

    code = "malformed"
    title = "The request is malformed"
    status = 400


class TooSlow(Refused):
    """The body stopped coming."""

    code = "too-slow"
    title = "The body did not arrive"
    status = 408


class StillRunning(Conflict):
    """The first request with this Idempotency-Key has not been answered yet."""

    code = "still-running"
    title = "The first request is still running"


_BY_STATUS: Final[Mapping[int, type[Refused]]] = {404: NotFound, 405: WrongMethod, 408: TooSlow, 413: TooLarge}


def install(app: FastAPI, daemon: DaemonPort) -> None:
    """Registers the reactions; ``daemon`` is told of an invariant that fails, so that the process stops."""

    async def narthex_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, NarthexError)
        if isinstance(error, Broken):
            log.error("broken", extra={"problem": error.message, "request_id": request_id(request.scope)})
            daemon.broken(error)
        return answer(request.scope, error)

    async def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == WrongMethod.status:
            return _wrong_method(request)
        family = _BY_STATUS.get(error.status_code, Malformed)
        return answer(request.scope, family(str(error.detail)), dict(error.headers or {}))

    async def invalid_request(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _invalid(request.scope, error)

    async def unexpected(request: Request, error: Exception) -> Response:
        _log_unexpected(request.scope, error)
        return answer(request.scope, NarthexError("something unexpected happened inside narthex"))

    async def gone(request: Request, error: Exception) -> Response:
        return answer(request.scope, Malformed("the connection closed before the body was complete"))

    app.add_exception_handler(NarthexError, narthex_error)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, invalid_request)
    app.add_exception_handler(Exception, unexpected)


class Answered:
    """Ends the way of an unexpected exception that was answered and logged: the server need not print it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            if scope["type"] != "http" or not started:
                raise


def answer(scope: Scope, error: NarthexError, headers: Mapping[str, str] | None = None) -> Response:
    """The response to an error: a page for a browser that reads one of our pages, a problem document for all else."""
    added = dict(headers or {})
    if isinstance(error, Unauthenticated):
        added["WWW-Authenticate"] = 'Bearer realm="narthex"'
    if (seconds := _retry_after(error)) is not None:
        added["Retry-After"] = str(seconds)
    if isinstance(error, TooSlow):
        added["Connection"] = "close"  # the rest of the body is not waited for a second time
    document: dict[str, object] = {
        "type": f"urn:narthex:problem:{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": error.message,
        "instance": request_id(scope),
        "retryable": isinstance(error, Transient | Conflict),
    }
    if error.hint:
        document["hint"] = error.hint
    if _wants_page(scope):
        return problem_page(error.title, error.message, error.hint, error.status, added)
    return JSONResponse(document, error.status, added, MEDIA_TYPE)


def request_id(scope: Scope) -> str:
    """The id that the guard gave this request."""
    return str(scope.get("state", {}).get("request_id", ""))


def _wrong_method(request: Request) -> Response:
    # Starlette names the methods of the first route with this path only
    path = request.scope["path"]
    contexts = iter_route_contexts(request.app.routes)
    same_path = [context for context in contexts if context.path and compile_path(context.path)[0].match(path)]
    allowed = ", ".join(sorted({method for context in same_path for method in context.methods or ()}))
    return answer(request.scope, WrongMethod(f"possible here: {allowed}"), {"Allow": allowed})


def _invalid(scope: Scope, error: RequestValidationError) -> Response:
    # pydantic's "input" is left out: what was sent may be private and is known to the sender
    errors = [{"pointer": _pointer(found["loc"]), "message": str(found["msg"])} for found in error.errors()]
    first = errors[0] if errors else {"pointer": "", "message": "not valid"}
    detail = f"{first['pointer'] or 'the body'}: {first['message']}"
    if _wants_page(scope):
        return problem_page("The request is not valid", detail, "", 422, {})
    document = {
        "type": "urn:narthex:problem:invalid",
        "title": "The request is not valid",
        "status": 422,
        "detail": detail,
        "instance": request_id(scope),
        "retryable": False,
        "errors": errors,
    }
    return JSONResponse(document, 422, media_type=MEDIA_TYPE)


def _pointer(location: tuple[str | int, ...]) -> str:
    parts = location[1:] if location and location[0] == "body" else location
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _retry_after(error: NarthexError) -> int | None:
    if isinstance(error, StorageFull):
        return _RETRY_SECONDS_FULL
    if isinstance(error, Busy):
        return _RETRY_SECONDS_BUSY
    return _RETRY_SECONDS if isinstance(error, Transient | StillRunning) else None


def _wants_page(scope: Scope) -> bool:
    headers = dict(scope.get("headers", []))
    host = headers.get(b"host", b"").decode("latin-1")
    accepts = headers.get(b"accept", b"").decode("latin-1")
    return host.startswith(PAGE_HOST + ":") and "text/html" in accepts and not scope["path"].startswith("/v1/")


def _log_unexpected(scope: Scope, error: Exception) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    log.error("unexpected", extra={"problem": type(error).__name__, "where": where, "request_id": request_id(scope)})
