"""Puts the surfaces together: the guard outermost, the problems, then the routes. Opens no port and owns no thread."""

from __future__ import annotations

import secrets

from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.types import ASGIApp, Receive, Scope, Send

from api import problems
from api.access import TABLE
from api.auth import Credentials
from api.codes import CodeDesk, RandomBytes
from api.doorway import DeclaredRoute
from api.event_stream import Streams
from api.guard import Guard
from api.idempotency import Running
from api.meter import Meter
from api.openapi import describe
from api.ports import DaemonPort, login_link
from api.received_file import sweep_incoming
from api.routes import ROUTERS
from api.surface import Surface
from api.web import pages
from pipelines.model.errors import Broken
from pipelines.premises import Premises


class Application:
    """The ASGI application of one home."""

    def __init__(self, app: ASGIApp, surface: Surface) -> None:
        self._app = app
        self._surface = surface

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def fresh_login_link(self) -> str:
        """A link that opens one owner session in a browser, for the daemon to print at its start and nowhere else."""
        return login_link(self._surface.port, self._surface.codes.issue())

    def end_streams(self) -> None:
        """Lets every answer that would go on for ever end now: the process is about to. From any thread."""
        self._surface.streams.end()


def create_app(
    premises: Premises, daemon: DaemonPort, *, port: int, random: RandomBytes = secrets.token_bytes
) -> Application:
    """``port`` is the TCP port that really listens: it is part of the names that are let in.

    Raises ``Broken`` when a route has no row in the table of powers, or a row has no route.
    """
    sweep_incoming(premises.home)
    app = FastAPI(
        title="narthex",
        version=daemon.version,
        openapi_url=None,  # served by a route of ours, behind the same table
        docs_url=None,  # its pages would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    policy = premises.policy
    surface = Surface(
        premises=premises,
        daemon=daemon,
        port=port,
        credentials=Credentials(premises, random),
        codes=CodeDesk(premises.clock, random, policy.code_lifetime, policy.code_tries),
        running=Running(),
        meter=Meter(),
        streams=Streams(),
    )
    app.state.surface = surface
    for router in (*ROUTERS, pages.router):
        app.include_router(router)
    check_routes(app)
    problems.install(app, daemon)
    describe(app)
    guard = Guard(problems.Answered(app), port=port, policy=policy, ids=premises.ids, meter=surface.meter)
    return Application(guard, surface)


def check_routes(app: FastAPI) -> None:
    """Raises ``Broken`` unless routes and rows of ``api.access.TABLE`` match one to one."""
    operations: list[str] = []
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        if not isinstance(route, DeclaredRoute):
            raise Broken(f"{context.path} is not a declared route: it would be open to everyone")
        operations.append(_operation(route))
    missing, unused = set(operations) - set(TABLE), set(TABLE) - set(operations)
    if missing or unused or len(operations) != len(set(operations)):
        raise Broken(f"routes and api.access.TABLE differ: {sorted(missing | unused) or 'an operation appears twice'}")


def _operation(route: APIRoute) -> str:
    if route.operation_id is None:
        raise Broken(f"{route.path} has no operation_id")
    return route.operation_id
