"""Whatever anybody does in whatever order: only the owner's decision about exactly that plan makes a memory."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlmodel import select

from pipelines.isolate import ExtractionPool, Limits
from pipelines.model.actor import Actor
from pipelines.model.errors import NarthexError
from pipelines.model.identity import Ids
from pipelines.model.lifecycle import MemoryState, ProposalState, Verdict
from pipelines.model.plan import digest_text
from pipelines.model.records import Decision, MemoryRevision, Proposal
from pipelines.model.values import Home
from pipelines.promote import recover
from pipelines.review import approve, reject, submit, withdraw
from pipelines.search import search
from pipelines.store import events, memories
from pipelines.vault_edits import reconcile
from tests.clock import SettableClock
from tests.opening import opened_premises
from tests.pipelines.rows import AGENT, CLIENT, DAEMON, OWNER

_WORDS = ("silica", "kiwi", "moss", "tea")
_ACTORS = (AGENT, CLIENT, DAEMON, OWNER)
_pool = ExtractionPool(Limits())  # never used: nothing is extracted here, so no child starts


class Household(RuleBasedStateMachine):
    """An owner, an agent, a device and somebody who edits the vault."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        root = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.home = Home(root)
        for folder in (self.home.drop, self.home.vault, self.home.state, self.home.originals):
            folder.mkdir()
        self.clock = SettableClock(datetime(2026, 3, 2, 12, 0, tzinfo=UTC))
        self.ids = Ids(self.clock, random.Random(3).getrandbits)
        self.open = ExitStack()
        self.agreed: dict[str, str] = {}

    @initialize()
    def begin(self) -> None:
        self.restart()

    @rule()
    def restart(self) -> None:
        self.open.close()
        self.p = self.open.enter_context(opened_premises(self.home, self.home.database, self.clock, self.ids, _pool))
        recover(self.p)

    def teardown(self) -> None:
        self.open.close()
        self.stack.close()

    def attempt(self, act: Callable[[], object]) -> object | None:
        """What an act answers; refusals are expected here."""
        self.clock.advance(seconds=1)
        try:
            return act()
        except NarthexError:
            return None

    def proposals(self) -> list[Proposal]:
        with self.p.database.read() as session:
            return list(session.exec(select(Proposal).order_by(Proposal.id)))

    @rule(actor=st.sampled_from((AGENT, CLIENT, OWNER)), word=st.sampled_from(_WORDS))
    def propose(self, actor: Actor, word: str) -> None:
        fields: dict[str, object] = {"title": word, "type": "concept", "l0": f"About {word}.", "l1": f"All of {word}."}
        self.attempt(lambda: submit(self.p, actor, action="create_memory", payload=fields, rationale="so it is said"))

    @precondition(lambda self: self.proposals())
    @rule(actor=st.sampled_from(_ACTORS), pick=st.integers(0, 50), true=st.booleans(), yes=st.booleans())
    def decide(self, actor: Actor, pick: int, true: bool, yes: bool) -> None:
        rows = self.proposals()
        row = rows[pick % len(rows)]
        digest = row.plan_digest if true else "0" * 64
        act = approve if yes else reject
        done = self.attempt(lambda: act(self.p, row.id, revision=row.revision, digest=digest, shown_ms=1, owner=actor))
        if done is not None:
            assert actor is OWNER
            assert true
            if yes:
                self.agreed[row.id] = digest

    @precondition(lambda self: self.proposals())
    @rule(actor=st.sampled_from(_ACTORS), pick=st.integers(0, 50))
    def take_back(self, actor: Actor, pick: int) -> None:
        rows = self.proposals()
        self.attempt(lambda: withdraw(self.p, rows[pick % len(rows)].id, actor))

    @rule(
        pick=st.integers(0, 50), what=st.sampled_from(("edit", "delete", "move", "new")), word=st.sampled_from(_WORDS)
    )
    def meddle(self, pick: int, what: str, word: str) -> None:
        notes = sorted(self.home.vault.rglob("*.md"))
        if what == "new":
            (self.home.vault / f"{word}.md").write_text(f"Smuggled {word}.\n")
        elif notes:
            note = notes[pick % len(notes)]
            if what == "edit":
                note.write_text(note.read_text() + f"Smuggled {word}.\n")
            elif what == "delete":
                note.unlink()
            else:
                note.rename(note.with_name(f"moved {pick}.md"))
        self.attempt(lambda: reconcile(self.p))

    @invariant()
    def every_revision_rests_on_the_owners_decision(self) -> None:
        if not hasattr(self, "p"):
            return
        with self.p.database.read() as session:
            decided = {row.id: row for row in session.exec(select(Decision))}
            states = {row.id: row.state for row in session.exec(select(Proposal))}
            for revision in session.exec(select(MemoryRevision)):
                decision = decided[revision.decision_id]
                assert (decision.actor_kind, decision.verdict) == (OWNER.kind, Verdict.APPROVE)
                assert self.agreed[decision.proposal_id] == decision.digest
                assert states[decision.proposal_id] is ProposalState.PROMOTED
                assert revision.digest == (None if revision.content is None else digest_text(revision.content))
            assert events.verify_chain(session).ok

    @invariant()
    def only_approved_words_are_served(self) -> None:
        if not hasattr(self, "p"):
            return
        with self.p.database.read() as session:
            current = {memory.id: (memory, revision) for memory, revision in memories.current_revisions(session)}
        for hit in search(self.p, "smuggled", OWNER).hits:
            memory, revision = current[hit.memory_id]
            assert memory.state is MemoryState.ACTIVE
            assert "Smuggled" in str(revision.content)
        for word in _WORDS:
            found = {hit.memory_id for hit in search(self.p, f'"all of {word}"', OWNER).hits}
            assert found <= {key for key, (memory, _) in current.items() if memory.state is MemoryState.ACTIVE}


Household.TestCase.settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestHousehold = Household.TestCase
