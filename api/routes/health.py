"""Whether the process answers and whether it can work; needs no credential and tells nothing about content."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse

from api.doorway import DeclaredRoute
from api.standing import Alive, Holds, Ready
from api.surface import Here

router = APIRouter(route_class=DeclaredRoute, tags=["health"])


@router.get("/livez", operation_id="check_alive")
def check_alive() -> Alive:
    """Answers as long as the process takes requests."""
    return Alive(status="ok")


@router.get("/readyz", operation_id="check_ready", response_model=Ready)
def check_ready(here: Here) -> JSONResponse:
    """Which checks of the daemon hold: 200 when all do, else 503. What is wrong is for the owner: /v1/status."""
    checks = {name: Holds(ok=check.ok) for name, check in here.daemon.checks().items()}
    ok = all(check.ok for check in checks.values())
    ready = Ready(status="ok" if ok else "not ready", checks=checks)
    return JSONResponse(ready.model_dump(mode="json"), 200 if ok else 503)


@router.get("/openapi.json", operation_id="read_openapi", response_model=dict[str, Any])
def read_openapi(request: Request) -> JSONResponse:
    """This API, described in OpenAPI 3.1."""
    return JSONResponse(request.app.openapi())
