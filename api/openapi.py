"""Completes the description of the API: every operation says which problems it may answer with and what it needs."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from api.access import TABLE, Power
from api.problems import MEDIA_TYPE

_IDS: Final = {
    "item_id": "itm",
    "proposal_id": "prp",
    "decision_id": "dec",
    "memory_id": "mem",
    "token_id": "tok",
}
"""The prefix of the id that a parameter of this name is."""
_METHODS: Final = frozenset({"get", "post", "delete", "put", "patch"})
_ALWAYS: Final = (400, 403, 421, 422, 500, 503)
_TITLES: Final = {
    400: "The request is malformed",
    401: "A credential is needed",
    403: "Not permitted",
    404: "Not found",
    409: "It changed meanwhile",
    412: "There is a newer version",
    413: "Too large",
    415: "The body has the wrong type",
    421: "This name does not lead here",
    422: "The request is not valid",
    428: "Say which version you saw",
    429: "Too many requests",
    500: "narthex found itself broken",
    503: "Try again later",
    507: "There is no space left",
}
_PROBLEM: Final[dict[str, Any]] = {
    "title": "Problem",
    "type": "object",
    "description": "What happened and why, and what to do about it (RFC 9457).",
    "required": ["type", "title", "status", "detail", "instance", "retryable"],
    "properties": {
        "type": {"type": "string", "description": "urn:narthex:problem: and a stable code"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "hint": {"type": "string"},
        "instance": {"type": "string", "description": "the request id"},
        "retryable": {"type": "boolean", "description": "whether looking again and repeating can succeed"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "message"],
                "properties": {"pointer": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
    "examples": [
        {
            "type": "urn:narthex:problem:digest-mismatch",
            "title": "That is not what is pending",
            "status": 409,
            "detail": "prp_01jq7r3k8v2m has another digest than the one you name",
            "hint": "look at it again",
            "instance": "req_01jq7r3k8v2m",
            "retryable": True,
        }
    ],
}


def describe(app: FastAPI) -> None:
    """Makes ``app.openapi()`` answer the completed description."""

    def completed() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _complete(get_openapi(title=app.title, version=app.version, routes=app.routes))
        return app.openapi_schema

    app.openapi = completed  # type: ignore[method-assign] # FastAPI documents this as the way to extend it


def _complete(schema: dict[str, Any]) -> dict[str, Any]:
    components = schema.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Problem"] = _PROBLEM
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "a token (nx_…) or an owner session (nxs_…)"}
    }
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            if method in _METHODS:
                _complete_operation(path, method, operation)
    return schema


def _complete_operation(path: str, method: str, operation: dict[str, Any]) -> None:
    power = TABLE[operation["operationId"]]
    operation["x-power"] = str(power)
    if power is not Power.OPEN:
        operation["security"] = [{"bearer": []}] if power not in (Power.CAPTURE, Power.LOCAL) else [{"bearer": []}, {}]
    statuses = {*_ALWAYS}
    if power is not Power.OPEN or operation["operationId"] == "open_session":
        statuses.add(401)
    if "{" in path:
        statuses.add(404)
    for parameter in operation.get("parameters", ()):
        if parameter["name"] in _IDS:
            _complete_id(parameter)
    if method != "get":
        statuses |= {409, 413, 415, 429, 507}
    if operation["operationId"] == "decide_proposal":
        statuses |= {412, 428}
    reference = {"schema": {"$ref": "#/components/schemas/Problem"}}
    for status in sorted(statuses):
        # a status that an operation describes itself keeps its description: /readyz answers its checks with 503
        if status == 422 or str(status) not in operation["responses"]:
            operation["responses"][str(status)] = {"description": _TITLES[status], "content": {MEDIA_TYPE: reference}}


def _complete_id(parameter: dict[str, Any]) -> None:
    prefix = _IDS[parameter["name"]]
    allowed = {"type": "string", "pattern": f"^{prefix}_[0-9a-hjkmnp-tv-z]{{12}}$"}
    schema = parameter["schema"]
    parameter["schema"] = {**schema, "anyOf": [allowed, {"type": "null"}]} if "anyOf" in schema else schema | allowed
    parameter["example"] = f"{prefix}_01jq7r3k8v2m"
