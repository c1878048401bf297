"""Odd JSON gets a typed refusal, never a 500 and never a guess."""

from __future__ import annotations

from tests.surfaces.asgi import call
from tests.surfaces.rig import PORT, Rig

HOST = ("Host", f"127.0.0.1:{PORT}")
CORPUS: dict[str, bytes] = {  # S-060
    "lone surrogate": rb'{"kind":"text","text":"\ud800"}',
    "lone surrogate in a key": rb'{"kind":"text","text":"a","\udfff":1}',
    "NUL": rb'{"kind":"text","text":"a\u0000b"}',
    "raw control character": b'{"kind":"text","text":"a\x01b"}',
    "2^63": b'{"kind":"text","text":"a","tags":[9223372036854775808]}',
    "5000 digits": b'{"kind":"text","text":' + b"9" * 5000 + b"}",
    "-2^63-1": b'{"kind":"text","text":-9223372036854775809}',
    "1e400": b'{"kind":"text","text":1e400}',
    "NaN": b'{"kind":"text","text":NaN}',
    "-Infinity": b'{"kind":"text","text":-Infinity}',
    "depth 100000": b"[" * 100_000,
    "depth 100000, closed": b"[" * 100_000 + b"]" * 100_000,
    "depth 900": b'{"kind":"text","text":"a","tags":' + b"[" * 900 + b"]" * 900 + b"}",
    "depth 33": b"[" * 34 + b"]" * 34,
    "duplicate keys": b'{"kind":"text","text":"a","text":"b"}',
    "bad UTF-8": b'{"kind":"text","text":"\xff\xfe"}',
    "overlong UTF-8": b'{"kind":"text","text":"\xc0\xaf"}',
    "surrogate in UTF-8": b'{"kind":"text","text":"\xed\xa0\x80"}',
    "BOM": b'\xef\xbb\xbf{"kind":"text","text":"a"}',
    "UTF-16": '{"kind":"text","text":"a"}'.encode("utf-16"),
    "UTF-16 without BOM": '{"kind":"text","text":"a"}'.encode("utf-16-le"),
    "two values": b'{"kind":"text","text":"a"}{}',
    "comment": b'{"kind":"text","text":"a"} // x',
    "single quotes": b"{'kind':'text','text':'a'}",
    "empty": b" ",
    "null": b"null",
    "list": b'[{"kind":"text","text":"a"}]',
    "text": b'"a"',
    "unknown field": b'{"kind":"text","text":"a","state":"promoted"}',
    "unknown kind": b'{"kind":"page","text":"a"}',
    "both": b'{"kind":"text","text":"a","url":"https://example.org"}',
    "neither": b'{"kind":"link"}',
    "wrong type": b'{"kind":"text","text":7}',
    "bad scope": b'{"kind":"text","text":"a","scope":"nobody"}',
    "javascript link": b'{"kind":"link","url":"javascript:alert(1)"}',
}


def test_odd_json_is_refused(rig: Rig) -> None:  # S-060
    headers = [HOST, ("Content-Type", "application/json"), ("Authorization", rig.owner()["Authorization"])]
    for name, body in CORPUS.items():
        answer = call(rig.app, "POST", "/v1/captures", headers, [body])
        assert answer.status in (400, 422), (name, answer.body)
        problem = answer.json()
        assert answer.header("content-type") == "application/problem+json"
        assert problem["type"].startswith("urn:narthex:problem:")
        assert problem["instance"] == answer.header("x-request-id")
    assert rig.daemon.wakes == 0


def test_plain_json_is_read(rig: Rig) -> None:
    bearer = ("Authorization", rig.owner()["Authorization"])
    spellings = ["application/json", "Application/JSON; charset=utf-8", 'application/json;charset="UTF-8"']
    for number, spelling in enumerate(spellings):
        body = f'{{"kind":"text","text":"{number} Größe 😀 \\ud83d\\ude00"}}'.encode()
        answer = call(rig.app, "POST", "/v1/captures", [HOST, ("Content-Type", spelling), bearer], [body[:9], body[9:]])
        assert answer.status == 201


def test_another_charset_is_refused(rig: Rig) -> None:
    headers = [HOST, ("Content-Type", "application/json; charset=latin-1"), ("Content-Length", "2")]
    assert call(rig.app, "POST", "/v1/session", headers, [b"{}"]).status == 415


def test_what_is_wrong_is_pointed_at(rig: Rig) -> None:
    body = {"name": "x", "kind": "agent", "capabilities": ["approve"], "admin": True}
    answer = rig.tcp.post("/v1/tokens", json=body, headers=rig.owner())
    assert answer.status_code == 422
    assert {error["pointer"] for error in answer.json()["errors"]} == {"/capabilities/0", "/admin"}
    # what was sent is not sent back
    secret = rig.tcp.post("/v1/session", json={"code": {"very": "private"}})
    assert "private" not in secret.text


def test_odd_queries_are_refused(rig: Rig) -> None:
    headers = rig.owner()
    for query in ("q=%00", "q=a&limit=0", "q=a&limit=9999999999999999999999", "q=a&limit=x", ""):
        assert rig.tcp.get(f"/v1/search?{query}", headers=headers).status_code == 422, query


def test_search_has_no_syntax_to_get_wrong(rig: Rig) -> None:
    headers = rig.owner()
    for query in ('"', "a AND", "NEAR(", "*", "a:b", "-", "(" * 500, "%ff%fe", "' OR 1=1 --", "   "):
        answer = rig.tcp.get("/v1/search", params={"q": query}, headers=headers)
        assert answer.status_code in (200, 422), answer.text


def test_only_our_cursors_are_read(rig: Rig) -> None:
    headers = rig.owner()
    for cursor in ("x", "MTppdG1f", "MTpwcnBfMDFqcTdyM2s4djJt", "é", "=", "a" * 101):
        assert rig.tcp.get("/v1/items", params={"cursor": cursor}, headers=headers).status_code == 422, cursor


def test_only_ids_are_looked_up(rig: Rig) -> None:
    headers = rig.owner()
    odd = [
        "itm_",
        "itm_01jq7r3k8v2mm",
        "prp_01jq7r3k8v2m",
        "itm_01JQ7R3K8V2M",
        "..%2f..",
        "%00",
        "a" * 300,
        "itm_01jq7r3k8v2m%0a",
    ]
    for item in odd:
        assert rig.tcp.get(f"/v1/items/{item}", headers=headers).status_code in (400, 404, 422), item
