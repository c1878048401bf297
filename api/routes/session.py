"""The owner's proof: a one-time code in, a session out. The code itself never leaves over HTTP but to the owner."""

from __future__ import annotations

import logging

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.doorway import DeclaredRoute
from api.guard import listener_of
from api.ports import login_link
from api.problems import request_id
from api.schemas import Empty, OpenSession
from api.standing import CodeAnnounced, LoginLink, SessionOpened
from api.surface import Acting, Asking, Here
from pipelines.model.actor import Channel
from pipelines.model.errors import Broken

log = logging.getLogger("narthex.api")
router = APIRouter(route_class=DeclaredRoute, tags=["session"], prefix="/v1/session")


@router.post("", operation_id="open_session", status_code=201)
def open_session(body: OpenSession, here: Here, request: Request) -> SessionOpened:
    """Exchanges a one-time code for an owner session."""
    here.codes.redeem(body.code, listener_of(request.scope))
    identity = request_id(request.scope)
    token, expires_at = here.credentials.open_session(Channel.CLI, identity)
    log.info("session opened", extra={"client": body.client, "request_id": identity})
    return SessionOpened(token=token, expires_at=expires_at)


@router.post("/code", operation_id="announce_code", status_code=202)
def announce_code(here: Here, body: Empty | None = None) -> CodeAnnounced:
    """Makes the daemon print a fresh one-time code in its terminal or journal."""
    here.daemon.announce_code(here.codes.issue())
    return CodeAnnounced(printed_on="the daemon's terminal or journal")


@router.post("/link", operation_id="make_login_link", status_code=201)
def make_login_link(here: Here, body: Empty | None = None) -> LoginLink:
    """A link that opens one session in a browser of the owner."""
    return LoginLink(url=login_link(here.port, here.codes.issue()))


@router.delete("", operation_id="close_session", status_code=204, response_class=Response)
def close_session(here: Here, caller: Asking, owner: Acting) -> Response:
    """Ends the session that asks."""
    if caller.session_id is None:
        raise Broken("an owner without a session reached the API")
    here.credentials.close_session(caller.session_id, owner)
    return Response(status_code=204)
