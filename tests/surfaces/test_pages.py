"""The review pages without a script: sign in by code, see exactly what would be stored, decide; nothing is rendered."""

from __future__ import annotations

import html
import re
from typing import Any

from pipelines import process
from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from tests.surfaces.rig import PAGES, Rig, memory

FORM = {"Origin": PAGES}


def _fields(text: str, action: str) -> dict[str, str]:
    """The hidden fields of the form that posts to ``action``."""
    form = re.search(rf'<form[^>]* action="{re.escape(action)}">(.*?)</form>', text, re.DOTALL)
    assert form is not None, f"no form for {action}"
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', form[1])
    return {name: html.unescape(value) for name, value in found}


def _words(text: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", text))


def test_sign_in_by_form(rig: Rig) -> None:  # S-004
    assert "one-time code" in rig.page.get("/login").text
    answer = rig.page.post("/login", data={"code": rig.code()}, headers=FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, "/review")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-narthex-6278=nxs_")
    attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert attributes == {"httponly", "path=/", "samesite=strict", "secure"}
    wrong = rig.page.post("/login", data={"code": "ZZZZ-ZZZZ"}, headers=FORM)
    assert wrong.status_code == 401
    assert "wrong, used or expired" in wrong.text
    assert "set-cookie" not in wrong.headers


def test_without_a_session_the_way_leads_to_the_login(rig: Rig) -> None:
    for path in ("/review", "/review/prp_01jq7r3k8v2m", "/inbox"):
        answer = rig.page.get(path, headers={"Cookie": "__Host-narthex-6278=nxs_" + "A" * 43})
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert rig.page.get("/").headers["location"] == "/review"


def test_review_to_memory_without_a_script(rig: Rig) -> None:
    first, second = rig.propose("Seed storage"), rig.propose("Silica gel")
    cookie = rig.signed_in()
    listed = rig.page.get("/review", headers=cookie).text
    assert "Seed storage" in listed
    assert "Silica gel" in listed
    page = rig.page.get(f"/review/{second['id']}", headers=cookie)
    assert page.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "<script" not in page.text
    assert second["digest"] in page.text
    # exactly what would be stored stands there, whole
    shown = re.search(r"that would be stored</h2>.*?<pre[^>]*>(.*?)</pre>", page.text, re.DOTALL)
    assert shown is not None
    lines = [_words(line) for line in re.findall(r'<span class="line">(.*?)</span>', shown[1])]
    assert "\n".join(lines) + "\n" == second["after"]

    rig.clock.advance(seconds=3)
    fields = _fields(page.text, f"/review/{second['id']}/approve")
    answer = rig.page.post(f"/review/{second['id']}/approve", data=fields, headers={**cookie, **FORM})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/review/{second['id']}")
    assert [path.name for path in rig.premises.home.vault.rglob("*.md")] == ["Silica gel.md"]
    decided = rig.tcp.get("/v1/decisions", headers=rig.owner()).json()["items"][0]
    assert (decided["shown_ms"], decided["channel"]) == (3000, "page")

    # what was decided is named, nothing can be decided there, and the next is one link away
    page = rig.page.get(answer.headers["location"], headers=cookie)
    said = " ".join(_words(page.text).split())
    assert "Approved: Silica gel It is now a memory at Notes/Silica gel.md." in said
    assert "Next: Seed storage" in said
    assert f'href="/review/{first["id"]}"' in page.text
    assert "Approve</button>" not in page.text


def test_a_rejection_leads_to_its_own_page_too(rig: Rig) -> None:
    first, cookie = rig.propose("Seed storage"), rig.signed_in()
    page = rig.page.get(f"/review/{first['id']}", headers=cookie)
    assert "Approved" not in page.text
    rig.clock.advance(seconds=3)
    fields = {**_fields(page.text, f"/review/{first['id']}/reject"), "reason_code": "not_useful"}
    answer = rig.page.post(f"/review/{first['id']}/reject", data=fields, headers={**cookie, **FORM})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/review/{first['id']}")
    said = " ".join(_words(rig.page.get(answer.headers["location"], headers=cookie).text).split())
    assert "Rejected: Seed storage The same will not be proposed again for Notes/Seed storage.md." in said
    assert "Done: nothing else waits" in said
    assert "Done: nothing waits" in rig.page.get("/review", headers=cookie).text


def test_a_write_needs_our_own_page(rig: Rig) -> None:  # X11
    proposal = rig.propose()
    cookie = rig.signed_in()
    path = f"/review/{proposal['id']}/approve"
    fields = _fields(rig.page.get(f"/review/{proposal['id']}", headers=cookie).text, path)
    for csrf in (None, "", "x", "é"):
        sent = {name: value for name, value in {**fields, "csrf": csrf}.items() if value is not None}
        assert rig.page.post(path, data=sent, headers={**cookie, **FORM}).status_code == 403
    other = rig.signed_in()
    assert rig.page.post(path, data=fields, headers={**other, **FORM}).status_code == 403
    assert rig.page.post(path, data=fields, headers={**cookie, "Origin": "null"}).status_code == 403
    # the API by cookie needs the header
    body = {"kind": "text", "text": "words"}
    assert rig.page.post("/v1/captures", json=body, headers=cookie).status_code == 403
    proof = {**cookie, "X-Narthex-CSRF": fields["csrf"]}
    assert rig.page.post("/v1/captures", json=body, headers=proof).status_code == 201
    assert rig.page.get(path, headers=cookie).status_code == 405
    assert rig.tcp.get(f"/v1/proposals/{proposal['id']}", headers=rig.owner()).json()["state"] == "pending"


def test_what_moved_meanwhile_is_shown_and_not_approved(rig: Rig) -> None:
    proposal = rig.propose()
    cookie = rig.signed_in()
    path = f"/review/{proposal['id']}/approve"
    fields = _fields(rig.page.get(f"/review/{proposal['id']}", headers=cookie).text, path)
    rig.clock.advance(seconds=3)
    # a revision that the page did not show has no look of its own
    for changed, words in (({"digest": "0" * 64}, "Nothing was changed"), ({"revision": "2"}, "Nothing was decided")):
        answer = rig.page.post(path, data={**fields, **changed}, headers={**cookie, **FORM})
        assert answer.status_code == 409
        assert words in answer.text
        assert proposal["digest"] in answer.text
    fields = _fields(answer.text, path)
    rig.clock.advance(seconds=3)
    rig.tcp.post(f"/v1/proposals/{proposal['id']}/withdraw", headers=rig.owner())
    answer = rig.page.post(path, data=fields, headers={**cookie, **FORM})
    assert answer.status_code == 409
    assert "Taken back" in answer.text
    assert f'action="{path}"' not in answer.text
    assert list(rig.premises.home.vault.rglob("*.md")) == []


HOSTILE = (
    '<script>alert(1)</script><img src=x onerror=1>" autofocus onfocus=alert(1) {{ 987*654 }} &amp; [a](javascript:x)'
)


def test_nothing_is_rendered(rig: Rig) -> None:  # S-032, S-033, X07
    agent = rig.held("agent", "propose")
    body = {
        "action": "create_memory",
        "payload": memory(HOSTILE, l1=HOSTILE, tags=["<svg/onload=1>"]),
        "rationale": HOSTILE,
        "evidence": [{"item_id": "itm_01jq7r3k8v2m", "quote": HOSTILE}],
    }
    proposal = rig.tcp.post("/v1/proposals", json=body, headers=agent).json()
    rig.unix.post("/v1/captures/file", files={"file": ("<svg onload=1>.txt", b"words")})
    cookie = rig.signed_in()
    for path in ("/review", f"/review/{proposal['id']}", "/inbox"):
        text = rig.page.get(path, headers=cookie).text
        assert not re.search(r"<(script|img|svg)", text), path
        assert "{{ 987*654 }}" in text or path == "/inbox"
        assert "645498" not in text
        assert not re.search(r"<[^>]*\sonfocus=", text)
        assert 'href="javascript:' not in text
    problem = rig.page.get("/review/<script>alert(1)</script>", headers={**cookie, "Accept": "text/html"})
    assert problem.status_code in (404, 422)
    assert "<script>alert" not in problem.text


def test_what_cannot_be_seen_is_shown(rig: Rig) -> None:  # S-027, S-029
    hidden = "Buy milk\u200b\U000e0049\U000e0047 \u202etxt.exe\u2066 and\u2028more\ufe0f"
    proposal = rig.propose("Shopping", l1=hidden)
    page = rig.page.get(f"/review/{proposal['id']}", headers=rig.signed_in()).text
    for code in ("U+200B", "U+E0049", "U+E0047", "U+202E", "U+2066", "U+2028", "U+FE0F"):
        if chr(int(code[2:], 16)) in proposal["after"]:
            assert f"⟦{code} " in page, code
    assert not any(character in page for character in "\u200b\u202e\u2066\u2028\U000e0049")


def test_evidence_says_what_was_found(rig: Rig) -> None:
    body: dict[str, Any] = {
        "action": "create_memory",
        "payload": memory("Seeds"),
        "rationale": "",
        "evidence": [{"item_id": "itm_01jq7r3k8v2m", "quote": "never said"}],
    }
    proposal = rig.tcp.post("/v1/proposals", json=body, headers=rig.held("agent", "propose")).json()
    page = rig.page.get(f"/review/{proposal['id']}", headers=rig.signed_in()).text
    assert "inferred: not found in the source" in page
    assert "an agent's words" in html.unescape(page)


def test_signing_out(rig: Rig) -> None:  # S-019
    cookie = rig.signed_in()
    fields = _fields(rig.page.get("/review", headers=cookie).text, "/logout")
    assert rig.page.post("/logout", data={}, headers={**cookie, **FORM}).status_code == 403
    answer = rig.page.post("/logout", data=fields, headers={**cookie, **FORM})
    assert answer.headers["location"] == "/login"
    assert rig.page.get("/review", headers=cookie).headers["location"] == "/login"


def test_the_inbox_shows_items(rig: Rig) -> None:
    rig.unix.post("/v1/captures", json={"kind": "text", "text": "Seeds", "title": "Seed list"})
    page = rig.page.get("/inbox", headers=rig.signed_in()).text
    assert "Seed list" in page
    assert "safe, waiting to be read" in page


def test_a_quarantined_item_goes_on_from_the_inbox(rig: Rig) -> None:
    item = rig.unix.post("/v1/captures", json={"kind": "text", "text": "Seeds", "title": "Seed list"}).json()
    (lease,) = process.lease_due(rig.premises, 1)
    process.give_back(rig.premises, lease, Unreadable("it needs its password", reason=QuarantineReason.NEEDS_PASSWORD))
    cookie = rig.signed_in()
    page = rig.page.get("/inbox", headers=cookie).text
    assert "it needs its password" in page
    assert "Save it without one" in page
    for verb, state in (("release", "fetched"), ("discard", "discarded")):
        path = f"/inbox/{item['id']}/{verb}"
        if verb == "release":
            assert rig.page.post(path, data={}, headers={**cookie, **FORM}).status_code == 403
        answer = rig.page.post(path, data=_fields(page, path), headers={**cookie, **FORM})
        assert answer.headers["location"] == "/inbox"
        assert rig.tcp.get(f"/v1/items/{item['id']}", headers=rig.owner()).json()["state"] == state


def test_pages_say_problems_in_words(rig: Rig) -> None:
    cookie = rig.signed_in()
    missing = rig.page.get("/review/prp_01jq7r3k8v2m", headers={**cookie, "Accept": "text/html"})
    assert missing.status_code == 404
    assert missing.headers["content-type"].startswith("text/html")
    assert "Back to the review" in missing.text
