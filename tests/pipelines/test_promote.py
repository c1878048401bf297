"""An approval becomes one memory and one file, whatever stands in the way and however often it is repeated."""

from __future__ import annotations

import pytest

from pipelines.capture import capture_text
from pipelines.index.refresh import catch_up
from pipelines.index.search_index import Stamp
from pipelines.model.failpoint import install
from pipelines.model.lifecycle import MemoryState, Verification
from pipelines.premises import Premises
from pipelines.promote import project, recover
from pipelines.store import events, memories
from pipelines.vault_edits import VaultReport, reconcile
from tests.pipelines.line import a_memory, current, file_of, pending, settle, yes
from tests.pipelines.rows import OWNER

POINTS = [
    "promote.decided",
    "promote.committed",
    "project.temp_written",
    "project.synced",
    "project.renamed",
    "project.folder_synced",
    "promote.file_written",
    "promote.intent_cleared",
    "promote.indexed",
]


class Stop(Exception):
    """Stands for a crash: nothing after the point runs."""


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_at_any_point_is_finished_by_recover(premises: Premises, point: str) -> None:  # F-037
    capture_text(premises, "Seeds keep best at 4 C.", OWNER, title="Seeds")
    settle(premises)
    row = pending(premises)[0]

    def stop(name: str) -> None:
        if name == point:
            raise Stop(name)

    install(stop)
    try:
        with pytest.raises(Stop):
            yes(premises, row)
    finally:
        install(lambda name: None)
    if point == "promote.decided":  # before the commit: nothing has happened, the owner decides again
        yes(premises, row)
    recover(premises)
    with premises.database.read() as session:
        made = memories.all_memories(session)
        assert len(made) == 1
        assert memories.wanted_projections(session) == []
        assert events.verify_chain(session).ok
    memory, revision = current(premises, made[0].id)
    assert file_of(premises, memory.id).read_text() == revision.content
    assert [path.name for path in premises.home.vault.rglob("*.nx-tmp")] == []
    catch_up(premises.database, premises.index)
    assert premises.index.stamps()[memory.id] == Stamp(revision.id, str(revision.digest), memory.scope)


def test_projecting_again_changes_nothing(premises: Premises) -> None:
    memory = a_memory(premises)
    before = file_of(premises, memory.id).stat()
    assert project(premises, memory.id)
    after = file_of(premises, memory.id).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_foreign_file_at_the_path_is_kept_and_ours_takes_another_name(premises: Premises) -> None:  # L-137
    capture_text(premises, "Seeds keep best at 4 C.", OWNER, title="Seeds")
    settle(premises)
    row = pending(premises)[0]
    foreign = premises.home.vault / row.path
    foreign.parent.mkdir(parents=True, exist_ok=True)
    foreign.write_text("my own note")
    decided = yes(premises, row)
    assert foreign.read_text() == "my own note"
    assert decided.path == "Notes/Seeds 2.md"
    assert "4 C" in (premises.home.vault / decided.path).read_text()


def test_an_approval_while_the_vault_is_away_is_written_when_it_is_back(premises: Premises) -> None:  # S-053
    capture_text(premises, "Seeds keep best at 4 C.", OWNER, title="Seeds")
    settle(premises)
    row = pending(premises)[0]
    away = premises.home.root / "away"
    premises.home.vault.rename(away)
    premises.home.vault.mkdir()  # an empty mount point
    decided = yes(premises, row)
    assert not decided.projected
    assert list(premises.home.vault.iterdir()) == []
    premises.home.vault.rmdir()
    away.rename(premises.home.vault)
    assert recover(premises).projected == [decided.decision.memory_id]
    assert file_of(premises, str(decided.decision.memory_id)).is_file()
    assert reconcile(premises) == VaultReport()


def test_provenance_stays_with_the_memory(premises: Premises) -> None:  # L-073
    memory = a_memory(premises)
    revision = current(premises, memory.id)[1]
    assert revision.proposal_id.startswith("prp_")
    assert revision.decision_id.startswith("dec_")
    assert (memory.state, memory.verification, revision.number) == (MemoryState.ACTIVE, Verification.VERIFIED, 1)
    with premises.database.read() as session:
        told = [event.action for event in events.timeline(session, memory.id)]
    assert told == ["created", "projected"]
