"""The whole line on real files nobody here wrote: dropped, proposed, approved, a file in the vault, found by search."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from api.client import Client, Json
from tests.end_to_end.narthexd import Narthexd
from tests.need import browser_program, corpus, need
from tests.surfaces.cli_rig import Commands, Person
from tests.waiting import until

WANTED: Final = {"html": 8, "pdf": 10, "docx": 8, "txt": 6, "md": 6, "eml": 8}
_WORD: Final = re.compile(r"[^\W_]{3,}")


def rows(client: Client, path: str, **query: str) -> list[Mapping[str, Json]]:
    """The rows of a list that the API answers."""
    found = client.call("GET", path, query={"limit": "200", **query})["items"]
    assert isinstance(found, list)
    return found


def approve(client: Client, row: Mapping[str, Json]) -> Mapping[str, Json]:
    """The owner approves what is shown."""
    decision: dict[str, Json] = {"action": "approve", "shown_ms": 700}
    decision |= {"revision": row["revision"], "digest": row["digest"]}
    return client.call("POST", f"/v1/proposals/{row['id']}/decision", decision)


def found(client: Client, query: str) -> list[Json]:
    """Memory ids that a search finds."""
    hits = client.call("GET", "/v1/search", query={"q": query, "limit": "50"})["hits"]
    assert isinstance(hits, list)
    return [hit["memory_id"] for hit in hits if isinstance(hit, Mapping)]


@pytest.fixture
def running(narthexd: Narthexd) -> Narthexd:
    """Serves, on an empty home."""
    return narthexd.start()


def test_real_files_become_memories(running: Narthexd) -> None:  # F-001, F-021, F-031, F-040
    need("corpus")
    dropped: dict[str, bytes] = {}
    for kind, count in WANTED.items():
        for path in sorted((corpus() / "files" / kind).iterdir())[:count]:
            dropped[path.name] = path.read_bytes()
            (running.home.drop / path.name).write_bytes(dropped[path.name])
    owner = running.owner()
    until(lambda: len(rows(owner, "/v1/items")) == len(dropped), seconds=120)
    until(lambda: all(item["due"] is None for item in rows(owner, "/v1/items")), seconds=240)
    items = rows(owner, "/v1/items")
    assert sorted(str(item["name"]) for item in items) == sorted(dropped)  # each exactly one item
    unread = [item for item in items if item["state"] == "quarantined"]
    assert all(item["quarantine_reason"] and item["problem"] for item in unread)
    proposals = rows(owner, "/v1/proposals", state="pending")
    assert len(proposals) >= 30
    for row in proposals:
        decision = approve(owner, row)
        place = running.home.vault / str(decision["path"])
        assert place.read_text("utf-8") == row["after"]
        words = _WORD.findall(str(row["after"]).split("---\n", 2)[2])
        assert row["memory_id"] in found(owner, " ".join(words[:8])), row["title"]
    assert len(list(running.home.vault.rglob("*.md"))) == len(proposals)
    assert not [path.name for path in running.home.drop.iterdir() if path.name in dropped]


def test_the_command_line_drops_approves_and_finds(running: Narthexd, tmp_path: Path) -> None:  # F-005, F-031
    file = tmp_path / "Silica gel.md"
    file.write_text("# Silica gel\n\nSilica gel keeps seeds dry; bake it at 120 C when it turns pink.\n", "utf-8")
    user = Commands(tmp_path / "user", variables=running.environment() | {"NARTHEX_PORT": str(running.port)})
    assert user("login", running.code).status == 0
    (running.home.drop / file.name).write_bytes(file.read_bytes())
    until(lambda: user("proposals", "-q").output.strip(), seconds=60)
    proposal = user("proposals", "-q").output.strip()
    assert user("search", "silica", "-q").output.strip() == ""
    user.person = Person(["y"])
    approved = user("approve", proposal)
    assert approved.status == 0, approved.notes
    assert (running.home.vault / "Notes" / "Silica gel.md").is_file()
    assert user("search", "silica", "-q").output.strip().startswith("mem_")


def test_the_page_approves_in_a_real_browser(running: Narthexd) -> None:  # F-074, S-011
    need("browser")
    from playwright.sync_api import sync_playwright

    (running.home.drop / "Moss.md").write_text("# Moss\n\nMoss wants shade and rain water.\n", "utf-8")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_program(), args=arguments)
        page = browser.new_page(viewport={"width": 390, "height": 720})
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.goto(running.link)
        page.wait_for_url("**/review")
        until(lambda: page.reload() and page.get_by_role("link", name="Moss").count(), seconds=60)
        page.get_by_role("link", name="Moss").first.click()
        assert "Moss wants shade" in page.content()
        page.get_by_role("button", name=re.compile("approve", re.IGNORECASE)).click()
        page.get_by_role("heading", name="Approved: Moss").wait_for()
        until(lambda: (running.home.vault / "Notes" / "Moss.md").is_file())
        browser.close()
    assert problems == []


def test_a_hand_edit_is_kept_proposed_and_not_served(running: Narthexd) -> None:  # F-046
    owner = running.owner()
    owner.call("POST", "/v1/captures", {"kind": "text", "title": "Seeds", "text": "Seeds keep best at 4 C."})
    until(lambda: rows(owner, "/v1/proposals", state="pending"), seconds=60)
    decision = approve(owner, rows(owner, "/v1/proposals", state="pending")[0])
    place = running.home.vault / str(decision["path"])
    edited = place.read_text("utf-8") + "\nAnd kiwifruit.\n"
    place.write_text(edited, "utf-8")
    until(lambda: rows(owner, "/v1/proposals", state="pending"), seconds=60)
    proposal = rows(owner, "/v1/proposals", state="pending")[0]
    assert "+And kiwifruit." in str(proposal["diff"])
    assert (found(owner, "kiwifruit"), found(owner, "seeds")) == ([], [decision["memory_id"]])
    assert place.read_text("utf-8") == edited
    moved = place.with_name("Cold seeds.md")
    place.rename(moved)
    until(lambda: _path_of(owner, decision["memory_id"]) == "Notes/Cold seeds.md", seconds=60)
    approve(owner, rows(owner, "/v1/proposals", state="pending")[0])
    assert found(owner, "kiwifruit") == [decision["memory_id"]]
    moved.unlink()
    until(lambda: [row["action"] for row in rows(owner, "/v1/proposals", state="pending")] == ["retract_memory"])
    assert found(owner, "kiwifruit") == [decision["memory_id"]]


def _path_of(owner: Client, memory_id: Json) -> Json:
    return owner.call("GET", f"/v1/memories/{memory_id}")["path"]
