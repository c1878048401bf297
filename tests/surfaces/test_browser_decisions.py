"""Deciding in a real Chromium: hasty clicks and held keys approve nothing unseen, and two narthexes share a browser."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from api.app import Application, create_app
from pipelines import process
from pipelines.model.identity import Ids
from pipelines.model.values import Home
from pipelines.premises import Premises
from tests.clock import SettableClock
from tests.opening import opened_premises
from tests.surfaces.rig import Rig, StandingDaemon, make_rig
from tests.surfaces.test_browser import browser, served
from tests.surfaces.test_real_server import _served

__all__ = ["browser", "served"]

SIZES = ({"width": 1180, "height": 720}, {"width": 390, "height": 720})


@pytest.fixture
def other(tmp_path: Path, clock: SettableClock, ids: Ids, premises: Premises) -> Iterator[tuple[Application, str]]:
    """A second narthex on another port of the same machine."""
    home = Home(tmp_path / "other")
    for folder in (home.root, home.drop, home.vault, home.state, home.originals):
        folder.mkdir()
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    port = int(door.getsockname()[1])
    with opened_premises(home, home.database, clock, ids, premises.extraction) as opened:
        app = create_app(opened, StandingDaemon(clock()), port=port)
        with door, _served(app, door):
            yield app, f"http://narthex.localhost:{port}"


def _proposals(premises: Premises, clock: SettableClock, *titles: str) -> Rig:
    rig = make_rig(premises, clock)
    headers = rig.held("agent", "propose")
    for title in titles:
        rig.propose(title, headers=headers)
    return rig


def _signed_in(page: Page, app: Application) -> None:
    page.goto(app.fresh_login_link())
    page.wait_for_url("**/review")


def _approved(premises: Premises) -> list[str]:
    return sorted(path.stem for path in premises.home.vault.rglob("*.md"))


@pytest.mark.parametrize("size", SIZES)
def test_clicks_that_go_on_approve_nothing_unseen(
    browser: Browser, served: tuple[Application, str], premises: Premises, clock: SettableClock, size: Any
) -> None:  # S-011
    app, _ = served
    _proposals(premises, clock, "First", "Second", "Third")
    page = browser.new_page(viewport=size)
    _signed_in(page, app)
    page.get_by_role("link", name="Third").click()
    approve = page.get_by_role("button", name="Approve")
    approve.scroll_into_view_if_needed()
    box = approve.bounding_box()
    assert box is not None
    clock.advance(seconds=5)
    approve.click()
    expect(page.get_by_role("status")).to_contain_text("Approved: Third")
    for _ in range(5):
        clock.advance(milliseconds=200)
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    # on to the next one, whose buttons rest at first: they are tried by mouse and by a key that is held down
    page.get_by_role("link", name="Next: Second").click()
    expect(page.locator("form.approve")).to_have_css("animation-duration", "0.6s")
    page.get_by_role("button", name="Approve").click(force=True)
    for _ in range(3):
        clock.advance(milliseconds=150)
        page.get_by_role("button", name="Approve").press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("Nothing was decided")
    assert _approved(premises) == ["Third"]


def test_a_double_click_decides_once_and_the_keyboard_goes_on(
    browser: Browser, served: tuple[Application, str], premises: Premises, clock: SettableClock
) -> None:  # S-011, S-020
    app, address = served
    rig = _proposals(premises, clock, "First", "Second")
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{address}/login")
    page.get_by_label("One-time code").fill(app.fresh_login_link().rpartition("=")[2])
    page.get_by_label("One-time code").press("Enter")
    page.get_by_role("link", name="Second").click()
    clock.advance(seconds=5)
    page.get_by_role("button", name="Approve").dblclick()
    expect(page.get_by_role("status")).to_contain_text("Approved: Second")
    expect(page.get_by_role("status")).to_contain_text("Notes/Second.md")
    assert _approved(premises) == ["Second"]
    following = page.get_by_role("link", name="Next: First")
    expect(following).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="First")).to_be_visible()
    expect(page.get_by_role("status")).to_have_count(0)
    assert len(rig.tcp.get("/v1/decisions", headers=rig.owner()).json()["items"]) == 1


def test_two_narthexes_share_a_browser(
    browser: Browser, served: tuple[Application, str], other: tuple[Application, str]
) -> None:  # S-004
    page = browser.new_context().new_page()
    for app, _ in (served, other):
        _signed_in(page, app)
    for _, address in (served, other):
        page.goto(f"{address}/review")
        expect(page.get_by_role("heading", name="To review")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{other[1]}/login")
    page.goto(f"{served[1]}/inbox")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()


def test_equal_titles_are_told_apart_by_their_source(
    browser: Browser, served: tuple[Application, str], premises: Premises, clock: SettableClock
) -> None:  # F-001
    rig = make_rig(premises, clock)
    for name, text in (("seeds a.txt", b"Seeds\n\nKeep cold."), ("seeds b.txt", b"Seeds\n\nKeep dry.")):
        assert rig.unix.post("/v1/captures/file", files={"file": (name, text)}).status_code == 201
    for lease in process.lease_due(premises, 5):
        while process.advance(premises, lease) in process.STEPS:
            pass
    rows = rig.tcp.get("/v1/proposals", headers=rig.owner()).json()["items"]
    assert sorted(row["source"]["name"] for row in rows) == ["seeds a.txt", "seeds b.txt"]
    assert {tuple(row["source"]) for row in rows} == {("item_id", "name", "url", "captured_at")}
    page = browser.new_page(viewport={"width": 390, "height": 720}, color_scheme="dark")
    _signed_in(page, served[0])
    for name in ("seeds a.txt", "seeds b.txt"):
        row = page.get_by_role("listitem").filter(has_text=f"from “{name}”, captured 2026-03-02 12:00 UTC")
        expect(row).to_contain_text("New memory")
        row.get_by_role("link").click()
        expect(page.get_by_text(f"From “{name}”").first).to_be_visible()
        expect(page.get_by_text("Approving stores the text below as a memory, in the new file")).to_be_visible()
        page.go_back()
