"""Only the owner decides, only on exactly what was shown, only once."""

from __future__ import annotations

import threading

import pytest
from sqlmodel import Session

from pipelines.capture import capture_text
from pipelines.index.search_index import Stamp
from pipelines.model.actor import Actor, ActorKind, Channel
from pipelines.model.errors import (
    Busy,
    DigestMismatch,
    Duplicate,
    Invalid,
    NarthexError,
    NotFound,
    NotPermitted,
    RevisionMoved,
    StaleState,
)
from pipelines.model.lifecycle import ItemState, ProposalState, RejectReason, Verdict
from pipelines.model.plan import digest_text
from pipelines.model.records import Proposal
from pipelines.model.values import SourceLabel, Suggestion
from pipelines.premises import Premises
from pipelines.review import approve, list_proposals, reject, show, submit, withdraw
from pipelines.store import events, items, memories
from pipelines.submission import Origin
from pipelines.submission import submit as store
from pipelines.vault_edits import reconcile
from tests.pipelines.line import a_memory, current, file_of, no, pending, settle, state_of, yes
from tests.pipelines.rows import AGENT, CLIENT, DAEMON, OWNER

FIELDS = {"title": "Tea", "type": "preference", "l0": "Prefers green tea.", "l1": "Prefers green tea, no sugar."}


def test_what_is_approved_is_what_was_shown_is_what_is_written(premises: Premises) -> None:  # F-032, P6
    capture_text(premises, "Seeds keep best at 4 C.", OWNER, title="Seeds")
    settle(premises)
    row = pending(premises)[0]
    shown = show(premises, row.id, OWNER).plan
    assert shown is not None
    decided = yes(premises, row)
    memory, revision = current(premises, str(decided.decision.memory_id))
    assert decided.decision.digest == row.plan_digest == shown.digest
    assert revision.content == shown.content
    assert file_of(premises, memory.id).read_bytes() == str(shown.content).encode()
    assert revision.digest == digest_text(str(shown.content))
    assert (decided.decision.verdict, decided.decision.shown_ms) == (Verdict.APPROVE, 900)
    assert premises.index.stamps()[memory.id] == Stamp(revision.id, str(revision.digest), memory.scope)


def test_a_decision_resolves_the_item(premises: Premises) -> None:
    item = capture_text(premises, "Seeds keep best at 4 C.", OWNER).item
    settle(premises)
    yes(premises, pending(premises)[0])
    with premises.database.read() as session:
        assert items.item(session, item.id).state is ItemState.RESOLVED


@pytest.mark.parametrize("actor", [AGENT, CLIENT, DAEMON])
def test_nobody_but_the_owner_decides(premises: Premises, actor: Actor) -> None:  # F-031, L-002
    capture_text(premises, "Seeds keep best at 4 C.", OWNER)
    settle(premises)
    row = pending(premises)[0]
    for decide in (approve, reject):
        with pytest.raises(NotPermitted):
            decide(premises, row.id, revision=1, digest=row.plan_digest, shown_ms=0, owner=actor)
    assert state_of(premises, row) is ProposalState.PENDING


@pytest.mark.parametrize(
    ("revision", "digest", "error"),
    [(1, "0" * 64, DigestMismatch), (1, "", DigestMismatch), (2, None, RevisionMoved), (0, None, RevisionMoved)],
)
def test_another_digest_or_revision_changes_nothing(
    premises: Premises, revision: int, digest: str | None, error: type[NarthexError]
) -> None:  # S-020
    capture_text(premises, "Seeds keep best at 4 C.", OWNER)
    settle(premises)
    row = pending(premises)[0]
    with premises.database.read() as session:
        before = events.chain_head(session)
    for decide in (approve, reject):
        with pytest.raises(error):
            decide(
                premises,
                row.id,
                revision=revision,
                digest=row.plan_digest if digest is None else digest,
                shown_ms=0,
                owner=OWNER,
            )
    with premises.database.read() as session:
        assert events.chain_head(session) == before
        assert memories.all_memories(session) == []


def test_approving_twice_makes_one_memory(premises: Premises) -> None:  # L-070, S-020
    capture_text(premises, "Seeds keep best at 4 C.", OWNER)
    settle(premises)
    row = pending(premises)[0]
    yes(premises, row)
    for again in (yes, no):
        with pytest.raises(StaleState):
            again(premises, row)
    with premises.database.read() as session:
        assert len(memories.all_memories(session)) == 1


def test_many_at_once_make_one_memory_and_one_decision(premises: Premises) -> None:  # S-020
    capture_text(premises, "Seeds keep best at 4 C.", OWNER)
    settle(premises)
    row = pending(premises)[0]
    outcomes: list[str] = []

    def decide(number: int) -> None:
        try:
            (yes if number % 2 else no)(premises, row)
            outcomes.append("decided")
        except StaleState:
            outcomes.append("too late")

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["decided"] + ["too late"] * 7
    with premises.database.read() as session:
        assert len(memories.all_memories(session)) in (0, 1)
        assert events.verify_chain(session).ok


def test_rejecting_keeps_the_reason_and_makes_nothing(premises: Premises) -> None:
    capture_text(premises, "Seeds keep best at 4 C.", OWNER)
    settle(premises)
    row = pending(premises)[0]
    decided = reject(
        premises,
        row.id,
        revision=1,
        digest=row.plan_digest,
        shown_ms=400,
        owner=OWNER,
        code=RejectReason.WRONG,
        reason="it is 8 C",
    ).decision
    assert (decided.verdict, decided.reason_code, decided.reason) == (Verdict.REJECT, RejectReason.WRONG, "it is 8 C")
    assert state_of(premises, row) is ProposalState.REJECTED
    with premises.database.read() as session:
        assert memories.all_memories(session) == []


def test_an_agent_proposes_and_sees_only_its_own(premises: Premises) -> None:  # L-069, L-011
    capture_text(premises, "Seeds keep best at 4 C.", OWNER)
    settle(premises)
    others = pending(premises)[0]
    view = submit(premises, AGENT, action="create_memory", payload=dict(FIELDS), rationale="they said so")
    row = view.proposal
    assert (row.state, row.source_label, row.producer) == (ProposalState.PENDING, SourceLabel.AGENT, "robot")
    assert [v.proposal.id for v in list_proposals(premises, AGENT).rows] == [row.id]
    with pytest.raises(NotFound):
        show(premises, others.id, AGENT)
    with pytest.raises(NotFound):
        withdraw(premises, others.id, AGENT)
    assert withdraw(premises, row.id, AGENT).proposal.state is ProposalState.WITHDRAWN


@pytest.mark.parametrize("name", ["worker", "vault", "narthexd", "owner"])
def test_a_token_called_like_one_of_us_sees_no_more(premises: Premises, name: str) -> None:
    capture_text(premises, "The key is under the mat.", OWNER)
    settle(premises)
    row = pending(premises)[0]
    agent = Actor(ActorKind.AGENT, name, Channel.API, scope="personal")
    assert list_proposals(premises, agent).rows == []
    with pytest.raises(NotFound):
        show(premises, row.id, agent)
    with pytest.raises(NotFound):
        withdraw(premises, row.id, agent)


def test_evidence_that_is_not_there_is_marked_inferred(premises: Premises) -> None:  # F-030
    item = capture_text(premises, "Green tea, no sugar, please.", AGENT).item
    private = capture_text(premises, "The key is under the mat.", OWNER).item
    settle(premises)
    quotes = [(item.id, "no sugar"), (item.id, "never coffee"), ("itm_000000000000", "x"), (private.id, "key")]
    view = submit(
        premises, AGENT, action="create_memory", payload=dict(FIELDS), rationale="they said so", quotes=quotes
    )
    assert [quote["inferred"] for quote in view.proposal.evidence] == [False, True, True, True]


@pytest.mark.parametrize("field", ["memory_id", "path", "scope", "created"])
def test_an_agent_chooses_no_id_path_or_scope(premises: Premises, field: str) -> None:  # L-139, L-140
    with pytest.raises(NotPermitted):
        submit(premises, AGENT, action="create_memory", payload={**FIELDS, field: "../x"}, rationale="")


@pytest.mark.parametrize(
    ("action", "change"),
    [
        ("retract_memory", {}),
        ("approve", {}),
        ("create_memory", {"l0": "x" * 161}),
        ("create_memory", {"l1": "w " * 151}),
        ("create_memory", {"l2": "x" * 65537}),
        ("create_memory", {"type": "truth"}),
        ("create_memory", {"status": "approved"}),
        ("create_memory", {"title": " "}),
        ("create_memory", {"title": "a\nb"}),
    ],
)
def test_a_proposal_beyond_the_limits_is_refused_at_once(
    premises: Premises, action: str, change: dict[str, object]
) -> None:  # F-035, S-016
    with pytest.raises(Invalid):
        submit(premises, AGENT, action=action, payload={**FIELDS, **change}, rationale="")
    assert pending(premises) == []


def test_the_same_suggestion_is_refused_while_pending_and_after_a_no(premises: Premises) -> None:  # F-035, L-078
    row = submit(premises, AGENT, action="create_memory", payload=dict(FIELDS), rationale="1").proposal
    for spelling in (FIELDS, {**FIELDS, "l1": "prefers   GREEN tea,\nno sugar."}):
        with pytest.raises(Duplicate, match=row.id):
            submit(premises, AGENT, action="create_memory", payload=dict(spelling), rationale="2")
    no(premises, row)
    with pytest.raises(Duplicate, match="rejected"):
        submit(premises, AGENT, action="create_memory", payload=dict(FIELDS), rationale="3")


def test_a_producer_cannot_flood_the_queue(premises: Premises) -> None:  # S-039
    cap = premises.policy.pending_per_producer
    for number in range(cap):
        submit(premises, AGENT, action="create_memory", payload={**FIELDS, "title": f"Tea {number}"}, rationale="")
    with pytest.raises(Busy):
        submit(premises, AGENT, action="create_memory", payload={**FIELDS, "title": "one more"}, rationale="")
    submit(premises, OWNER, action="create_memory", payload={**FIELDS, "title": "the owner's"}, rationale="")


def test_two_memories_with_one_title_get_two_files(premises: Premises) -> None:  # L-137
    first = a_memory(premises, "Seeds keep at 4 C.", title="Seeds")
    second = a_memory(premises, "Seeds want silica gel.", title="Seeds")
    assert first.path != second.path
    assert {first.path, second.path} == {"Notes/Seeds.md", "Notes/Seeds 2.md"}


def test_approving_on_an_older_revision_goes_stale(premises: Premises) -> None:
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    place.write_text(place.read_text() + "\nFirst edit.\n")
    reconcile(premises)
    first = pending(premises)[0]
    retract = premises.database.write(lambda session: _a_retraction(premises, session, memory.id))
    yes(premises, first)
    assert state_of(premises, retract) is ProposalState.STALE
    with pytest.raises(StaleState):
        yes(premises, retract)
    no(premises, retract)
    assert state_of(premises, retract) is ProposalState.REJECTED


def _a_retraction(premises: Premises, session: Session, memory_id: str) -> Proposal:
    return store(
        premises,
        session,
        Suggestion("retract_memory", {"memory_id": memory_id}, "no longer needed", confidence=1.0),
        Origin("owner", "1", "personal", SourceLabel.OWNER),
        OWNER,
    )
