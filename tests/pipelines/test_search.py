"""Search serves what is approved now, to whom may read it, whatever has become of the index or the vault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.capture import capture_text
from pipelines.index.refresh import catch_up, is_behind, refresh
from pipelines.index.search_index import IndexedRevision
from pipelines.model.actor import Actor, ActorKind, Channel
from pipelines.model.errors import NotPermitted
from pipelines.model.lifecycle import Verification
from pipelines.model.policy import Policy
from pipelines.model.records import Memory
from pipelines.premises import Premises
from pipelines.search import Hit, search
from tests.pipelines.line import current, file_of, pending, settle, yes
from tests.pipelines.rows import AGENT, OWNER


def remember(p: Premises, title: str, text: str, scope: str = "personal") -> Memory:
    """An approved memory with this title."""
    capture_text(p, f"# {title}\n\n{text}", OWNER, title=title, scope=scope)
    settle(p)
    decided = yes(p, pending(p)[-1])
    return current(p, str(decided.decision.memory_id))[0]


def hits(p: Premises, query: str, reader: Actor = OWNER) -> list[str]:
    """Titles, best first."""
    return [hit.title for hit in search(p, query, reader).hits]


def test_an_approved_memory_is_found_and_a_proposed_one_is_not(premises_on_both: Premises) -> None:
    p = premises_on_both
    capture_text(p, "# Bulbs\n\nBulbs rest in a cellar over winter.", OWNER)
    settle(p)
    assert search(p, "bulbs", OWNER).hits == []
    yes(p, pending(p)[0])
    remember(p, "Seeds", "Seeds keep best at 4 °C, in the dark and dry.")
    answer = search(p, "how cold do SEED keep?", OWNER)
    assert answer.query == "how cold do SEED keep?"
    (hit,) = answer.hits
    memory, revision = current(p, hit.memory_id)
    assert (hit.revision_id, hit.path, hit.scope) == (revision.id, memory.path, "personal")
    assert hit.verification is Verification.VERIFIED
    assert "Seeds keep best" in hit.snippet
    assert {hit.snippet[start:end].lower() for start, end in hit.matches} == {"seeds", "keep"}
    assert hit.score > 0
    assert hits(p, "bulbs") == ["Bulbs"]


def test_a_composed_query_finds_a_decomposed_capture(premises: Premises) -> None:
    # B-W13
    remember(premises, "Horaires", "Le cafe\u0301 est ferme\u0301 le lundi.")
    assert hits(premises, "café") == hits(premises, "cafe\u0301") == hits(premises, "FERME") == ["Horaires"]


def test_a_reader_sees_only_its_scope(premises: Premises) -> None:
    # S: authority comes from the credential
    p = replace(premises, policy=Policy(scopes=("personal", "work")))
    for scope, title in (("personal", "Seeds at home"), ("work", "Seeds at work")):
        remember(p, title, f"{title} are kept in boxes.", scope)
    assert sorted(hits(p, "seeds")) == ["Seeds at home", "Seeds at work"]
    assert hits(p, "seeds", AGENT) == ["Seeds at home"]
    assert hits(p, "seeds", replace(AGENT, scope="work")) == ["Seeds at work"]
    assert hits(p, "seeds", replace(AGENT, scope="other")) == []
    with pytest.raises(NotPermitted):
        search(p, "seeds", Actor(ActorKind.AGENT, "robot", Channel.API))


def test_the_index_may_be_deleted_at_any_time(premises: Premises) -> None:
    remember(premises, "Seeds", "Seeds keep best at 4 C.")
    before = search(premises, "seeds", OWNER).hits
    premises.home.index.unlink()
    assert search(premises, "seeds", OWNER).hits == before != []
    premises.home.index.unlink()
    memory = remember(premises, "Bulbs", "Bulbs rest in a cellar.")  # an approval mends it too
    assert hits(premises, "cellar") == ["Bulbs"]
    assert search(premises, "seeds", OWNER).hits[0].memory_id == before[0].memory_id
    refresh(premises.database, premises.index, memory.id)
    assert catch_up(premises.database, premises.index) == 0


def test_a_missing_entry_is_noticed_and_mended(premises: Premises) -> None:
    memory = remember(premises, "Seeds", "Seeds keep best at 4 C.")
    premises.index.drop(memory.id)
    with premises.database.read() as session:
        assert is_behind(session, premises.index)
    assert hits(premises, "seeds") == ["Seeds"]


def test_a_false_entry_is_never_served_and_mended(premises: Premises) -> None:
    memory = remember(premises, "Seeds", "Seeds keep best at 4 C.")
    _, revision = current(premises, memory.id)
    true = premises.index.stamps()
    lie = IndexedRevision(memory.id, revision.id, "0" * 64, "personal", "Zebra", "", "zebra", "", ())
    for entry in (lie, replace(lie, digest=str(revision.digest), scope="work"), replace(lie, revision_id="rev_0")):
        premises.index.put(entry)
        assert hits(premises, "zebra") == []
        assert premises.index.stamps() == true
    premises.index.put(replace(lie, memory_id="mem_000000000000"))  # of a memory that does not exist
    assert hits(premises, "zebra") == []
    assert premises.index.stamps() == true
    assert hits(premises, "seeds") == ["Seeds"]


def test_an_outside_edit_is_not_served(premises: Premises) -> None:
    memory = remember(premises, "Seeds", "Seeds keep best at 4 C.")
    file = file_of(premises, memory.id)
    file.write_text(file.read_text().replace("4 C", "40 C, says the intruder"))
    assert hits(premises, "intruder") == []
    catch_up(premises.database, premises.index)
    assert hits(premises, "intruder") == []
    (hit,) = search(premises, "seeds", OWNER).hits
    assert "intruder" not in hit.snippet


def test_a_rebuilt_index_answers_alike(premises: Premises) -> None:
    # design 10.9
    for number in range(5):
        remember(premises, f"Seeds {number}", f"Seeds number {number} keep at {number} degrees. " + "Dry. " * number)
    before = search(premises, "seeds number 3 dry", OWNER).hits
    premises.home.index.unlink()
    assert catch_up(premises.database, premises.index) == 5
    after = search(premises, "seeds number 3 dry", OWNER).hits
    assert after == before
    assert len(after) == 5


def test_the_best_come_first_and_no_more_than_asked(premises: Premises) -> None:
    for title in ("Bulbs", "Seeds", "Trees"):
        remember(premises, title, f"The shelf holds {title.lower()}, seeds and more.")
    answer = search(premises, "seeds", OWNER, limit=2)
    assert answer.hits[0].title == "Seeds"
    assert len(answer.hits) == 2
    assert len(search(premises, "seeds", OWNER, limit=0).hits) == 1


@pytest.mark.parametrize("query", ["", '"', "NEAR(", "title:seeds AND", "is my it", "\ud800", "*" * 5000])
def test_a_strange_query_is_an_answer_without_hits(premises: Premises, query: str) -> None:
    # L-014, security 2.2
    assert all(isinstance(hit, Hit) for hit in search(premises, query, OWNER).hits)
