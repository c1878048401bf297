"""Nobody decides on what could not be read yet: too hasty a form decides nothing, the same form twice decides once."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import vault_edits
from tests.surfaces.rig import PAGES, Rig, decision
from tests.surfaces.test_pages import _fields

FORM = {"Origin": PAGES}


def _looked_at(rig: Rig, cookie: dict[str, str], proposal: Any, verb: str) -> tuple[str, dict[str, str]]:
    path = f"/review/{proposal['id']}/{verb}"
    return path, _fields(rig.page.get(f"/review/{proposal['id']}", headers=cookie).text, path)


def _state(rig: Rig, proposal: Any) -> str:
    return str(rig.tcp.get(f"/v1/proposals/{proposal['id']}", headers=rig.owner()).json()["state"])


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_hasty_decision_decides_nothing(rig: Rig, verb: str) -> None:  # S-011
    proposal, cookie = rig.propose(), rig.signed_in()
    path, fields = _looked_at(rig, cookie, proposal, verb)
    rig.clock.advance(milliseconds=599)
    answer = rig.page.post(path, data=fields, headers={**cookie, **FORM})
    assert answer.status_code == 409
    assert "too quick" in answer.text
    assert "Nothing was decided" in answer.text
    assert _state(rig, proposal) == "pending"
    # the page that came instead is one to be read again: its own time counts
    again = _fields(answer.text, path)
    rig.clock.advance(milliseconds=599)
    assert rig.page.post(path, data=again, headers={**cookie, **FORM}).status_code == 409
    again = _fields(rig.page.get(f"/review/{proposal['id']}", headers=cookie).text, path)
    rig.clock.advance(milliseconds=600)
    assert rig.page.post(path, data=again, headers={**cookie, **FORM}).status_code == 303
    assert _state(rig, proposal) in ("promoted", "rejected")
    assert [row["shown_ms"] for row in rig.tcp.get("/v1/decisions", headers=rig.owner()).json()["items"]] == [600]


def test_what_is_risky_takes_longer(rig: Rig) -> None:  # S-011
    hidden = rig.propose("Hidden", l1="Buy milk\u200b today")
    kept = rig.propose("Kept")
    rig.tcp.post(f"/v1/proposals/{kept['id']}/decision", json=decision(kept), headers=rig.owner())
    (rig.premises.home.vault / kept["path"]).unlink()
    vault_edits.reconcile(rig.premises)
    listed = rig.tcp.get("/v1/proposals", headers=rig.owner()).json()["items"]
    gone = next(row for row in listed if row["action"] == "retract_memory")
    cookie = rig.signed_in()
    for proposal in (hidden, gone):
        path, fields = _looked_at(rig, cookie, proposal, "approve")
        rig.clock.advance(milliseconds=1199)
        assert rig.page.post(path, data=fields, headers={**cookie, **FORM}).status_code == 409
        assert _state(rig, proposal) == "pending"
        path, fields = _looked_at(rig, cookie, proposal, "approve")
        rig.clock.advance(milliseconds=1200)
        assert rig.page.post(path, data=fields, headers={**cookie, **FORM}).status_code == 303


def test_a_forged_look_counts_as_none(rig: Rig) -> None:  # S-011
    first, second, cookie = rig.propose("First"), rig.propose("Second"), rig.signed_in()
    path, fields = _looked_at(rig, cookie, first, "approve")
    _, of_another = _looked_at(rig, cookie, second, "approve")
    rig.clock.advance(seconds=9)
    for stamp in ("1000." + fields["shown_at"].partition(".")[2], "1000", "", of_another["shown_at"]):
        answer = rig.page.post(path, data={**fields, "shown_at": stamp}, headers={**cookie, **FORM})
        assert answer.status_code in (409, 422), stamp
    assert _state(rig, first) == "pending"


def test_the_same_form_twice_decides_once(rig: Rig) -> None:  # S-020
    for verb, other in (("approve", "reject"), ("reject", "approve")):
        proposal, cookie = rig.propose(f"To {verb}"), rig.signed_in()
        path, fields = _looked_at(rig, cookie, proposal, verb)
        against, opposite = _looked_at(rig, cookie, proposal, other)
        rig.clock.advance(seconds=3)
        answers = [rig.page.post(path, data=fields, headers={**cookie, **FORM}) for _ in range(3)]
        assert {(a.status_code, a.headers["location"]) for a in answers} == {(303, f"/review/{proposal['id']}")}
        # the other answer, from a page that was left open, changes nothing and says so
        late = rig.page.post(against, data=opposite, headers={**cookie, **FORM})
        assert late.status_code == 409
        assert "Nothing was changed" in late.text
    assert len(rig.tcp.get("/v1/decisions", headers=rig.owner()).json()["items"]) == 2
