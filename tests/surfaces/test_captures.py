"""Captures over HTTP: text, link and file; durable when answered, hostile names harmless, nothing left behind."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session

from api.cli._captures import Capture, Labels
from api.cli._queue import put
from daemon.drop.filing import FilingCabinet
from daemon.drop.local_queue import LocalQueue
from daemon.wiring import capture_queued
from pipelines.model.records import IdempotentAnswer
from pipelines.model.values import ItemKind
from pipelines.originals import path_of
from tests.surfaces.asgi import call
from tests.surfaces.rig import PORT, Rig, make_rig

TEXT = {"kind": "text", "text": "Seeds keep longest at 4 °C, dry.", "title": "Seeds", "tags": ["garden"]}


def _original(rig: Rig, item: dict[str, Any]) -> Path:
    return path_of(rig.premises.home.originals, item["digest"])


def _left_behind(rig: Rig) -> list[Path]:
    return list((rig.premises.home.state / "incoming").iterdir())


def test_a_text_is_safe_when_answered(rig: Rig) -> None:  # F-001
    answer = rig.unix.post("/v1/captures", json=TEXT)
    assert answer.status_code == 201
    item = answer.json()
    assert (item["kind"], item["actor"], item["scope"], item["state"]) == ("text", "socket", "personal", "fetched")
    assert _original(rig, item).read_text("utf-8") == TEXT["text"]
    assert rig.daemon.wakes == 1
    listed = rig.tcp.get("/v1/items", headers=rig.owner()).json()
    assert [entry["id"] for entry in listed["items"]] == [item["id"]]


def test_the_same_bytes_are_one_survivor(rig: Rig) -> None:
    first = rig.unix.post("/v1/captures", json=TEXT).json()
    again = rig.unix.post("/v1/captures", json=TEXT)
    assert again.status_code == 200
    assert again.json()["duplicate_of"] == first["id"]


def test_a_link_is_stored_as_given(rig: Rig) -> None:
    url = "https://example.org/a?utm_source=x#top"
    answer = rig.unix.post("/v1/captures", json={"kind": "link", "url": url})
    assert answer.status_code == 201
    assert answer.json()["url"] == url


def test_a_text_at_the_limit(rig: Rig) -> None:
    policy = replace(rig.premises.policy, max_text_bytes=1000, max_original_bytes=5000)
    small = make_rig(replace(rig.premises, policy=policy), rig.clock)
    # the longest text passes, however its JSON is spelled
    assert small.unix.post("/v1/captures", json={"kind": "text", "text": "é" * 500}).status_code == 201
    assert small.unix.post("/v1/captures", json={"kind": "text", "text": "é" * 501}).status_code == 413
    assert small.unix.post("/v1/captures/file", files={"file": ("a", b"x" * 5000)}).status_code == 201
    assert small.unix.post("/v1/captures/file", files={"file": ("b", b"x" * 5001)}).status_code == 413
    assert small.unix.post("/v1/captures/file", files={"file": ("c", b"x" * 400_000)}).status_code == 413
    assert _left_behind(small) == []


def test_a_file_is_safe_when_answered(rig: Rig) -> None:
    content = bytes(range(256)) * 5000
    answer = rig.unix.post(
        "/v1/captures/file",
        files={"file": ("seeds.bin", content)},
        data={"note": "from the bank", "tags": ["garden", "seeds"], "scope": "personal"},
    )
    assert answer.status_code == 201, answer.text
    item = answer.json()
    assert (item["name"], item["note"], item["tags"]) == ("seeds.bin", "from the bank", ["garden", "seeds"])
    assert item["digest"] == hashlib.sha256(content).hexdigest()
    assert _original(rig, item).read_bytes() == content
    assert _left_behind(rig) == []


def test_hostile_names_are_only_names(rig: Rig) -> None:  # S-060, 2.2 of the threat model
    before = set(rig.premises.home.root.rglob("*"))
    names = [
        "../../etc/passwd",
        "..\\..\\boot.ini",
        "/",
        "..",
        "a\x01b.txt",
        "<img src=x onerror=1>.txt",
        "x" * 3000,
        " ",
    ]
    for number, name in enumerate(names):
        quoted = name.replace("\\", "\\\\").replace('"', "%22")
        answer = _multipart(rig, quoted, f"words {number}".encode())
        assert answer.status in (201, 400), (name, answer.body)
        if answer.status == 201:
            shown = answer.json()["name"]
            assert "/" not in shown
            assert "\x01" not in shown
            assert len(shown) <= 200
    made = set(rig.premises.home.root.rglob("*")) - before
    assert all(path.is_relative_to(rig.premises.home.state) for path in made)
    assert _left_behind(rig) == []


def _multipart(rig: Rig, name: str, content: bytes, *, cut: int = 0, head: str = "") -> Any:
    part = head or f'Content-Disposition: form-data; name="file"; filename="{name}"'
    body = b"--b\r\n" + part.encode() + b"\r\n\r\n" + content + b"\r\n--b--\r\n"
    body = body[: len(body) - cut]
    headers = [("Host", "narthex.sock"), ("Content-Type", "multipart/form-data; boundary=b")]
    return call(rig.app, "POST", "/v1/captures/file", headers, [body[:20], body[20:]], listener="socket")


def test_malformed_forms_are_refused(rig: Rig) -> None:  # S-060
    for cut in range(3, 9):  # a body that breaks off is no file, though the parser takes it
        assert _multipart(rig, "a", b"x", cut=cut).status == 400, cut
    assert _multipart(rig, "a", b"x", head="X: y").status == 422
    assert _multipart(rig, "a", b"x", head='Content-Disposition: form-data; name="file"').status == 422
    assert _multipart(rig, "a", b"x", head='Content-Disposition: form-data; name="state"').status == 422
    assert _multipart(rig, "a", b"x", head='Content-Disposition: form-data; name="note"; filename="n"').status == 422
    many = {f"tags{number}": "x" for number in range(3)}
    assert rig.unix.post("/v1/captures/file", files={"file": ("a", b"x")}, data=many).status_code == 422
    tags = {"tags": [str(number) for number in range(1001)]}
    assert rig.unix.post("/v1/captures/file", files={"file": ("a", b"x")}, data=tags).status_code == 422
    twice = [("file", ("a", b"x")), ("file", ("b", b"y"))]
    assert rig.unix.post("/v1/captures/file", files=twice).status_code == 422
    nul = {"note": "a\x00b"}
    assert rig.unix.post("/v1/captures/file", files={"file": ("a", b"x")}, data=nul).status_code == 422
    assert rig.unix.post("/v1/captures/file", data={"note": "x"}).status_code == 415
    assert rig.tcp.get("/v1/items", headers=rig.owner()).json()["items"] == []
    assert _left_behind(rig) == []


def test_strangers_fill_no_disk(rig: Rig) -> None:
    """The refusal comes before the body is read: FastAPI would spool it first."""
    headers = [("Host", f"127.0.0.1:{PORT}"), ("Content-Type", "multipart/form-data; boundary=b")]
    answer = call(rig.app, "POST", "/v1/captures/file", headers, [b"x" * 65536] * 100)
    assert (answer.status, answer.unread) == (401, 100)
    assert _left_behind(rig) == []


def test_half_received_files_go_at_the_next_start(rig: Rig) -> None:
    leftover = rig.premises.home.state / "incoming" / "req_01jq7r3k8v2m"
    leftover.write_bytes(b"half")
    make_rig(rig.premises, rig.clock)
    assert not leftover.exists()


def test_a_capturing_token_sees_its_own_items_only(rig: Rig) -> None:  # X10, L-044
    mine, other = rig.held("client", "capture"), rig.held("client", "capture")
    item = rig.tcp.post("/v1/captures", json=TEXT, headers=mine).json()
    assert rig.tcp.get(f"/v1/items/{item['id']}", headers=mine).json()["timeline"][0]["action"] == "captured"
    assert rig.tcp.get(f"/v1/items/{item['id']}", headers=other).status_code == 404
    # an agent that may capture gets no further: raw text stays with the owner
    assert rig.tcp.get(f"/v1/items/{item['id']}/text", headers=mine).status_code == 403


def test_the_original_is_an_attachment(rig: Rig) -> None:  # X04, S-035
    page = b"<script>alert(1)</script>"
    item = rig.unix.post("/v1/captures/file", files={"file": ('x"; y.html', page, "text/html")}).json()
    answer = rig.page.get(f"/v1/items/{item['id']}/original", headers=rig.owner())
    assert answer.content == page
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"


def test_payloads_choose_neither_author_nor_state(rig: Rig) -> None:  # S-016, L-004
    for field in ("state", "actor", "actor_kind", "channel", "id", "captured_at", "role", "approved_by"):
        assert rig.unix.post("/v1/captures", json={**TEXT, field: "owner"}).status_code == 422


def test_same_key_a_hundred_times_in_parallel(rig: Rig) -> None:  # S-062
    headers = {"Idempotency-Key": "k-1", **rig.held("client", "capture")}

    def post(_: int) -> Any:
        return rig.tcp.post("/v1/captures", json=TEXT, headers=headers)

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(post, range(100)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    created = [answer for answer in answers if answer.status_code == 201]
    assert len({answer.json()["id"] for answer in created}) == 1
    assert sum("idempotency-replayed" not in answer.headers for answer in created) == 1
    running = [answer for answer in answers if answer.status_code == 409]
    assert all(answer.headers["retry-after"] for answer in running)
    assert len(rig.tcp.get("/v1/items", headers=rig.owner()).json()["items"]) == 1


def test_same_key_other_body_is_refused(rig: Rig) -> None:  # S-062
    headers = {"Idempotency-Key": "k-1", **rig.held("client", "capture")}
    first = rig.tcp.post("/v1/captures", json=TEXT, headers=headers)
    again = rig.tcp.post("/v1/captures", json=TEXT, headers=headers)
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["idempotency-replayed"] == "true"
    assert rig.tcp.post("/v1/captures", json={**TEXT, "note": "x"}, headers=headers).status_code == 422
    # keys of another credential are others
    other = {"Idempotency-Key": "k-1", **rig.held("client", "capture")}
    assert rig.tcp.post("/v1/captures", json={**TEXT, "text": "other"}, headers=other).status_code == 201
    for bad in ("", "é", "a" * 129, "a b"):
        sent = [(name.encode(), value.encode()) for name, value in {**headers, "Idempotency-Key": bad}.items()]
        assert rig.tcp.post("/v1/captures", json=TEXT, headers=sent).status_code == 422


def test_an_answer_lost_before_it_was_kept(rig: Rig) -> None:  # S-062
    """The item is found by its key even when the process died between the capture and the keeping of the answer."""
    headers = {"Idempotency-Key": "k-9", **rig.held("client", "capture")}
    first = rig.tcp.post("/v1/captures", json=TEXT, headers=headers).json()

    def forget(session: Session) -> None:
        session.delete(session.get(IdempotentAnswer, (first["actor"], "k-9")))

    rig.premises.database.write(forget)
    again = rig.tcp.post("/v1/captures", json=TEXT, headers=headers)
    assert again.status_code == 200
    assert again.json()["id"] == first["id"]


@pytest.mark.parametrize("queued_first", [True, False])
def test_what_was_sent_and_queued_is_one_item(rig: Rig, queued_first: bool) -> None:
    """The command line queues what it sent when no answer came: the item is found by the key either way."""
    capture = partial(capture_queued, rig.premises)
    root = rig.premises.home.drop
    queue = LocalQueue(root, FilingCabinet(root), capture, rig.premises.policy)
    key, owner = "0f8e", rig.owner()

    def send() -> int:
        return rig.unix.post("/v1/captures", json=TEXT, headers={"Idempotency-Key": key, **owner}).status_code

    statuses = [send()] if not queued_first else []
    put(rig.premises.home, Capture(ItemKind.TEXT, Labels(title="Seeds"), str(TEXT["text"])), key, rig.clock())
    assert queue.drain().taken == 1
    statuses += [send()] if queued_first else []
    assert statuses == [200 if queued_first else 201]
    assert len(rig.tcp.get("/v1/items", headers=owner).json()["items"]) == 1


def test_a_file_with_a_key(rig: Rig) -> None:
    headers = {"Idempotency-Key": "f-1"}
    first = rig.unix.post("/v1/captures/file", files={"file": ("a.txt", b"words")}, headers=headers)
    again = rig.unix.post("/v1/captures/file", files={"file": ("a.txt", b"words")}, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    other = rig.unix.post("/v1/captures/file", files={"file": ("a.txt", b"other words")}, headers=headers)
    assert other.status_code == 422


def test_lists_go_on_while_items_arrive(rig: Rig) -> None:
    headers = rig.owner()
    ids = []
    for number in range(5):
        rig.clock.advance(seconds=1)
        ids.append(rig.unix.post("/v1/captures", json={**TEXT, "text": f"seed {number}"}).json()["id"])
    page = rig.tcp.get("/v1/items?limit=2", headers=headers).json()
    assert [item["id"] for item in page["items"]] == [ids[4], ids[3]]
    rig.unix.post("/v1/captures", json={**TEXT, "text": "a new one"})
    rest: list[str] = []
    cursor = page["next_cursor"]
    while cursor:
        page = rig.tcp.get("/v1/items", params={"limit": 2, "cursor": cursor}, headers=headers).json()
        rest += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert rest == [ids[2], ids[1], ids[0]]
