"""The API, a file a resource. Each file has one ``router``; every route has a row in ``api.access.TABLE``."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from api.routes import (
    captures,
    decisions,
    events,
    health,
    items,
    memories,
    metrics,
    proposals,
    refused_approvals,
    search,
    session,
    settings,
    status,
    tokens,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    health.router,
    metrics.router,
    session.router,
    captures.router,
    items.router,
    proposals.router,
    decisions.router,
    memories.router,
    search.router,
    status.router,
    events.router,
    settings.router,
    tokens.router,
    refused_approvals.router,
)
