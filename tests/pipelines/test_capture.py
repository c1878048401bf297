"""A capture is safe before it is a row, is made once, and never follows or waits."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from pipelines import originals
from pipelines.capture import capture_file, capture_link, capture_text, clean_tag
from pipelines.model.actor import Actor, ActorKind, Channel
from pipelines.model.errors import Conflict, Invalid, NarthexError, NotFound, NotPermitted, TooLarge, Unreadable
from pipelines.model.lifecycle import ItemState
from pipelines.model.values import ItemKind
from pipelines.premises import Premises
from pipelines.store import events, items
from tests.pipelines.line import DROP, drop, settle
from tests.pipelines.rows import AGENT, CLIENT, OWNER


def test_a_text_is_durable_and_told(premises: Premises) -> None:  # F-004
    captured = capture_text(premises, "Buy silica gel", OWNER, tags=["#garden", " seed bank "], note="for the fridge")
    item = captured.item
    assert (item.kind, item.state, item.name) == (ItemKind.TEXT, ItemState.FETCHED, "Buy silica gel")
    assert item.tags == ["garden", "seed-bank"]
    with originals.open_original(premises.home.originals, item.original_digest) as original:
        assert original.read() == b"Buy silica gel"
    with premises.database.read() as session:
        assert [event.action for event in events.timeline(session, item.id)] == ["captured"]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_text_is_refused(premises: Premises, text: str) -> None:
    with pytest.raises(Invalid):
        capture_text(premises, text, OWNER)


def test_half_a_surrogate_is_refused_with_its_place(premises: Premises) -> None:  # S-060
    with pytest.raises(Invalid, match="character 1"):
        capture_text(premises, "a\ud800b", OWNER)


def test_a_text_beyond_the_limit_leaves_nothing(premises: Premises) -> None:
    with pytest.raises(TooLarge):
        capture_text(premises, "x" * (premises.policy.max_text_bytes + 1), OWNER)
    assert not any(path.is_file() for path in premises.home.originals.rglob("*"))


def test_a_link_is_stored_as_given(premises: Premises) -> None:
    url = "https://example.org/Seeds?utm_source=x#cold"
    item = capture_link(premises, url, CLIENT, title="Cold storage").item
    assert (item.kind, item.url, item.name) == (ItemKind.LINK, url, "Cold storage")


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", "https://", "http://[::1", "ftp://x/y", "https://a/\nb", "x"]
)
def test_only_web_addresses_are_links(premises: Premises, url: str) -> None:
    with pytest.raises(Invalid):
        capture_link(premises, url, CLIENT)


def test_the_same_bytes_twice_are_one_item_and_a_duplicate(premises: Premises) -> None:  # B-W10, L-133
    first = drop(premises, "1.txt", "a\n")
    second = drop(premises, "2.txt", "a\n")
    assert (first.duplicate_of, second.duplicate_of) == (None, first.item.id)
    assert second.item.state is ItemState.DUPLICATE
    assert second.item.due is None


def test_the_same_file_seen_again_is_the_same_item(premises: Premises) -> None:  # B-W04
    path = premises.home.drop / "a.txt"
    path.write_text("hello")
    first = capture_file(premises, path, DROP, source_key="k")
    second = capture_file(premises, path, DROP, source_key="k")
    assert second.known
    assert second.item.id == first.item.id
    with premises.database.read() as session:
        assert sum(items.count_items(session).values()) == 1


def test_a_quarantined_item_dropped_again_is_tried_again(premises: Premises) -> None:  # F-002
    first = drop(premises, "x.bin", b"\x00\x01\x02\x03" * 99)
    settle(premises)
    with premises.database.read() as session:
        assert items.item(session, first.item.id).state is ItemState.QUARANTINED
    again = drop(premises, "x-again.bin", b"\x00\x01\x02\x03" * 99)
    assert again.released
    assert (again.item.id, again.item.state) == (first.item.id, ItemState.FETCHED)


def test_a_token_sets_nothing_going_again(premises: Premises) -> None:
    drop(premises, "x.bin", b"\x00\x01\x02\x03" * 99)
    settle(premises)
    path = premises.home.state / "sent.bin"
    path.write_bytes(b"\x00\x01\x02\x03" * 99)
    captured = capture_file(premises, path, CLIENT)
    assert captured.item.state is ItemState.DUPLICATE


def test_nothing_but_a_regular_file_is_captured(premises: Premises, tmp_path: Path) -> None:  # S-049
    secret = tmp_path / "secret"
    secret.write_text("not for the vault")
    (tmp_path / "link").symlink_to(secret)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.pdf").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "dangling", "folder.pdf", "pipe"):
        with pytest.raises(Unreadable):
            capture_file(premises, tmp_path / name, DROP)
    with pytest.raises(NotFound):
        capture_file(premises, tmp_path / "nowhere", DROP)
    assert not any(path.is_file() for path in premises.home.originals.rglob("*"))


def test_a_sparse_giant_is_refused_before_it_is_read(premises: Premises, tmp_path: Path) -> None:  # S-049
    giant = tmp_path / "giant.bin"
    with giant.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge):
        capture_file(premises, giant, DROP)


def test_a_file_that_grows_while_it_is_copied_is_no_capture(
    premises: Premises, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # S-047
    path = tmp_path / "growing.txt"
    path.write_text("first half")
    true_keep = originals.keep

    def keep_while_written(*args: object) -> object:
        kept = true_keep(*args)  # type: ignore[arg-type]
        with path.open("a") as file:
            file.write(" second half")
        return kept

    monkeypatch.setattr(originals, "keep", keep_while_written)
    with pytest.raises(Conflict):
        capture_file(premises, path, DROP)
    with premises.database.read() as session:
        assert items.count_items(session) == {}


def test_names_are_only_names(premises: Premises, tmp_path: Path) -> None:  # S-051
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xff.txt"))
    path.write_text("x")
    item = capture_file(premises, path, DROP).item
    assert item.name == "n�.txt"
    hostile = capture_file(premises, path, DROP, name="../../etc/pass\x00wd\n\u202e").item
    assert "\n" not in hostile.name
    assert "\x00" not in hostile.name


def test_scope_comes_from_the_credential(premises: Premises) -> None:  # F-043
    with pytest.raises(Invalid, match="work"):
        capture_text(premises, "x", OWNER, scope="work")
    confined = Actor(ActorKind.AGENT, "robot", Channel.API, scope="elsewhere")
    with pytest.raises(NotPermitted):
        capture_text(premises, "x", confined, scope="personal")
    assert capture_text(premises, "x", AGENT).item.scope == "personal"


@pytest.mark.parametrize(
    ("given", "tag"),
    [
        ("#a b", "a-b"),
        ("e\u0301t\u00e9", "\u00e9t\u00e9"),
        (" # ", ""),
        ("x\ny", "x-y"),
        ("日本", "日本"),
        ("bad tag!! ü/ö", "bad-tag-ü/ö"),
        ("a//b/", "a/b"),
        ("snake_case", "snake_case"),
        ("2024", ""),
        ("y2024", "y2024"),
        ("हिन्दी", "हिन्दी"),
        ("👍", ""),
        ("a" * 59 + " b", "a" * 59),
    ],
)
def test_a_tag_is_one_that_the_vault_takes(given: str, tag: str) -> None:
    assert clean_tag(given) == tag


@pytest.mark.parametrize("damage", ["fo", "fuor"])
def test_a_damaged_original_is_never_taken_for_the_new_one(premises: Premises, damage: str) -> None:
    item = capture_text(premises, "four", OWNER).item
    place = originals.path_of(premises.home.originals, item.original_digest)
    place.chmod(0o600)
    place.write_text(damage)
    assert not originals.matches(premises.home.originals, item.original_digest)
    capture_text(premises, "four", OWNER)
    assert place.read_text() == "four"  # the good bytes were at hand


def test_the_same_key_for_other_bytes_loses_nothing_silently(premises: Premises) -> None:  # S-062
    capture_text(premises, "first", CLIENT, source_key="api:phone:k1")
    assert capture_text(premises, "first", CLIENT, source_key="api:phone:k1").known
    with pytest.raises(Invalid, match="another capture"):
        capture_text(premises, "second", CLIENT, source_key="api:phone:k1")


def test_the_same_bytes_from_many_sides_at_once_are_one_item(premises: Premises) -> None:  # F-009, L-049
    def send() -> None:
        capture_text(premises, "the same", CLIENT)

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with premises.database.read() as session:
        assert items.count_items(session) == {ItemState.FETCHED: 1, ItemState.DUPLICATE: 7}


def test_an_orphan_that_is_captured_again_survives_the_sweep(premises: Premises) -> None:
    root = premises.home.originals
    item = capture_text(premises, "kept", OWNER).item
    place = originals.path_of(root, item.original_digest)
    os.utime(place, (1, 1))  # an orphan of long ago, as the sweep sees it that has not seen the new row
    capture_text(premises, "kept", OWNER)
    assert originals.sweep(root, [], before=1000) == 0
    assert originals.matches(root, item.original_digest)


def test_sweeping_spares_what_is_named_and_what_is_young(premises: Premises) -> None:
    item = capture_text(premises, "kept", OWNER).item
    orphan = originals.path_of(premises.home.originals, "ab" * 32)
    orphan.parent.mkdir()
    orphan.write_text("nobody's")
    root = premises.home.originals
    assert originals.sweep(root, [item.original_digest], before=0) == 0
    assert originals.sweep(root, [item.original_digest], before=orphan.stat().st_mtime + 10) == 1
    assert originals.matches(root, item.original_digest)


@pytest.mark.parametrize("digest", ["../../etc/passwd", "A" * 64, "", "0" * 63])
def test_a_digest_is_checked_before_it_is_a_path(premises: Premises, digest: str) -> None:  # L-139
    with pytest.raises(NarthexError):
        originals.path_of(premises.home.originals, digest)
