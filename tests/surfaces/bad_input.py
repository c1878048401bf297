"""Requests that no honest client sends, each with the statuses that are right for it. Sends none itself.

In raw bytes and paths ``PROPOSAL`` stands for a pending proposal, ``PORT`` for the port, ``BEARER`` for an owner's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

JSON: Final = "application/json"
ID: Final = "01jq7r3k8v2m"


@dataclass(frozen=True)
class Bad:
    """One request; ``raw`` replaces everything else. ``unknown`` answers are those of a thing that is not there."""

    name: str
    statuses: frozenset[int]
    method: str = "GET"
    path: str = "/v1/status"
    body: bytes = b""
    kind: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes = b""
    end: bool = False


NOT_JSON: Final = {
    "nothing but a space": b" ",
    "half an object": b'{"kind":',
    "two values": b"{}{}",
    "comment": b"{} // x",
    "single quotes": b"{'a': 1}",
    "raw control character": b'{"a": "\x01"}',
    "bad UTF-8": b'{"a": "\xff\xfe"}',
    "overlong UTF-8": b'{"a": "\xc0\xaf"}',
    "surrogate in UTF-8": b'{"a": "\xed\xa0\x80"}',
    "BOM": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "trailing comma": b'{"a": 1,}',
    "bare word": b"undefined",
}
ODD_JSON: Final = {
    "lone surrogate": rb'{"a": "\ud800"}',
    "lone surrogate in a key": rb'{"\udfff": 1}',
    "NUL": rb'{"a": "\u0000"}',
    "2^63": b'{"a": 9223372036854775808}',
    "-2^63-1": b'{"a": -9223372036854775809}',
    "5000 digits": b'{"a": ' + b"9" * 5000 + b"}",
    "1e400": b'{"a": 1e400}',
    "NaN": b'{"a": NaN}',
    "-Infinity": b'{"a": -Infinity}',
    "depth 100000": b"[" * 100_000 + b"]" * 100_000,
    "depth 900": b'{"a": ' + b"[" * 900 + b"]" * 900 + b"}",
    "duplicate keys": b'{"a": 1, "a": 2}',
    "a list": b"[{}]",
    "a text": b'"a"',
    "unknown field": b'{"zzz": 1}',
}
WRITES: Final = (
    "/v1/session",
    "/v1/session/link",
    "/v1/captures",
    "/v1/proposals",
    "/v1/proposals/PROPOSAL/decision",
    "/v1/proposals/PROPOSAL/withdraw",
    f"/v1/items/itm_{ID}/release",
    "/v1/tokens",
)


def json_traps() -> Iterator[Bad]:
    """Every trap at every route that reads JSON."""
    for path in WRITES:
        for name, body in NOT_JSON.items():
            yield Bad(f"{name} at {path}", frozenset({400}), "POST", path, body)
        for name, body in ODD_JSON.items():
            yield Bad(f"{name} at {path}", frozenset({422}), "POST", path, body)


_CAPTURE: Final = {"kind": "text", "text": "a"}
_PROPOSE: Final = {
    "action": "create_memory",
    "payload": {"title": "t", "type": "concept", "l0": "a", "l1": "b"},
    "rationale": "",
}
_DECIDE: Final = {"action": "approve", "revision": 1, "digest": "0" * 64, "shown_ms": 1}
_TOKEN: Final = {"name": "n", "kind": "agent", "capabilities": ["read"]}
SHAPES: Final[dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]] = {
    "/v1/captures": (
        _CAPTURE,
        [
            {"kind": "page"},
            {"kind": None},
            {"text": 7},
            {"text": ""},
            {"text": None},
            {"url": "https://example.org"},
            {"kind": "link"},
            {"kind": "link", "text": None, "url": "javascript:alert(1)"},
            {"kind": "link", "text": None, "url": "file:///etc/passwd"},
            {"kind": "link", "text": None, "url": "http://[::1"},
            {"kind": "link", "text": None, "url": "http://a b/"},
            {"kind": "link", "text": None, "url": "https://" + "a" * 100_000},
            {"tags": "garden"},
            {"tags": ["x"] * 51},
            {"tags": [None]},
            {"tags": ["x" * 201]},
            {"note": "x" * 20_001},
            {"title": "x" * 1001},
            {"scope": "nobody"},
            {"scope": "'; DROP TABLE item; --"},
            {"state": "promoted"},
        ],
    ),
    "/v1/proposals": (
        _PROPOSE,
        [
            {"action": "approve"},
            {"action": "../create_memory"},
            {"action": "__init__"},
            {"action": ""},
            {"payload": None},
            {"payload": []},
            {"payload": {}},
            {"payload": {**_PROPOSE["payload"], "type": "nonsense"}},  # type: ignore[dict-item]
            {"payload": {**_PROPOSE["payload"], "path": "../../etc/passwd"}},  # type: ignore[dict-item]
            {"payload": {**_PROPOSE["payload"], "title": ""}},  # type: ignore[dict-item]
            {"payload": {**_PROPOSE["payload"], "tags": {"a": 1}}},  # type: ignore[dict-item]
            {"evidence": [{"item_id": "itm_x", "quote": "a"}]},
            {"evidence": [{"item_id": f"itm_{ID}", "quote": ""}]},
            {"evidence": [{"item_id": f"prp_{ID}", "quote": "a"}]},
            {"evidence": "none"},
            {"rationale": "x" * 2001},
            {"state": "promoted"},
            {"confidence": 2},
        ],
    ),
    "/v1/proposals/PROPOSAL/decision": (
        _DECIDE,
        [
            {"action": "promote"},
            {"revision": "1"},
            {"revision": 1.5},
            {"revision": 0},
            {"revision": 2**31},
            {"revision": True},
            {"digest": "0" * 63},
            {"digest": "G" * 64},
            {"digest": "0" * 64 + "\n"},
            {"digest": None},
            {"shown_ms": -1},
            {"shown_ms": 2**62},
            {"shown_ms": "1"},
            {"reason": "because"},
            {"reason_code": "nonsense", "action": "reject"},
            {"reason": "x" * 2001, "action": "reject"},
            {"owner": "me"},
        ],
    ),
    "/v1/tokens": (
        _TOKEN,
        [
            {"name": ""},
            {"name": "x" * 61},
            {"name": "a\nb"},
            {"name": "owner"},
            {"kind": "owner"},
            {"kind": "daemon"},
            {"capabilities": []},
            {"capabilities": ["approve"]},
            {"capabilities": ["read"] * 9},
            {"capabilities": "read"},
            {"scope": "nobody"},
            {"expires_days": 0},
            {"expires_days": 10**9},
            {"expires_days": 1.5},
            {"expires_days": "1"},
            {"secret": "nx_chosen"},
        ],
    ),
    "/v1/session": (
        {"code": "AAAA-AAAA"},
        [{"code": ""}, {"code": "x" * 41}, {"code": 1}, {"code": None}, {"client": "\x07"}, {"client": "x" * 61}],
    ),
}


def shapes() -> Iterator[Bad]:
    """Proper JSON with one thing wrong."""
    for path, (proper, changes) in SHAPES.items():
        for change in changes:
            body = json.dumps({**proper, **change}).encode()
            status = (
                403 if "path" in (change.get("payload") or ()) else 422
            )  # where a memory lies is not the sender's to say
            yield Bad(f"{str(change)[:120]} at {path}", frozenset({status}), "POST", path, body)


ODD_IDS: Final = (
    "x", "0", "-1", f"itm_{ID}m", f"ITM_{ID}", "itm_01JQ7R3K8V2M", "itm_iiiiiiiiiiii", f"xxx_{ID}", "%20", "%00", "%ff",
    "..%2f..%2fetc%2fpasswd", "%2e%2e", "..;", "itm_*", "'%20OR%201=1--", "null", "%F0%9F%98%80", "a" * 300,
    f"itm_{ID}%0a", f"%0aitm_{ID}", f"itm_{ID}%00", f"itm_{ID}/", f"itm_{ID};x=1",
)  # fmt: skip
NAMED: Final = (
    ("GET", "/v1/items/ID"),
    ("GET", "/v1/items/ID/text"),
    ("GET", "/v1/items/ID/original"),
    ("POST", "/v1/items/ID/discard"),
    ("GET", "/v1/proposals/ID"),
    ("POST", "/v1/proposals/ID/withdraw"),
    ("GET", "/v1/decisions/ID"),
    ("GET", "/v1/memories/ID/history"),
    ("DELETE", "/v1/tokens/ID"),
)


def ids() -> Iterator[Bad]:
    """What is no id: refused before it is looked up, or no path at all."""
    for method, path in NAMED:
        for odd in ODD_IDS:
            yield Bad(f"{method} {path} {odd[:40]}", frozenset({400, 404, 422}), method, path.replace("ID", odd))


ODD_CURSORS: Final = ("x", "MTppdG1f", "%C3%A9", "=", "a" * 101, "%00", "..", "MTo", "Mjpp")
ODD_LIMITS: Final = ("0", "-1", "201", "x", "1.5", "", "9999999999999999999999", "1e2", "%00", "0x10", "١٠")
OTHER_CURSOR: Final = {
    "/v1/items": "MTpwcnBfMDFqcTdyM2s4djJt",
    "/v1/proposals": "MTppdG1fMDFqcTdyM2s4djJt",
    "/v1/decisions": "MTppdG1fMDFqcTdyM2s4djJt",
    "/v1/memories": "MTppdG1fMDFqcTdyM2s4djJt",
}
"""Each list, and a cursor that is proper but of another list."""


def queries() -> Iterator[Bad]:
    """Pages that nobody made, states that do not exist."""
    for path in OTHER_CURSOR:
        for cursor in (*ODD_CURSORS, OTHER_CURSOR[path]):
            yield Bad(f"cursor {cursor[:30]} at {path}", frozenset({422}), path=f"{path}?cursor={cursor}")
        for limit in ODD_LIMITS:
            shown = "".join(character if character.isascii() else "%D9%A1" for character in limit)
            allowed = {422} if limit != "١٠" else {422, 200}
            yield Bad(f"limit {limit} at {path}", frozenset(allowed), path=f"{path}?limit={shown}")
    for path in ("/v1/items", "/v1/proposals", "/v1/memories"):
        for state in ("nonsense", "", "%00", "PENDING", "pending'--"):
            yield Bad(f"state {state} at {path}", frozenset({422}), path=f"{path}?state={state}")
    for query in ("", "limit=5", "q=%00", "q=" + "a" * 1001, "q=a&limit=0", "q=a&limit=101", "q=%ed%a0%80%00"):
        yield Bad(f"search {query[:40]}", frozenset({422}), path=f"/v1/search?{query}")
    yield Bad("a query of 20 KB", frozenset({414}), path="/v1/search?q=" + "a" * 20_000)


SEARCHES: Final = (
    '"', '""', '"""', "a AND", "OR", "NOT a", "NEAR(", "NEAR(a b, 5", "*", "a*", "a:b", "title:x", "-", "--", "a -b",
    "(" * 500, ")" * 500, "^a", "{a b}", "a + b", "' OR 1=1 --", "%", "_", "\\", "   ", "\u202e", "\u200b",
    "é", "日本語", "😀", "a" * 1000, "rank MATCH 'x'", "; DROP TABLE note; --", "\ufffd", "\ufffe",
    "e\u0301" * 300, "x" + "\u0300" * 500,
)  # fmt: skip
"""Searches that other products answer with a syntax error."""
