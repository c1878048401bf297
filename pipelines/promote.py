"""An approval becomes a memory, exactly once, and then its file. Never overwrites an outside edit."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlmodel import Session

from pipelines.index.refresh import refresh
from pipelines.model.actor import Actor, Channel, daemon_actor
from pipelines.model.errors import Away, Broken
from pipelines.model.failpoint import reach
from pipelines.model.lifecycle import MemoryState, Verification
from pipelines.model.memory import MemoryType
from pipelines.model.plan import Plan, digest_text
from pipelines.model.records import Memory, MemoryRevision, Proposal
from pipelines.premises import Premises
from pipelines.store import events, memories
from pipelines.store.moves import create_memory, move_memory, move_verification
from pipelines.submission import taken
from pipelines.vault.layout import note_path
from pipelines.vault.marker import is_marked
from pipelines.vault.memory_file import parse
from pipelines.vault.writer import OutsideEdit, remove_note, sweep_temporaries, write_note


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What a start finished: memory ids projected, those whose file was changed outside, temporaries swept."""

    projected: list[str] = field(default_factory=list)
    changed_outside: list[str] = field(default_factory=list)
    swept: int = 0


def promote(p: Premises, session: Session, proposal: Proposal, plan: Plan, decision_id: str, owner: Actor) -> str:
    """Makes the plan's content the current revision and asks for its projection; answers the revision's id.

    In the transaction of the approval, which is the only caller.
    """
    now = p.clock()
    found = memories.current_revision(session, plan.memory_id)
    revision = _revision(p, plan, proposal.id, decision_id, owner, number=1 if found is None else found[1].number + 1)
    if found is None:
        _create(p, session, plan, revision, owner)
    else:
        event = "revised" if plan.content is not None else "retracted"
        move_memory(
            session,
            plan.memory_id,
            event,
            owner,
            now,
            base_revision=str(plan.base_revision),
            digests=(found[1].digest, revision.digest),
            revision_id=revision.id,
        )
    memories.add_revision(session, revision)
    memories.want_projection(session, plan.memory_id, revision.id, now)
    return revision.id


def _create(p: Premises, session: Session, plan: Plan, revision: MemoryRevision, owner: Actor) -> None:
    path = plan.path
    if memories.memory_at(session, path) is not None:  # another approval was first: the name yields, not the bytes
        folder = path.rpartition("/")[0]
        path = note_path(folder, revision.title, taken(session, p.home.vault))
    memory = Memory(
        id=plan.memory_id,
        scope=plan.scope,
        state=MemoryState.ACTIVE,
        verification=Verification.VERIFIED,
        path=path,
        revision_id=revision.id,
        written_digest=None if plan.before is None else digest_text(plan.before),
    )
    create_memory(session, memory, str(revision.digest), owner, revision.recorded_at)


def _revision(
    p: Premises, plan: Plan, proposal_id: str, decision_id: str, owner: Actor, *, number: int
) -> MemoryRevision:
    seen = parse(plan.content if plan.content is not None else plan.before or "")
    return MemoryRevision(
        id=p.ids.new("rev"),
        memory_id=plan.memory_id,
        number=number,
        content=plan.content,
        digest=None if plan.content is None else digest_text(plan.content),
        title=seen.title or plan.path.rpartition("/")[2].removesuffix(".md"),
        l0=seen.l0,
        type=seen.type or MemoryType.CONCEPT,
        tags=list(seen.tags),
        proposal_id=proposal_id,
        decision_id=decision_id,
        approved_by=owner.kind,
        recorded_at=p.clock(),
    )


def project(p: Premises, memory_id: str) -> bool:
    """Writes (or removes) the file of the current revision and refreshes the index. May be repeated at any time.

    False when the file was changed outside: it is left as it is, and the edit becomes a proposal when the vault is
    next looked at. What is served is the approved revision either way. Raises ``Transient`` when the disk or the vault
    cannot take it now; the wish stays, and ``recover`` repeats it.
    """
    with p.database.read() as session:
        found = memories.current_revision(session, memory_id)
    if found is None:
        raise Broken(f"a projection names the memory {memory_id}, which is not there")
    memory, revision = found
    if not is_marked(p.home.vault):  # an unmounted vault: written below its mount point, the file would be lost
        raise Away("the vault is not there", hint=f"mount {p.home.vault}; the file is written when it is back")
    try:
        path = _place(p, memory, revision)
    except OutsideEdit:
        p.database.write(lambda session: _leave_outside_edit(p, session, memory, revision))
        refresh(p.database, p.index, memory_id)
        return False
    reach("promote.file_written")
    p.database.write(lambda session: _note_projected(p, session, memory, revision, path))
    reach("promote.intent_cleared")
    refresh(p.database, p.index, memory_id)
    reach("promote.indexed")
    return True


def _place(p: Premises, memory: Memory, revision: MemoryRevision) -> str:
    if revision.content is None:
        if memory.written_digest is not None:
            remove_note(p.home.vault, memory.path, memory.written_digest)
        return memory.path
    try:
        return write_note(p.home.vault, memory.path, revision.content, memory.written_digest).path
    except OutsideEdit:
        if memory.written_digest is not None:
            raise
    # somebody put another file there since the approval: both are kept, ours takes the next free name
    folder = memory.path.rpartition("/")[0]
    with p.database.read() as session:
        free = note_path(folder, revision.title, taken(session, p.home.vault))
    return write_note(p.home.vault, free, revision.content, None).path


def _note_projected(p: Premises, session: Session, memory: Memory, revision: MemoryRevision, path: str) -> None:
    if not memories.projected(session, memory.id, revision.id, path, revision.digest):
        return
    now, actor = p.clock(), daemon_actor()
    events.append(session, actor, "projected", memory.id, now=now, before=memory.written_digest, after=revision.digest)
    if memories.memory(session, memory.id).verification is Verification.UNREVIEWED:
        move_verification(session, memory.id, "matches_again", actor, now)


def _leave_outside_edit(p: Premises, session: Session, memory: Memory, revision: MemoryRevision) -> None:
    memories.projected(session, memory.id, revision.id, memory.path, memory.written_digest)
    if memories.memory(session, memory.id).verification is Verification.VERIFIED:
        move_verification(session, memory.id, "changed_outside", daemon_actor(Channel.VAULT), p.clock())


def recover(p: Premises) -> RecoveryReport:
    """Finishes what a crash or an absent disk interrupted: half-written files go, wanted projections are written.

    Called at the start and at every look at the vault. Raises ``Transient`` when the vault is not there.
    """
    swept = sweep_temporaries(p.home.vault)
    with p.database.read() as session:
        wanted = [wish.memory_id for wish in memories.wanted_projections(session)]
    written = {memory_id: project(p, memory_id) for memory_id in wanted}
    return RecoveryReport(
        projected=[memory_id for memory_id, done in written.items() if done],
        changed_outside=[memory_id for memory_id, done in written.items() if not done],
        swept=swept,
    )
