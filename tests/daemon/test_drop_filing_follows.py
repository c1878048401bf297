"""The folder of a filed file follows its item: quarantined ones come to the person, released ones go back."""

from __future__ import annotations

from typing import Final

from pipelines.model.actor import Actor, ActorKind, Channel
from pipelines.model.lifecycle import ItemState
from pipelines.store.moves import move_item
from tests.daemon.drop_rig import DropRig
from tests.waiting import until

OWNER: Final = Actor(ActorKind.OWNER, "owner", Channel.API)


def dropped(drop: DropRig, name: str) -> str:
    """A file that was taken in and filed; the id of its item."""
    with drop.running():
        (drop.root / name).write_text(f"content of {name}", "utf-8")
        return drop.arrived(name).id


def test_a_quarantined_item_brings_its_file_to_the_person(drop: DropRig) -> None:
    item_id = dropped(drop, "locked.pdf")
    drop.quarantine(item_id)
    with drop.running():
        until(lambda: drop.in_folder("_needs-help") == ["locked.pdf", "locked.pdf.why.txt"])
        until(lambda: "`locked.pdf` needs you" in drop.status())
    note = (drop.root / "_needs-help" / "locked.pdf.why.txt").read_text("utf-8")
    assert note.startswith("narthex: the PDF is locked\nSave a copy without the password")
    assert drop.in_folder("_done") == []
    item = drop.item("locked.pdf")
    assert item is not None
    assert item.filed_as == "_needs-help/locked.pdf"


def test_other_reasons_bring_it_to_the_failed_ones(drop: DropRig) -> None:
    drop.quarantine(dropped(drop, "odd.bin"), "nothing reads this format", "unsupported")
    with drop.running():
        until(lambda: drop.in_folder("_failed") == ["odd.bin", "odd.bin.why.txt"])


def test_a_crash_between_move_and_note_heals(drop: DropRig) -> None:  # S-048
    item_id = dropped(drop, "locked.pdf")
    drop.quarantine(item_id)
    item = drop.item("locked.pdf")
    assert item is not None
    (drop.root / str(item.filed_as)).rename(drop.root / "_needs-help" / "locked.pdf")  # and then the power went
    with drop.running():
        until(lambda: getattr(drop.item("locked.pdf"), "filed_as", "") == "_needs-help/locked.pdf")
    assert "locked.pdf" in drop.in_folder("_needs-help")


def test_putting_the_file_back_into_the_root_tries_again(drop: DropRig) -> None:
    item_id = dropped(drop, "locked.pdf")
    drop.quarantine(item_id)
    with drop.running():
        until(lambda: drop.in_folder("_needs-help") == ["locked.pdf", "locked.pdf.why.txt"])
        (drop.root / "_needs-help" / "locked.pdf").rename(drop.root / "locked.pdf")
        until(lambda: drop.state(item_id) is ItemState.FETCHED)
        until(lambda: drop.in_folder("_done") == ["locked.pdf"])
        until(lambda: drop.in_folder("_needs-help") == [])  # the note is no longer true
        until(lambda: "`locked.pdf` tried again" in drop.status())
    assert len(drop.items()) == 1


def test_a_release_by_the_owner_takes_the_file_back(drop: DropRig) -> None:
    item_id = dropped(drop, "locked.pdf")
    drop.quarantine(item_id)
    with drop.running() as folder:
        until(lambda: drop.in_folder("_needs-help") == ["locked.pdf", "locked.pdf.why.txt"])
        now = drop.premises.clock()
        drop.premises.database.write(
            lambda session: move_item(session, item_id, "released", OWNER, now, due=now, quarantine_reason=None)
        )
        folder.reconcile_soon()
        until(lambda: drop.in_folder("_done") == ["locked.pdf"])
        until(lambda: drop.in_folder("_needs-help") == [])


def test_a_note_of_a_person_is_not_ours_to_remove(drop: DropRig) -> None:
    (drop.root / "_failed").mkdir()
    (drop.root / "_failed" / "mine.why.txt").write_text("my own words", "utf-8")
    item_id = dropped(drop, "locked.pdf")
    drop.quarantine(item_id, "broken", "failed")
    with drop.running():
        until(lambda: "locked.pdf" in drop.in_folder("_failed"))
    assert "mine.why.txt" in drop.in_folder("_failed")


def test_the_last_lines_of_the_status_outlive_a_restart(drop: DropRig) -> None:
    dropped(drop, "first.txt")
    dropped(drop, "second.txt")
    assert "`first.txt` taken in" in drop.status()
    assert "`second.txt` taken in" in drop.status()
