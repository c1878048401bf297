"""A real Chromium on the real pages: the one-time link, the review without a script, and what other sites cannot do."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from starlette.types import ASGIApp, Receive, Scope, Send

from api.app import Application, create_app
from pipelines.premises import Premises
from tests.clock import SettableClock
from tests.need import browser_program, need
from tests.surfaces.rig import Rig, StandingDaemon, make_rig
from tests.surfaces.test_real_server import _served

HOSTILE = '<img src=x onerror="document.title=1"> ![x](http://127.0.0.1:9/?leak) \u202etxt.exe'


@pytest.fixture
def browser() -> Iterator[Browser]:
    """Without its sandbox, which root cannot have."""
    need("browser")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser_program(), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def served(premises: Premises, clock: SettableClock) -> Iterator[tuple[Application, str]]:
    """The application behind a real server, and the address of its pages."""
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    port = int(door.getsockname()[1])
    app = create_app(premises, StandingDaemon(clock()), port=port)
    with door, _served(app, door):
        yield app, f"http://narthex.localhost:{port}"


def _watched(page: Page) -> list[str]:
    """Every address that the page asks for, from now on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    return asked


def _proposed(premises: Premises, clock: SettableClock) -> Any:
    # another application over the same home: its port plays no part in proposing
    rig: Rig = make_rig(premises, clock)
    return rig.propose("Seed storage", l1=HOSTILE)


def test_link_review_approve(
    browser: Browser, served: tuple[Application, str], premises: Premises, clock: SettableClock
) -> None:  # F-001, S-032
    app, address = served
    proposal = _proposed(premises, clock)
    page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    asked, problems = _watched(page), []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(app.fresh_login_link())
    # the script sent the code and forgot it
    page.wait_for_url(f"{address}/review")
    page.get_by_role("link", name="Seed storage").click()
    expect(page.get_by_text("⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧").first).to_be_visible()
    expect(page.get_by_text(proposal["digest"])).to_be_visible()
    # nothing is wider than a phone
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    clock.advance(seconds=5)
    page.get_by_role("button", name="Approve").click()
    # the browser itself holds the form back until the hidden characters are acknowledged
    assert list(premises.home.vault.rglob("*.md")) == []
    page.get_by_label("I have seen the hidden characters").check()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_contain_text("Approved")
    assert [path.name for path in premises.home.vault.rglob("*.md")] == ["Seed storage.md"]
    assert {url.partition("/")[2].split("/")[1] for url in asked} == {address.removeprefix("http://")}
    assert problems == []
    assert page.title() != "1"


def test_without_a_script(browser: Browser, served: tuple[Application, str], premises: Premises, clock: Any) -> None:
    app, address = served
    _proposed(premises, clock)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{address.rpartition(':')[2]}/")
    # the numeric name leads to the one that cookies live on, and there to the login
    page.wait_for_url(f"{address}/login")
    page.get_by_label("One-time code").fill(app.fresh_login_link().rpartition("=")[2])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Seed storage").click()
    clock.advance(seconds=5)
    page.get_by_label("Because").select_option("not_useful")
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_role("status")).to_contain_text("Rejected")
    cookie = context.cookies()[0]
    assert cookie["name"] == f"__Host-narthex-{address.rpartition(':')[2]}"
    assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Strict")
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{address}/review")
    page.wait_for_url(f"{address}/login")


def _attacking(address: str, proposal: Any, seen: list[dict[str, str]]) -> ASGIApp:
    """Another site's page, which posts, frames and embeds ours; notes the headers that it is sent."""
    body = f"""<form id="f" method="post" action="{address}/review/{proposal["id"]}/approve">
        <input name="digest" value="{proposal["digest"]}"><input name="revision" value="1">
        <input name="shown_at" value="1"></form>
        <iframe src="{address}/review"></iframe><img src="{address}/review/{proposal["id"]}">"""

    async def elsewhere(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append({name.decode(): value.decode() for name, value in scope["headers"]})
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": body.encode()})

    return elsewhere


def test_other_sites_change_nothing(
    browser: Browser, served: tuple[Application, str], premises: Premises, clock: SettableClock
) -> None:  # S-002, S-004, S-011
    app, address = served
    proposal = _proposed(premises, clock)
    context = browser.new_context()
    signed_in = context.new_page()
    signed_in.goto(app.fresh_login_link())
    signed_in.wait_for_url(f"{address}/review")

    seen: list[dict[str, str]] = []
    elsewhere = _attacking(address, proposal, seen)
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    with door, _served(elsewhere, door):
        attacker = context.new_page()
        attacker.goto(f"http://127.0.0.1:{door.getsockname()[1]}/")
        port = address.rpartition(":")[2]
        read = attacker.evaluate(
            """async (bases) => { const read = [];
            for (const base of bases) for (const method of ["GET", "POST", "DELETE"]) {
              try { const r = await fetch(base + "/v1/items", {method, credentials: "include"}); read.push(r.status); }
              catch { read.push("blocked"); } }
            return read; }""",
            [address, f"http://127.0.0.1:{port}"],
        )
        assert set(read) == {"blocked"}
        attacker.evaluate("document.getElementById('f').submit()")
        attacker.wait_for_url(f"{address}/review/*/approve")
        expect(attacker.locator("body")).to_contain_text("other sites")
    assert all("cookie" not in headers for headers in seen)
    assert list(premises.home.vault.rglob("*.md")) == []
