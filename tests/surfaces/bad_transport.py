"""Requests that break HTTP itself, and uploads that are no form: bytes, with the statuses that are right for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.surfaces.bad_input import ID, JSON, Bad

_HOST: Final = "Host: 127.0.0.1:PORT"
_POST: Final = f"POST /v1/captures HTTP/1.1\n{_HOST}\nAuthorization: Bearer BEARER\nContent-Type: {JSON}\n"
_CHUNKED: Final = _POST + "Transfer-Encoding: chunked\n\n"
_STREAMS: Final[dict[str, str]] = {
    "CL -1": _POST + "Content-Length: -1\n\n{}",
    "CL +2": _POST + "Content-Length: +2\n\n{}",
    "CL 0x2": _POST + "Content-Length: 0x2\n\n{}",
    "CL 2, 2": _POST + "Content-Length: 2, 3\n\n{}",
    "CL empty": _POST + "Content-Length:\n\n{}",
    "CL of 30 digits": _POST + "Content-Length: " + "9" * 30 + "\n\n{}",
    "two CL": _POST + "Content-Length: 2\nContent-Length: 3\n\n{}",
    "CL and TE": _POST + "Content-Length: 2\nTransfer-Encoding: chunked\n\n0\n\n",
    "TE and CL": _POST + "Transfer-Encoding: chunked\nContent-Length: 2\n\n0\n\n",
    "TE gzip": _POST + "Transfer-Encoding: gzip\n\n{}",
    "TE gzip, chunked": _POST + "Transfer-Encoding: gzip, chunked\n\n0\n\n",
    "TE twice": _POST + "Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n0\n\n",
    "TE xchunked": _POST + "Transfer-Encoding: xchunked\n\n0\n\n",
    "chunk size is a word": _CHUNKED + "zz\n{}\n0\n\n",
    "chunk size is negative": _CHUNKED + "-2\n{}\n0\n\n",
    "chunk size of 30 digits": _CHUNKED + "f" * 30 + "\n{}\n0\n\n",
    "chunk longer than said": _CHUNKED + "1\n{}\n0\n\n",
    "chunk without its end": _CHUNKED + "2\n{}0\n\n",
    "header without a colon": f"GET /v1/status HTTP/1.1\n{_HOST}\nnonsense\n\n",
    "header name with a space": f"GET /v1/status HTTP/1.1\n{_HOST}\nA b: c\n\n",
    "space before the colon": f"GET /v1/status HTTP/1.1\n{_HOST}\nAccept : */*\n\n",
    "header with NUL": f"GET /v1/status HTTP/1.1\n{_HOST}\nA: b\x00c\n\n",
    "empty header name": f"GET /v1/status HTTP/1.1\n{_HOST}\n: c\n\n",
    "starts with a fold": f"GET /v1/status HTTP/1.1\n {_HOST}\n\n",
    "HTTP/0.9": "GET /v1/status\n\n",
    "no version number": f"GET /v1/status HTTP/\n{_HOST}\n\n",
    "space in the path": f"GET /v1/ status HTTP/1.1\n{_HOST}\n\n",
    "raw UTF-8 in the path": f"GET /v1/\u00e9 HTTP/1.1\n{_HOST}\n\n",
    "NUL in the path": f"GET /v1/\x00 HTTP/1.1\n{_HOST}\n\n",
    "no path": f"GET HTTP/1.1\n{_HOST}\n\n",
    "method with a slash": f"GE/T /v1/status HTTP/1.1\n{_HOST}\n\n",
    "no Host": "GET /v1/status HTTP/1.1\nA: b\n\n",
    "no Host in HTTP/1.0": "GET /v1/status HTTP/1.0\n\n",
    "two Hosts": f"GET /v1/status HTTP/1.1\n{_HOST}\n{_HOST}\n\n",
    "empty Host": "GET /v1/status HTTP/1.1\nHost:\n\n",
    "asterisk": f"OPTIONS * HTTP/1.1\n{_HOST}\n\n",
    "CONNECT": f"CONNECT 127.0.0.1:1 HTTP/1.1\n{_HOST}\n\n",
    "absolute target": f"GET http://127.0.0.1:PORT/v1/status HTTP/1.1\n{_HOST}\n\n",
    "a hello of TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + "\x00" * 64 + "\n\n",
    "SSH": "SSH-2.0-OpenSSH_9.2\n\n",
    "the preface of HTTP/2": "PRI * HTTP/2.0\n\nSM\n\n",
}
_LARGE: Final[dict[str, tuple[str, int]]] = {
    "a path of 70 KB": ("GET /v1/" + "a" * 70_000 + f" HTTP/1.1\n{_HOST}\n\n", 414),
    "a path of 700 KB": ("GET /v1/" + "a" * 700_000 + f" HTTP/1.1\n{_HOST}\n\n", 431),
    "a path of 5 KB": ("GET /v1/" + "a" * 5_000 + f" HTTP/1.1\n{_HOST}\n\n", 414),
    "a header of 70 KB": (f"GET /livez HTTP/1.1\n{_HOST}\nA: " + "a" * 70_000 + "\n\n", 431),
    "a header of 2 MB": (f"GET /livez HTTP/1.1\n{_HOST}\nA: " + "a" * 2_000_000 + "\n\n", 431),
    "a header of 40 KB": (f"GET /livez HTTP/1.1\n{_HOST}\nA: " + "a" * 40_000 + "\n\n", 431),
    "3000 headers": (f"GET /livez HTTP/1.1\n{_HOST}\n" + "A: bbbbbbbbbbbb\n" * 3_000 + "\n", 431),
}
_ENDED: Final[dict[str, str]] = {
    "3 of 100 bytes": _POST + "Content-Length: 100\n\n{ }",
    "half a chunk": _CHUNKED + "10\n{}",
    "no last chunk": _CHUNKED + "2\n{}\n",
    "headers without end": f"GET /livez HTTP/1.1\n{_HOST}\nA: b",
    "half a request line": "GET /li",
}


def streams() -> Iterator[Bad]:
    """What is no request, too long a one, and bodies that break off."""
    for name, text in _STREAMS.items():
        yield Bad(name, frozenset({400, 421}), raw=_lines(text))
    for name, (text, status) in _LARGE.items():
        # a long path may come in one piece, and is read before it is refused, or in several, and is cut before its end
        statuses = frozenset({414, 431} if status == 414 else {status})
        yield Bad(name, statuses, raw=_lines(text))
    for name, text in _ENDED.items():
        yield Bad(name, frozenset({400}), raw=_lines(text), end=True)


def _lines(text: str) -> bytes:
    head, blank, rest = text.partition("\n\n")
    return (head + blank).replace("\n", "\r\n").encode("latin-1", "replace") + rest.replace("\n", "\r\n").encode(
        "latin-1"
    )


_METHODS: Final = ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "HEAD", "PROPFIND", "get", "Get", "X" * 200)
_PATHS: Final = (
    "//v1/status", "/v1/status/", "/V1/status", "/v1", "/v1/", "/v1/nothing", "/v1/../etc/passwd", "/v1/%2e%2e/status",
    "/v1/status%00", "/v1/status;x=1", "/v1/status%0d%0aA:b", "/v1/items//text", "/v1/%ff%fe", "/docs",
    "/v1/captures/file/x", "/.git/config", "/openapi.json/", "/v1/tokens/", "/v1/session/code/",
)  # fmt: skip
_HEADERS: Final[tuple[tuple[str, str, int], ...]] = (
    ("Authorization", "Basic bWU6bWU=", 401),
    ("Authorization", "Bearer", 401),
    ("Authorization", "Bearer ", 401),
    ("Authorization", "Bearer null", 401),
    ("Authorization", "Bearer nxs_" + "a" * 43, 401),
    ("Authorization", "Bearer nx_" + "a" * 43 + ", Bearer x", 401),
    ("Authorization", "Bearer nxs_\xe9", 401),
    ("Authorization", "Bearer " + "a" * 20_000, 401),
    ("Origin", "null", 403),
    ("Origin", "https://evil.test", 403),
    ("Origin", "http://narthex.localhost", 403),
    ("Origin", "http://127.0.0.1:PORT", 403),
    ("Sec-Fetch-Site", "cross-site", 403),
    ("Sec-Fetch-Site", "same-site", 403),
    ("Host", "evil.test", 421),
    ("Host", "127.0.0.1", 421),
    ("Host", "127.0.0.1:1", 421),
    ("Host", "narthex.localhost.evil.test:PORT", 421),
    ("Host", "a@127.0.0.1:PORT", 421),
    ("Host", "[::1]:PORT", 421),
)
_KINDS: Final = (
    "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/ld+json",
    "text/json", "application/json; charset=latin-1", "application/json; charset=utf-16", "application/jsonx", "*/*",
    "json", "\xe9",
)  # fmt: skip


def requests() -> Iterator[Bad]:
    """Proper HTTP that means nothing here: methods, paths, headers, types."""
    for method in _METHODS:
        yield Bad(f"{method[:20]} of /v1/status", frozenset({405}), method)
    for path in _PATHS:
        yield Bad(f"path {path}", frozenset({303, 400, 404, 421}), path=path)
    for name, value, status in _HEADERS:
        yield Bad(f"{name}: {value[:40]}", frozenset({status}), headers={name: value})
    for kind in _KINDS:
        yield Bad(f"type {kind}", frozenset({415}), "POST", "/v1/captures", b'{"kind":"text","text":"a"}', kind)
    for coding in ("gzip", "br", "deflate, gzip", "nonsense"):
        headers = {"Content-Encoding": coding}
        yield Bad(f"coding {coding}", frozenset({415}), "POST", "/v1/captures", b"{}", headers=headers)
    proper = b'{"kind":"text","text":"with a key"}'
    for key in (" ", "a b", "\xe9", "x" * 129, "a\tb"):
        headers = {"Idempotency-Key": key}
        yield Bad(f"key {key[:20]!r}", frozenset({422}), "POST", "/v1/captures", proper, headers=headers)
    decide = b'{"action":"approve","digest":"' + b"0" * 64 + b'","shown_ms":1}'
    for tag, status in (
        ("*", 422),
        ("1", 422),
        ('W/"1"', 422),
        ('"0"', 422),
        ('"1", "2"', 422),
        ('"x"', 422),
        ('"999"', 412),
    ):
        path, headers = "/v1/proposals/PROPOSAL/decision", {"If-Match": tag}
        yield Bad(f"If-Match {tag}", frozenset({status}), "POST", path, decide, headers=headers)
    yield Bad("no revision at all", frozenset({428}), "POST", "/v1/proposals/PROPOSAL/decision", decide)
    wrong = decide.replace(b"}", b',"revision":1}')
    yield Bad("another digest", frozenset({409}), "POST", "/v1/proposals/PROPOSAL/decision", wrong)
    yield Bad("no such proposal", frozenset({404}), "POST", f"/v1/proposals/prp_{ID}/decision", wrong)
    for path in ("/v1/captures", "/v1/proposals", "/v1/tokens", "/v1/session"):
        yield Bad(f"no body at {path}", frozenset({400, 415, 422}), "POST", path)


def _part(head: str, content: bytes = b"x") -> bytes:
    return (
        f"--b\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode("utf-8", "surrogateescape") + content + b"\r\n"
    )


_FILE: Final = _part('name="file"; filename="a.txt"')
_END: Final = b"--b--\r\n"
_FORMS: Final[dict[str, bytes]] = {
    "no part": _END,
    "no file": _part('name="note"') + _END,
    "two files": _FILE + _FILE + _END,
    "a file of another name": _part('name="photo"; filename="a.txt"') + _END,
    "a file without a name": _part('name="file"') + _END,
    "a note with a file name": _part('name="note"; filename="a.txt"') + _FILE + _END,
    "an unknown field": _part('name="state"') + _FILE + _END,
    "a field without a name": _part('x="y"') + _FILE + _END,
    "65 fields": _part('name="tags"') * 65 + _FILE + _END,
    "1001 fields": _part('name="tags"') * 1001 + _FILE + _END,
    "two notes": _part('name="note"') * 2 + _FILE + _END,
    "a note that is not UTF-8": _part('name="note"', b"\xff") + _FILE + _END,
    "a note with NUL": _part('name="note"', b"a\x00b") + _FILE + _END,
    "a note of 70 KB": _part('name="note"', b"x" * 70_000) + _FILE + _END,
    "a scope that is not there": _part('name="scope"', b"nobody") + _FILE + _END,
    "no end": _FILE,
    "half a part": _FILE[:40],
    "another boundary": _FILE.replace(b"--b", b"--c") + b"--c--\r\n",
    "not a form at all": b"hello",
    "a part without headers": b"--b\r\nhello\r\n" + _END,
    "a header without a colon": b"--b\r\nContent-Disposition\r\n\r\nx\r\n" + _END,
    "no disposition": b"--b\r\nContent-Type: text/plain\r\n\r\nx\r\n" + _END,
}


def uploads() -> Iterator[Bad]:
    """Forms that cannot be taken."""
    for name, body in _FORMS.items():
        kind = "multipart/form-data; boundary=b"
        yield Bad(f"form: {name}", frozenset({400, 422}), "POST", "/v1/captures/file", body, kind)
    for boundary in ("", "; boundary=", "; boundary=" + "b" * 300, "; charset=b"):
        kind = "multipart/form-data" + boundary
        yield Bad(f"form: boundary {boundary[:20]}", frozenset({400}), "POST", "/v1/captures/file", _FILE + _END, kind)
    yield Bad("form: JSON", frozenset({415}), "POST", "/v1/captures/file", b"{}")
