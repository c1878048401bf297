"""What every route may reach: premises, daemon, credentials. Made once by ``create_app``; decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from api.access import Caller
from api.auth import Credentials
from api.codes import CodeDesk
from api.event_stream import Streams
from api.idempotency import Running
from api.meter import Meter
from api.ports import DaemonPort
from pipelines.model.actor import Actor
from pipelines.model.errors import Broken
from pipelines.premises import Premises


@dataclass(frozen=True, slots=True)
class Surface:
    """One application's surroundings; every part is safe to share between threads."""

    premises: Premises
    daemon: DaemonPort
    port: int
    credentials: Credentials
    codes: CodeDesk
    running: Running
    meter: Meter
    streams: Streams


def surface(request: Request) -> Surface:
    """The surroundings of the application that answers this request."""
    found = request.app.state.surface
    assert isinstance(found, Surface)
    return found


def caller(request: Request) -> Caller:
    """Who asks, as ``api.doorway`` recognised it."""
    found = request.state.caller
    assert isinstance(found, Caller)
    return found


def actor(request: Request) -> Actor:
    """As whom the operation runs. Raises ``Broken`` where the table lets nobody in particular act."""
    found = request.state.actor
    if not isinstance(found, Actor):
        raise Broken("an operation that is open to all asked for an actor")
    return found


Here = Annotated[Surface, Depends(surface)]
Asking = Annotated[Caller, Depends(caller)]
Acting = Annotated[Actor, Depends(actor)]
