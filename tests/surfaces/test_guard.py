"""Host, Origin, types and sizes: refused before routing, on every path, whatever the credential."""

from __future__ import annotations

from itertools import product

from tests.surfaces.asgi import Answered, call
from tests.surfaces.rig import PAGES, PORT, Rig

OURS = f"127.0.0.1:{PORT}"
PAGE = f"narthex.localhost:{PORT}"
FOREIGN_HOSTS = [
    f"evil.test:{PORT}",
    f"127.0.0.1.evil.test:{PORT}",
    f"localhost.:{PORT}",
    "localhost:@evil.test",
    "user@localhost",
    f"{OURS}, evil.test",
    "2130706433",
    "127.1",
    f"0.0.0.0:{PORT}",
    "127.0.0.1:1",
    "127.0.0.1",
    f"[::1]:{PORT}",
    "narthex.sock",
    f"NARTHEX.localhost.:{PORT}",
]
PATHS = ["/livez", "/v1/search", "/review", "/nothing/there"]


def test_foreign_host_is_refused_before_routing(rig: Rig) -> None:  # S-001
    for host, path in product(FOREIGN_HOSTS, PATHS):
        answer = call(rig.app, "GET", path, [("Host", host)])
        assert answer.status == 421, host
        assert answer.json()["type"] == "urn:narthex:problem:misdirected"


def test_missing_empty_or_second_host_is_refused(rig: Rig) -> None:  # S-001
    for hosts in ([], [""], [OURS, "evil.test"], ["evil.test", OURS], [OURS, OURS]):
        assert call(rig.app, "GET", "/livez", [("Host", host) for host in hosts]).status == 400, hosts


def test_own_hosts_are_let_in(rig: Rig) -> None:
    for host in (OURS, f"localhost:{PORT}", PAGE):
        assert call(rig.app, "GET", "/livez", [("Host", host)]).status == 200
        assert call(rig.app, "GET", "/livez", [("Host", host)], listener=None).status == 200
        # the names of the TCP door do not open the socket
        assert call(rig.app, "GET", "/livez", [("Host", host)], listener="socket").status == 421


def test_odd_paths_are_refused(rig: Rig) -> None:  # S-001
    assert call(rig.app, "GET", "@evil.test", [("Host", OURS)]).status == 400
    assert call(rig.app, "GET", "http://evil.test/livez", [("Host", OURS)]).status == 400
    assert call(rig.app, "GET", "/v1/items/\x00", [("Host", OURS)]).status == 400


WRITES = [("POST", "/v1/captures"), ("POST", "/v1/session"), ("DELETE", "/v1/session"), ("POST", "/login")]


FOREIGN_ORIGINS = ["https://evil.test", "null", "http://localhost:3000", f"http://127.0.0.1:{PORT}", PAGES + "/", ""]


def test_foreign_origin_is_refused(rig: Rig) -> None:  # S-002, S-006
    asked = [*WRITES, ("GET", "/v1/search"), ("GET", "/review"), ("OPTIONS", "/v1/captures")]
    for origin, (method, path) in product(FOREIGN_ORIGINS, asked):
        headers = [("Host", PAGE), ("Origin", origin), ("Content-Type", "application/json"), ("Content-Length", "2")]
        answer = call(rig.app, method, path, headers, [b"{}"])
        assert answer.status == 403, (origin, method, path)
        assert _no_cors(answer)


def test_other_sites_without_origin_are_refused(rig: Rig) -> None:  # S-002
    asked = [*WRITES, ("GET", "/v1/search"), ("GET", "/review"), ("GET", "/livez")]
    for site, (method, path) in product(["cross-site", "same-site", "anything"], asked):
        headers = [("Host", PAGE), ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "image")]
        assert call(rig.app, method, path, headers).status == 403, (site, method, path)
        navigating = [*headers[:2], ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]
        assert call(rig.app, method, path, navigating).status == 403, (site, method, path)


def test_a_link_elsewhere_may_lead_to_the_entrance_only(rig: Rig) -> None:
    for path in ("/", "/login"):
        headers = [("Host", PAGE), ("Sec-Fetch-Site", "cross-site")]
        top = [*headers, ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]
        framed = [*headers, ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")]
        # a redirect would carry the foreign site along to a page that refuses it
        assert call(rig.app, "GET", path, top).status == 200
        assert call(rig.app, "GET", path, framed).status == 403


def test_own_pages_are_let_in(rig: Rig) -> None:
    for own in (("Sec-Fetch-Site", "none"), ("Sec-Fetch-Site", "same-origin"), ("Origin", PAGES)):
        assert call(rig.app, "GET", "/login", [("Host", PAGE), own]).status == 200


def test_pages_live_on_one_name_only(rig: Rig) -> None:  # S-004
    for host in (OURS, f"localhost:{PORT}"):
        answer = call(rig.app, "GET", "/login", [("Host", host)])
        assert (answer.status, answer.header("location")) == (303, f"{PAGES}/login")
        assert answer.header("set-cookie") is None
        posted = [("Host", host), ("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", "9")]
        assert call(rig.app, "POST", "/login", posted, [b"code=AAAA"]).status == 421
        elsewhere = call(rig.app, "GET", "//evil.test/\r\nx", [("Host", host)])
        assert (elsewhere.header("location") or "").startswith(f"{PAGES}//evil.test/")
    assert call(rig.app, "GET", "/login", [("Host", "narthex.sock")], listener="socket").status == 421


def test_options_never_says_cors(rig: Rig) -> None:  # S-006
    paths = ["/v1/captures", "/v1/tokens", "/", "/review", "/livez", "/static/narthex.css"]
    for path, origin in product(paths, (None, PAGES)):
        headers = [("Host", PAGE), ("Access-Control-Request-Method", "POST")]
        answer = call(rig.app, "OPTIONS", path, headers if origin is None else [*headers, ("Origin", origin)])
        assert answer.status == 405
        assert _no_cors(answer)


def test_there_is_no_websocket(rig: Rig) -> None:  # S-007
    for headers in ([("Host", PAGE)], [("Host", PAGE), ("Origin", PAGES)], [("Host", "evil.test")]):
        assert call(rig.app, "GET", "/v1/events", headers, kind="websocket").status == 403


def test_methods_cannot_be_overridden(rig: Rig) -> None:  # S-003
    headers = rig.owner()
    proposal = rig.propose()
    decide = f"/v1/proposals/{proposal['id']}/decision"
    for method in ("GET", "HEAD", "PUT", "PATCH"):
        assert rig.tcp.request(method, decide, headers=headers).status_code == 405
        overriding = {**headers, "X-HTTP-Method-Override": "POST", "X-Method-Override": "POST"}
        assert rig.tcp.request(method, decide + "?_method=POST", headers=overriding).status_code == 405
    for path in ("/v1/approve-all", "/v1/decisions", "/v1/proposals/approve"):  # S-022
        assert rig.tcp.post(path, json={"ids": [proposal["id"]]}, headers=headers).status_code in (404, 405)
    assert rig.tcp.get(f"/v1/proposals/{proposal['id']}", headers=headers).json()["state"] == "pending"


def test_two_authorization_headers_are_refused(rig: Rig) -> None:  # S-017
    secret = rig.owner()["Authorization"]
    for pair in ([secret, secret], [secret, "Bearer nx_" + "A" * 43]):
        headers = [("Host", OURS), *(("Authorization", value) for value in pair)]
        answer = call(rig.app, "GET", "/v1/items", headers)
        assert answer.status == 401
        assert answer.header("www-authenticate") is not None


def test_json_must_say_that_it_is(rig: Rig) -> None:  # S-002, S-060
    for sent in ("text/plain", "application/vnd.x+json", "multipart/form-data; boundary=x", ""):
        typed = [("Content-Type", sent)] if sent else []
        for framing in (("Content-Length", "2"), ("Transfer-Encoding", "chunked")):
            answer = call(rig.app, "POST", "/v1/session", [("Host", OURS), framing, *typed], [b"{}"])
            assert answer.status == 415, sent


def test_compressed_bodies_are_refused(rig: Rig) -> None:
    headers = [("Host", OURS), ("Content-Type", "application/json"), ("Content-Encoding", "gzip")]
    assert call(rig.app, "POST", "/v1/session", headers, [b"{}"]).status == 415


def test_real_bytes_are_counted(rig: Rig) -> None:
    headers = [("Host", OURS), ("Content-Type", "application/json")]
    declared = [*headers, ("Content-Length", str(2 * 1024 * 1024))]
    assert call(rig.app, "POST", "/v1/session", declared, [b"{}"]).status == 413
    lying = [*headers, ("Transfer-Encoding", "chunked")]
    assert call(rig.app, "POST", "/v1/session", lying, [b" " * 65536] * 17).status == 413


def test_long_addresses_and_headers_are_refused(rig: Rig) -> None:  # S-060
    assert call(rig.app, "GET", "/" + "a" * 70_000, [("Host", OURS)]).status == 414
    assert call(rig.app, "GET", "/livez", [("Host", OURS)], query="a" * 70_000).status == 414
    assert call(rig.app, "GET", "/livez", [("Host", OURS), ("X-Long", "a" * 70_000)]).status == 431


def test_every_answer_carries_the_headers(rig: Rig) -> None:  # S-011, X04
    for path in ("/livez", "/login", "/nothing", "/v1/items", "/static/narthex.css"):
        answer = call(rig.app, "GET", path, [("Host", PAGE)])
        assert answer.header("x-content-type-options") == "nosniff"
        assert answer.header("cache-control") == "no-store"
        assert answer.header("x-frame-options") == "DENY"
        assert answer.header("cross-origin-opener-policy") == "same-origin"
        assert answer.header("cross-origin-resource-policy") == "same-origin"
        policy = answer.header("content-security-policy") or ""
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        page = (answer.header("content-type") or "").startswith("text/html")
        assert ("script-src 'self'" in policy) is page
        assert ("sandbox" in policy) is not page


def test_request_id_is_echoed_when_it_is_one(rig: Rig) -> None:
    answer = call(rig.app, "GET", "/livez", [("Host", OURS), ("X-Request-Id", "req-12345678")])
    assert answer.header("x-request-id") == "req-12345678"
    odd = call(rig.app, "GET", "/livez", [("Host", OURS), ("X-Request-Id", "bad\nid<script>")])
    assert (odd.header("x-request-id") or "").startswith("req_")


def _no_cors(answer: Answered) -> bool:
    return not any(name.startswith("access-control-") for name, _ in answer.headers)
