"""The one route class: recognises and authorises the caller before a byte of the body is read, then reads it strictly.

FastAPI reads bodies before dependencies, so a dependency would let strangers fill the disk before they are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.access import TABLE, Caller, Power, authorise
from api.auth import cookie_name, csrf_matches
from api.guard import listener_of
from api.json_body import check_text, read_json
from api.ports import PAGE_HOST, Listener
from api.problems import request_id
from api.surface import Surface, surface
from pipelines.model.errors import Broken, NotPermitted

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_CSRF_HEADER: Final = "x-narthex-csrf"
_FORM: Final = "application/x-www-form-urlencoded"
_JSON: Final = "application/json"
_SMALL_BODY: Final = 64 * 1024  # parsing this much blocks the event loop for less than a switch of threads costs

Answering = Callable[[Request], Coroutine[Any, Any, Response]]


class DeclaredRoute(APIRoute):
    """A route that has a row in ``api.access.TABLE``; without one it cannot be made."""

    def get_route_handler(self) -> Answering:
        """Wraps what FastAPI would do; the name is FastAPI's."""
        operation = self.operation_id
        if operation is None or operation not in TABLE:
            raise Broken(f"{self.path} ({operation}) has no row in api.access.TABLE")
        answering = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            around = surface(request)
            caller = await run_in_threadpool(_recognise, request, around)
            if TABLE[operation] is Power.PAGE and caller.actor is None:
                return RedirectResponse("/login", 303)
            scope = around.premises.policy.default_scope
            request.state.caller = caller
            request.state.actor = authorise(operation, caller, scope, request_id(request.scope))
            _check_query(request)
            if request.method not in _SAFE:
                await _read_body(request)
                if TABLE[operation] is not Power.OPEN:
                    await _check_csrf(request, caller)
            return await answering(request)

        return guarded


def _recognise(request: Request, around: Surface) -> Caller:
    listener = listener_of(request.scope)
    page = listener is Listener.TCP and request.headers.get("host") == f"{PAGE_HOST}:{around.port}"
    cookie = cookie_name(around.port) if page else None
    return around.credentials.recognise(request.headers, listener, cookie=cookie, request_id=request_id(request.scope))


def _check_query(request: Request) -> None:
    for name, value in request.query_params.multi_items():
        check_text(name + value, "the query")


async def _read_body(request: Request) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == _JSON:
        body = await request.body()
        request.state.body = body
        if body:
            # FastAPI takes the parsed value from here instead of parsing again, and laxer
            value = read_json(body) if len(body) < _SMALL_BODY else await run_in_threadpool(read_json, body)
            request._json = value
    elif media_type == _FORM:
        for name, text in (await request.form()).multi_items():
            check_text(name + (text if isinstance(text, str) else ""), "the form")
    else:
        request.state.body = b""


async def _check_csrf(request: Request, caller: Caller) -> None:
    if caller.csrf_digest is None:
        return
    offered: object = request.headers.get(_CSRF_HEADER)
    if offered is None and request.headers.get("content-type", "").startswith(_FORM):
        offered = (await request.form()).get("csrf")
    if not csrf_matches(caller, offered if isinstance(offered, str) else None):
        raise NotPermitted("this write did not come from our own page", hint="reload the page and try again")
