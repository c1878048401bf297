"""Every family of errors becomes its problem; the unexpected shows nothing; what is broken stops the process."""

from __future__ import annotations

import logging

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from api import problems
from pipelines.model import errors
from pipelines.model.errors import NarthexError
from tests.surfaces.rig import StandingDaemon

SECRET = "the text of a capture"


@pytest.fixture
def daemon() -> StandingDaemon:
    from datetime import UTC, datetime

    return StandingDaemon(datetime(2026, 3, 2, tzinfo=UTC))


def _client(daemon: StandingDaemon, error: Exception) -> TestClient:
    app = FastAPI(openapi_url=None)

    def fail() -> None:
        raise error

    app.add_api_route("/fails", fail)
    problems.install(app, daemon)
    return TestClient(problems.Answered(app))


def _families() -> list[type[NarthexError]]:
    found, waiting = [], [NarthexError]
    while waiting:
        family = waiting.pop()
        found.append(family)
        waiting.extend(family.__subclasses__())
    return [family for family in found if family.__module__ == errors.__name__]


@pytest.mark.parametrize("family", _families(), ids=lambda family: family.__name__)
def test_every_error_has_its_answer(daemon: StandingDaemon, family: type[NarthexError]) -> None:
    answer = _client(daemon, family("what and why", hint="what next")).get("/fails")
    problem = answer.json()
    assert answer.status_code == family.status
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["type"] == f"urn:narthex:problem:{family.code}"
    assert (problem["detail"], problem["hint"], problem["status"]) == ("what and why", "what next", family.status)
    assert problem["retryable"] is issubclass(family, errors.Transient | errors.Conflict)
    assert ("www-authenticate" in answer.headers) is (family.status == 401)
    assert ("retry-after" in answer.headers) is (family.status in (429, 503, 507))
    assert [failure.message for failure in daemon.failures] == (["what and why"] if family is errors.Broken else [])


def test_the_unexpected_shows_nothing(daemon: StandingDaemon, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        answer = _client(daemon, ValueError(SECRET)).get("/fails")
    assert answer.status_code == 500
    assert SECRET not in answer.text
    assert "Traceback" not in answer.text
    logged = [vars(record) for record in caplog.records]
    assert not any(SECRET in str(record) for record in logged)
    assert any(record.get("problem") == "ValueError" and "test_problems.py:" in record["where"] for record in logged)
