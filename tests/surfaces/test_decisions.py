"""Proposals and the owner's decision over HTTP: exactly what was shown, once, by the owner alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlmodel import Session, select

from pipelines.model.records import IdempotentAnswer
from tests.surfaces.rig import Rig, decision, memory


def _decide(rig: Rig, proposal: dict[str, Any], body: dict[str, Any], **headers: str) -> Any:
    path = f"/v1/proposals/{proposal['id']}/decision"
    rig.clock.advance(seconds=7)  # codes are limited to ten a minute
    return rig.tcp.post(path, json=body, headers={**rig.owner(), **headers})


def _vault_files(rig: Rig) -> list[str]:
    return sorted(str(path.relative_to(rig.premises.home.vault)) for path in rig.premises.home.vault.rglob("*.md"))


def _state(rig: Rig, proposal: dict[str, Any]) -> str:
    answer = rig.tcp.get(f"/v1/proposals/{proposal['id']}", headers=rig.owner())
    return str(answer.json()["state"])


def test_what_was_shown_becomes_the_memory(rig: Rig) -> None:  # F-001
    proposal = rig.propose("Seed storage")
    shown = rig.tcp.get(f"/v1/proposals/{proposal['id']}", headers=rig.owner())
    assert shown.headers["etag"] == '"1"'
    decided = _decide(rig, proposal, decision(proposal))
    assert decided.status_code == 200, decided.text
    answer = decided.json()
    assert (answer["action"], answer["shown_ms"], answer["digest"]) == ("approve", 2140, proposal["digest"])
    memory_ = rig.tcp.get(f"/v1/memories/{answer['memory_id']}", headers=rig.held("client", "read")).json()
    assert memory_["content"] == shown.json()["after"]
    assert (rig.premises.home.vault / answer["path"]).read_text("utf-8") == shown.json()["after"]
    assert rig.tcp.get(f"/v1/decisions/{answer['id']}", headers=rig.owner()).json() == answer
    assert _state(rig, proposal) == "promoted"


def test_digest_that_is_not_pending_changes_nothing(rig: Rig) -> None:  # S-020
    first, second = rig.propose("One"), rig.propose("Two")
    for digest in (second["digest"], "0" * 64):
        answer = _decide(rig, first, decision(first, digest=digest))
        assert answer.status_code == 409
        assert answer.json()["type"] == "urn:narthex:problem:digest-mismatch"
        assert answer.json()["hint"]
    assert _state(rig, first) == "pending"
    assert _vault_files(rig) == []


def test_revision_must_be_named_and_current(rig: Rig) -> None:
    proposal = rig.propose()
    unnamed = {key: value for key, value in decision(proposal).items() if key != "revision"}
    assert _decide(rig, proposal, unnamed).status_code == 428
    assert _decide(rig, proposal, decision(proposal, revision=2)).status_code == 412
    assert _decide(rig, proposal, unnamed, **{"If-Match": '"2"'}).status_code == 412
    assert _decide(rig, proposal, decision(proposal), **{"If-Match": '"2"'}).status_code == 412
    for odd in ("1", 'W/"1"', "*", '"1", "2"', '"0"', '""', '"99999999999999999999"'):
        assert _decide(rig, proposal, unnamed, **{"If-Match": odd}).status_code == 422, odd
    assert _state(rig, proposal) == "pending"
    assert _decide(rig, proposal, unnamed, **{"If-Match": '"1"'}).status_code == 200


def test_approving_twice_makes_one_memory(rig: Rig) -> None:  # S-020
    proposal = rig.propose()
    headers = rig.owner()

    def approve(_: int) -> int:
        path = f"/v1/proposals/{proposal['id']}/decision"
        return rig.tcp.post(path, json=decision(proposal), headers=headers).status_code

    with ThreadPoolExecutor(8) as threads:
        statuses = sorted(threads.map(approve, range(8)))
    assert statuses == [200] + [409] * 7
    assert len(_vault_files(rig)) == 1
    assert len(rig.tcp.get("/v1/memories", headers=headers).json()["items"]) == 1
    assert len(rig.tcp.get("/v1/decisions", headers=headers).json()["items"]) == 1


def test_after_a_rejection_there_is_no_approval(rig: Rig) -> None:  # S-020
    proposal = rig.propose()
    rejected = _decide(rig, proposal, decision(proposal, "reject", reason_code="wrong", reason="it was 8 °C"))
    assert rejected.status_code == 200
    assert (rejected.json()["reason_code"], rejected.json()["memory_id"]) == ("wrong", None)
    assert _decide(rig, proposal, decision(proposal)).status_code == 409
    withdrawn = rig.propose("Another", headers=rig.owner())
    assert rig.tcp.post(f"/v1/proposals/{withdrawn['id']}/withdraw", headers=rig.owner()).json()["state"] == "withdrawn"
    assert _decide(rig, withdrawn, decision(withdrawn)).status_code == 409
    assert _vault_files(rig) == []


def test_a_decision_repeated_with_its_key(rig: Rig) -> None:  # S-062
    proposal = rig.propose()
    key = {"Idempotency-Key": "d-1"}
    first = _decide(rig, proposal, decision(proposal), **key)
    again = _decide(rig, proposal, decision(proposal), **key)
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize("action", ["approve", "reject"])
def test_a_decision_whose_answer_was_never_kept(rig: Rig, action: str) -> None:  # S-062
    proposal, key = rig.propose(), {"Idempotency-Key": "d-1"}
    first = _decide(rig, proposal, decision(proposal, action), **key)
    forget_answers(rig)
    again = _decide(rig, proposal, decision(proposal, action), **key)
    assert (again.status_code, again.json()) == (200, first.json())
    assert len(rig.tcp.get("/v1/decisions", headers=rig.owner()).json()["items"]) == 1
    forget_answers(rig)
    other = "reject" if action == "approve" else "approve"
    assert _decide(rig, proposal, decision(proposal, other), **key).status_code == 409
    assert _decide(rig, proposal, decision(proposal, action)).status_code == 409  # without a key it is a second try


def forget_answers(rig: Rig) -> None:
    """As if the process had ended between a decision and the keeping of its answer."""

    def forget(session: Session) -> None:
        for row in session.exec(select(IdempotentAnswer)).all():
            session.delete(row)

    rig.premises.database.write(forget)


def test_only_the_owner_decides(rig: Rig) -> None:  # S-015, L-011, L-071
    agent = rig.held("agent", "read", "propose", "capture")
    proposal = rig.propose(headers=agent)
    path = f"/v1/proposals/{proposal['id']}/decision"
    for headers in (agent, rig.held("client", "capture", "read", "propose")):
        answer = rig.tcp.post(path, json=decision(proposal), headers=headers)
        assert answer.status_code == 403
        assert answer.json()["hint"]
    assert rig.unix.post(path, json=decision(proposal)).status_code == 401
    assert _state(rig, proposal) == "pending"


def test_a_payload_cannot_say_that_it_is_approved(rig: Rig) -> None:  # S-016
    agent = rig.held("agent", "propose")
    body = {"action": "create_memory", "payload": memory("Seeds"), "rationale": ""}
    for field, value in {
        "state": "approved",
        "status": "approved",
        "approved_by": "owner",
        "approved_digest": "0" * 64,
        "role": "owner",
        "id": "prp_01jq7r3k8v2m",
        "created_at": "2020-01-01T00:00:00Z",
        "scope": "personal",
    }.items():
        assert rig.tcp.post("/v1/proposals", json={**body, field: value}, headers=agent).status_code == 422, field
        inner = {**body, "payload": {**memory("Seeds"), field: value}}
        assert rig.tcp.post("/v1/proposals", json=inner, headers=agent).status_code in (403, 422), field
    made = rig.tcp.post("/v1/proposals", json=body, headers=agent).json()
    assert made["state"] == "pending"
    for extra in ({"approved": True}, {"role": "owner"}, {"ids": [made["id"]]}):
        assert _decide(rig, made, {**decision(made), **extra}).status_code == 422


def test_shown_time_is_a_plain_number(rig: Rig) -> None:
    proposal = rig.propose()
    for odd in (-1, 1.5, "2140", True, 2**40, None):
        assert _decide(rig, proposal, decision(proposal, shown_ms=odd)).status_code == 422, odd
    assert _decide(rig, proposal, decision(proposal, action="snooze")).status_code == 422
    assert _decide(rig, proposal, decision(proposal, reason="why")).status_code == 422


def test_others_proposals_do_not_exist(rig: Rig) -> None:  # X10
    mine, other = rig.held("agent", "propose"), rig.held("agent", "propose")
    proposal = rig.propose(headers=mine)
    path = f"/v1/proposals/{proposal['id']}"
    assert rig.tcp.get(path, headers=mine).status_code == 200
    assert rig.tcp.get(path, headers=other).status_code == 404
    assert rig.tcp.post(f"{path}/withdraw", headers=other).status_code == 404
    assert rig.tcp.get("/v1/proposals", headers=other).json()["items"] == []
    assert rig.tcp.post(f"{path}/withdraw", headers=mine).status_code == 200


def test_the_same_again_is_refused(rig: Rig) -> None:  # S-039
    agent = rig.held("agent", "propose")
    proposal = rig.propose(headers=agent)
    body = {"action": "create_memory", "payload": memory("Seed storage"), "rationale": "again"}
    assert rig.tcp.post("/v1/proposals", json=body, headers=agent).status_code == 409
    assert _decide(rig, proposal, decision(proposal, "reject")).status_code == 200
    assert rig.tcp.post("/v1/proposals", json=body, headers=agent).status_code == 409


def test_a_flood_is_stopped(rig: Rig) -> None:  # S-039
    agent = rig.held("agent", "propose")
    for number in range(20):
        rig.propose(f"Memory {number}", headers=agent)
    body = {"action": "create_memory", "payload": memory("One more"), "rationale": ""}
    answer = rig.tcp.post("/v1/proposals", json=body, headers=agent)
    assert answer.status_code == 429
    assert answer.headers["retry-after"]
    assert rig.tcp.post("/v1/proposals", json=body, headers=rig.owner()).status_code == 201


def test_scopes_confine_readers(rig: Rig) -> None:
    proposal = rig.propose()
    answer = _decide(rig, proposal, decision(proposal)).json()
    reader = rig.held("client", "read")
    assert rig.tcp.get(f"/v1/memories/{answer['memory_id']}", headers=reader).status_code == 200
    history = rig.tcp.get(f"/v1/memories/{answer['memory_id']}/history", headers=reader).json()["items"]
    assert [revision["number"] for revision in history] == [1]
    listed = rig.tcp.get("/v1/memories", headers=reader).json()["items"]
    assert listed[0]["content"] is None


def test_status_and_settings(rig: Rig) -> None:
    rig.propose()
    rig.unix.post("/v1/captures", json={"kind": "text", "text": "words"})
    rig.clock.advance(seconds=90)
    status = rig.tcp.get("/v1/status", headers=rig.owner()).json()
    assert (status["inbox"], status["memories"]) == ({"working": 1, "needs_help": 0}, 0)
    assert (status["review"]["pending"], status["uptime_s"]) == (1, 90)
    assert status["chain"]["seq"] > 0
    settings = rig.tcp.get("/v1/settings", headers=rig.owner()).json()
    assert settings["items"] == [{"key": "port", "value": "6278", "source": "default"}]


def test_a_refused_approval_is_recorded(rig: Rig) -> None:
    before = rig.tcp.get("/v1/status", headers=rig.owner()).json()["chain"]["seq"]
    body = {"because": "no terminal", "program": "sh"}
    assert rig.unix.post("/v1/refused-approvals", json=body).status_code == 202
    assert rig.unix.post("/v1/refused-approvals", json={**body, "because": "other"}).status_code == 422
    after = rig.tcp.get("/v1/status", headers=rig.owner()).json()["chain"]["seq"]
    assert after > before


def test_readiness_says_what_is_wrong(rig: Rig) -> None:
    assert rig.tcp.get("/readyz").json()["checks"] == {"database": {"ok": True}}
    rig.daemon.ready = False
    answer = rig.tcp.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    assert "disk" not in answer.text  # a detail may name what is the owner's: anybody may ask here
    told = [
        rig.tcp.get("/v1/status", headers=who).json()["checks"] for who in (rig.owner(), rig.held("client", "read"))
    ]
    assert [checks["database"]["detail"] for checks in told] == ["the disk is full", ""]
