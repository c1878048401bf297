"""Changes made in the vault by others: followed when a file was only moved, else proposed. Never writes a file.

The last approved revision goes on being served, whatever the file says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from sqlmodel import Session

from pipelines.model.actor import Channel, daemon_actor
from pipelines.model.errors import Busy, Conflict, Duplicate, Invalid, NarthexError, NotFound, Transient, Unreadable
from pipelines.model.lifecycle import MemoryState, ProposalState, Verification
from pipelines.model.records import Memory
from pipelines.model.values import SourceLabel, Suggestion
from pipelines.premises import Premises
from pipelines.store import events, memories, proposals
from pipelines.store.moves import move_proposal, move_verification
from pipelines.submission import Origin, rebase, submit
from pipelines.vault.marker import is_marked, mark
from pipelines.vault.reader import VaultFile, memory_id_of, read_text, scan

_EDITOR: Final = daemon_actor(Channel.VAULT, "vault")


@dataclass(slots=True)
class VaultReport:
    """What one look at the vault found: memory ids, or paths for notes that are no memory. ``unreadable`` says why."""

    moved: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    unreviewed: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Look:
    """Files by path, and memories that should have one, by path; a memory still to be projected is left out."""

    files: dict[str, VaultFile]
    memories: dict[str, Memory]


def claim_vault(p: Premises) -> None:
    """Puts the marker into a vault that no memory lives in yet; later its absence means that the folder is not there.

    Raises ``Transient`` when memories exist but the marker does not: the folder is unmounted, emptied or another.
    """
    if is_marked(p.home.vault):
        return
    with p.database.read() as session:
        empty = not memories.all_memories(session)
    if not empty:
        raise Transient(
            "the vault is not there", hint=f"mount or restore {p.home.vault}; nothing is recorded meanwhile"
        )
    mark(p.home.vault)


def reconcile(p: Premises, paths: Iterable[str] | None = None) -> VaultReport:
    """Compares the vault with what narthex last wrote there and turns every difference into its consequence.

    ``paths`` are hints of what changed; a rename shows only in the whole, so the whole is compared. Idempotent: a
    difference that is proposed already is not proposed again. Raises ``Transient`` when the vault is not there.
    """
    if not is_marked(p.home.vault):
        raise Transient(
            "the vault is not there", hint=f"mount or restore {p.home.vault}; nothing is recorded meanwhile"
        )
    report = VaultReport()
    look = _look(p)
    strangers = {path: file for path, file in look.files.items() if path not in look.memories}
    for path, memory in look.memories.items():
        file = look.files.get(path) or _moved(p, memory, strangers, report)
        if file is None:
            _missing(p, memory, report)
        elif file.digest == memory.written_digest:
            _matches(p, memory, report)
        else:
            _edited(p, memory, file, report)
    for path in strangers:
        _unreviewed(p, path, report)
    return report


def _look(p: Premises) -> _Look:
    with p.database.read() as session:
        wanted = {wish.memory_id for wish in memories.wanted_projections(session)}
        known = [m for m in memories.all_memories(session) if m.written_digest is not None]
    files = {file.path: file for file in scan(p.home.vault)}
    for memory in known:
        if memory.id in wanted:
            files.pop(memory.path, None)  # about to be written: promote compares it itself
    with p.database.read() as session:  # a memory that was projected meanwhile is no stranger
        fresh = {memory.path for memory in memories.all_memories(session)} - {memory.path for memory in known}
    for path in fresh:
        files.pop(path, None)
    return _Look(files, {memory.path: memory for memory in known if memory.id not in wanted})


def _moved(p: Premises, memory: Memory, strangers: dict[str, VaultFile], report: VaultReport) -> VaultFile | None:
    """The file of ``memory`` under another name: with the same bytes, or else with its id in the front matter."""
    found = next((file for file in strangers.values() if file.digest == memory.written_digest), None)
    if found is None:
        found = next((f for f in strangers.values() if _id_in(p, f.path) == memory.id), None)
    if found is None:
        return None
    del strangers[found.path]
    report.moved.append(memory.id)
    target = found.path

    def follow(session: Session) -> None:
        if not _as_seen(session, memory):
            return
        memories.note_file(session, memory.id, target, memory.written_digest)
        events.append(session, _EDITOR, "followed", memory.id, now=p.clock(), reason="the file was moved in the vault")
        session.expire_all()  # the proposals are planned against the new path
        for row in proposals.undecided_on_memory(session, memory.id):
            if row.state is ProposalState.PENDING:
                rebase(session, row, _EDITOR, p.clock())

    p.database.write(follow)
    memory.path = target  # the row in hand is detached; what follows compares it with the stored one
    p.index.drop(memory.id)  # carries the old path; the next refresh puts it back
    return found


def _as_seen(session: Session, memory: Memory) -> bool:
    """Whether nothing was approved or projected since the look; otherwise the next look decides."""
    current = memories.memory(session, memory.id)
    return (current.revision_id, current.path, current.written_digest) == (
        memory.revision_id,
        memory.path,
        memory.written_digest,
    )


def _id_in(p: Premises, path: str) -> str | None:
    try:
        return memory_id_of(read_text(p.home.vault, path))
    except NarthexError:
        return None


def _matches(p: Premises, memory: Memory, report: VaultReport) -> None:
    if memory.verification is Verification.VERIFIED:
        return
    report.restored.append(memory.id)

    def restore(session: Session) -> None:
        if not _as_seen(session, memory):
            return
        move_verification(session, memory.id, "matches_again", _EDITOR, p.clock())
        _withdraw(p, session, memory.id, keep=None, why="the file is as it was approved again")

    p.database.write(restore)


def _edited(p: Premises, memory: Memory, file: VaultFile, report: VaultReport) -> None:
    try:
        content = read_text(p.home.vault, file.path)
    except NotFound:
        return  # gone since the look; the next one says whether it was moved
    except Unreadable as error:
        report.unreadable[file.path] = error.message
        _change(p, memory, None, "its file can no longer be read as text")
        return
    report.edited.append(memory.id)
    payload = {"memory_id": memory.id, "content": content}
    suggestion = Suggestion("revise_memory", payload, "The file was edited outside narthex.", confidence=1.0)
    _change(p, memory, suggestion, "the file was edited again")


def _missing(p: Premises, memory: Memory, report: VaultReport) -> None:
    report.missing.append(memory.id)
    rationale = "Its file was deleted from the vault."
    suggestion = Suggestion("retract_memory", {"memory_id": memory.id}, rationale, confidence=1.0)
    _change(p, memory, suggestion, "the file is gone now")


def _change(p: Premises, memory: Memory, suggestion: Suggestion | None, why: str) -> None:
    """One pending vault proposal a memory: the newest difference replaces an older one."""

    def record(session: Session) -> None:
        now = p.clock()
        current = memories.memory(session, memory.id)
        if not _as_seen(session, memory):
            return
        if current.verification is Verification.VERIFIED:
            move_verification(session, memory.id, "changed_outside", _EDITOR, now)
        if current.state is not MemoryState.ACTIVE:
            return
        fresh = None if suggestion is None else _submitted(p, session, memory, suggestion)
        if fresh != "duplicate":
            _withdraw(p, session, memory.id, keep=fresh, why=why)

    p.database.write(record)


def _submitted(p: Premises, session: Session, memory: Memory, suggestion: Suggestion) -> str | None:
    """The id of the new proposal; "duplicate" when the same waits or was rejected; None when it cannot be proposed."""
    try:
        row = submit(p, session, suggestion, _origin(memory.scope), _EDITOR)
    except Duplicate:
        return "duplicate"
    except (Conflict, Invalid):
        return None
    return row.id


def _origin(scope: str, *, capped: bool = False) -> Origin:
    return Origin("vault", "1", scope, SourceLabel.VAULT, capped=capped)


def _withdraw(p: Premises, session: Session, memory_id: str, keep: str | None, why: str) -> None:
    for row in proposals.undecided_on_memory(session, memory_id):
        if row.producer == "vault" and row.id != keep:
            move_proposal(session, row.id, "withdrawn", _EDITOR, p.clock(), reason=why, problem=why)


def _unreviewed(p: Premises, path: str, report: VaultReport) -> None:
    """A note that is no memory, or a copy of one: it waits to be adopted, at most so many at a time."""
    report.unreviewed.append(path)
    try:
        content = read_text(p.home.vault, path)
    except NotFound:
        return
    except Unreadable as error:
        report.unreadable[path] = error.message
        return
    fields = {"memory_id": p.ids.new("mem"), "path": path, "scope": p.policy.default_scope, "content": content}
    suggestion = Suggestion("adopt_note", fields, "The note is in the vault and was never reviewed.", confidence=1.0)

    def propose(session: Session) -> None:
        try:
            submit(p, session, suggestion, _origin(p.policy.default_scope, capped=True), _EDITOR)
        except (Duplicate, Busy, Invalid):
            return  # it is proposed, was rejected, waits for its turn, or is no note that could be kept

    p.database.write(propose)
