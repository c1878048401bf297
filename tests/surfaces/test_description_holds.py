"""What the description of the API says is so: of hundreds of generated requests each is answered as declared."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from pipelines.premises import Premises
from tests.clock import SettableClock
from tests.surfaces.served import Served, serving

_SETTINGS: Final = Path(__file__).with_name("schemathesis.toml")
_SECONDS: Final = 400
_CASES: Final = 500


def test_generated_requests_find_nothing(premises: Premises, clock: SettableClock, tmp_path: Path) -> None:  # S-062
    with serving(premises, clock) as served:
        schema = served.call("GET", "/openapi.json").json()
        description = tmp_path / "openapi.json"
        description.write_text(json.dumps(schema), "utf-8")
        ended = subprocess.run(
            _command(served, description, _left_out(schema)),
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1", "PYTHONWARNINGS": "ignore"},
            text=True,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
        assert ended.returncode == 0, ended.stdout[-8000:] + ended.stderr[-2000:]
        generated = re.search(r"(\d+) generated", ended.stdout)
        assert generated is not None
        assert int(generated[1]) >= _CASES, ended.stdout[-2000:]
        assert served.daemon.failures == []


def test_the_examples_are_accepted(premises: Premises, clock: SettableClock) -> None:
    with serving(premises, clock) as served:
        schema = served.call("GET", "/openapi.json").json()
        for path in ("/v1/captures", "/v1/tokens", "/v1/proposals"):
            body = schema["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
            example = schema["components"]["schemas"][body["$ref"].rpartition("/")[2]]["examples"][0]
            answer = served.call("POST", path, example)
            assert answer.status == 201, (path, answer.body)


def test_every_method_of_a_path_is_named(premises: Premises, clock: SettableClock) -> None:
    with serving(premises, clock) as served:
        for path, methods in (("/v1/tokens", "GET, POST"), ("/v1/session", "DELETE, POST"), ("/livez", "GET")):
            answer = served.call("PATCH", path)
            assert answer.status == 405
            assert answer.headers["allow"] == methods


def _command(served: Served, description: Path, left_out: list[str]) -> list[str]:
    """Deterministic: the same requests for the same description."""
    program = Path(sys.executable).with_name("schemathesis")
    options = ["--url", served.address, "--header", f"Authorization: Bearer {served.bearer}", "--max-examples", "2"]
    options += ["--generation-deterministic", "--no-shrink", "--continue-on-failure"]
    options += ["--phases", "examples,coverage,fuzzing,stateful", "--output-truncate", "false"]
    options += ["--request-timeout", "20", "--warnings", "off"]
    for operation in left_out:
        options += ["--exclude-operation-id", operation]
    return [str(program), "--config-file", str(_SETTINGS), "run", *options, str(description)]


def _left_out(schema: dict[str, Any]) -> list[str]:
    """What would end the session that asks, and answers that have no end."""
    endless = [
        operation["operationId"]
        for operations in schema["paths"].values()
        for operation in operations.values()
        if any("text/event-stream" in answer.get("content", {}) for answer in operation["responses"].values())
    ]
    return ["close_session", *endless]
