"""What the command line queued while no daemon ran is taken in once; what cannot be is kept with the reason."""

from __future__ import annotations

from tests.daemon.drop_rig import DropRig
from tests.waiting import until


def left(drop: DropRig) -> list[str]:
    """Entries that still wait."""
    return sorted(path.name for path in (drop.root / ".queue").iterdir() if path.name != "bad")


def test_text_link_and_file_are_taken_in_and_leave(drop: DropRig) -> None:
    drop.queue("k1", kind="text", text="a thought", title="", note="why", tags=["idea"], scope=None)
    drop.queue("k2", kind="link", url="https://example.org/a", title="A page", note="", tags=[], scope="personal")
    (drop.root / ".queue" / "k3.bytes").write_bytes(b"%PDF-1.7 bytes")
    drop.queue("k3", kind="file", name="paper.pdf", title="", note="", tags=[], scope="")
    with drop.running():
        until(lambda: left(drop) == [])
    found = {item.source_key: item for item in drop.items()}
    assert set(found) == {"queue:k1", "queue:k2", "queue:k3"}
    assert (found["queue:k1"].kind, found["queue:k1"].tags, found["queue:k1"].note) == ("text", ["idea"], "why")
    assert found["queue:k2"].url == "https://example.org/a"
    assert drop.original(found["queue:k3"]) == b"%PDF-1.7 bytes"
    assert {item.channel for item in drop.items()} == {"cli"}
    assert drop.captured


def test_an_entry_that_arrives_later_is_noticed_by_its_event(drop: DropRig) -> None:
    with drop.running(rescan_seconds=3600):
        drop.queue("late", kind="text", text="later")
        until(lambda: drop.items())
        until(lambda: left(drop) == [])


def test_the_same_entry_twice_is_one_item(drop: DropRig) -> None:  # killed between commit and unlink
    for _ in range(2):
        drop.queue("k1", kind="text", text="once")
        with drop.running():
            until(lambda: left(drop) == [])
    assert len(drop.items()) == 1


def test_bad_entries_are_set_aside_with_the_reason_and_never_lost(drop: DropRig) -> None:
    drop.queue("unknown", kind="text", text="x", colour="red")
    drop.queue("scope", kind="text", text="x", scope="nobody")
    drop.queue("missing", kind="file", name="gone.pdf")
    drop.queue("renamed", kind="text", text="x").rename(drop.root / ".queue" / "other.json")
    (drop.root / ".queue" / "torn.json").write_text('{"kind": "te', "utf-8")
    (drop.root / ".queue" / "torn.bytes").write_text("its bytes", "utf-8")
    (drop.root / ".queue" / "link.json").symlink_to("torn.json")
    drop.queue("fine", kind="text", text="after all of them")
    with drop.running():
        until(lambda: left(drop) == [] or left(drop) == ["link.json"])
        until(lambda: "set aside in .queue/bad" in drop.status())
    bad = drop.in_folder(".queue/bad")
    for name in ("unknown", "scope", "missing", "other", "torn"):
        assert f"{name}.json" in bad
        assert (drop.root / ".queue" / "bad" / f"{name}.json.why.txt").read_text("utf-8").startswith("narthex: ")
    assert (drop.root / ".queue" / "bad" / "torn.bytes").read_text("utf-8") == "its bytes"
    assert [item.source_key for item in drop.items()] == ["queue:fine"]
