"""The description of the API is whole: names, examples, problems; and it says nothing that is not so."""

from __future__ import annotations

import re
from typing import Any

from tests.surfaces.rig import Rig


def _schema(rig: Rig) -> dict[str, Any]:
    answer = rig.tcp.get("/openapi.json", headers=rig.held("client", "read"))
    assert answer.status_code == 200
    schema: dict[str, Any] = answer.json()
    return schema


def test_every_operation_is_described(rig: Rig) -> None:
    schema = _schema(rig)
    assert schema["openapi"].startswith("3.1")
    names: list[str] = []
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            names.append(operation["operationId"])
            assert re.fullmatch(r"[a-z]+(_[a-z]+)+", operation["operationId"])
            assert operation["description"], path
            problems = {status for status in operation["responses"] if status >= "400"}
            assert {"400", "403", "421", "422", "500"} <= problems, path
            if method != "get":
                assert {"409", "413", "415"} <= problems
            for status in problems - {"503"}:
                assert "application/problem+json" in operation["responses"][status]["content"], (path, status)
    assert len(names) == len(set(names))
    assert {"412", "428"} <= set(schema["paths"]["/v1/proposals/{proposal_id}/decision"]["post"]["responses"])


def test_every_body_and_answer_has_an_example(rig: Rig) -> None:
    schema = _schema(rig)
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            body = operation.get("requestBody")
            if body is not None:
                for content in body["content"].values():
                    assert _has_example(schema, content["schema"]), path
    for name, component in schema["components"]["schemas"].items():
        if name.startswith("Listing"):
            continue
        inner = name in {"CheckAnswer", "Happening", "EvidenceAnswer", "HitAnswer", "Quote", "RevisionAnswer"}
        inner = inner or name in {"Inbox", "ProgressAnswer", "Review", "RunAnswer", "Chain", "SettingAnswer"}
        inner = inner or "enum" in component
        assert inner or _has_example(schema, component), name


def test_no_default_error_shape_is_left(rig: Rig) -> None:
    assert "HTTPValidationError" not in str(_schema(rig))


def _has_example(schema: dict[str, Any], part: dict[str, Any]) -> bool:
    if "$ref" in part:
        return _has_example(schema, schema["components"]["schemas"][part["$ref"].rpartition("/")[2]])
    if "anyOf" in part:
        return any(_has_example(schema, choice) for choice in part["anyOf"])
    return bool("examples" in part or "example" in part)
