"""Changes made in the vault by others: followed when a file was only moved, else proposed. Never writes a file.

The last approved revision goes on being served, whatever the file says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from sqlmodel import Session

from pipelines.model.actor import Channel, daemon_actor
from pipelines.model.errors import Away, Conflict, Duplicate, Invalid, NarthexError, NotFound, Unreadable
from pipelines.model.lifecycle import MemoryState, ProposalState, Verification
from pipelines.model.plan import digest_text
from pipelines.model.records import Memory, MemoryRevision, Proposal
from pipelines.model.values import SourceLabel, Suggestion
from pipelines.premises import Premises
from pipelines.store import events, memories, proposals
from pipelines.store.moves import move_proposal, move_verification
from pipelines.submission import Origin, rebase, submit
from pipelines.vault.marker import is_marked, mark
from pipelines.vault.matching import Expected, match
from pipelines.vault.reader import VaultFile, memory_id_of, read_text, scan

_EDITOR: Final = daemon_actor(Channel.VAULT, "vault")
_PRODUCER: Final = "vault"


@dataclass(slots=True)
class VaultReport:
    """What one look at the vault found: memory ids, or paths for notes that are no memory.

    ``refused`` says of a path why what is there cannot even be proposed.
    """

    moved: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    unreviewed: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Look:
    """The files, and the memories that should have one; a memory that is still to be projected is left out."""

    files: dict[str, VaultFile]
    known: list[tuple[Memory, MemoryRevision]]


def claim_vault(p: Premises) -> None:
    """Puts the marker into a vault that no memory lives in yet; later its absence means that the folder is not there.

    Raises ``Away`` when memories exist but the marker does not: the folder is unmounted, emptied or another.
    """
    if is_marked(p.home.vault):
        return
    with p.database.read() as session:
        empty = not memories.all_memories(session)
    if not empty:
        raise _away(p)
    mark(p.home.vault)


def reconcile(p: Premises) -> VaultReport:
    """Compares the vault with what narthex last wrote there and turns every difference into its consequence.

    Idempotent: a difference that is proposed already is not proposed again. Raises ``Away`` when the vault is not
    there: an absent vault is not a deletion.
    """
    if not is_marked(p.home.vault):
        raise _away(p)
    report = VaultReport()
    look = _look(p)
    places = match(look.files, [_expected(*known) for known in look.known], cache(lambda path: _id_in(p, path)))
    _follow(p, look, places, report)
    for memory, revision in look.known:
        _compare(p, memory, revision, places.get(memory.id), report)
    taken = {file.path for file in places.values()}
    _review_strangers(p, {path: file for path, file in look.files.items() if path not in taken}, report)
    return report


def _away(p: Premises) -> Away:
    return Away("the vault is not there", hint=f"mount or restore {p.home.vault}; nothing is recorded meanwhile")


def _look(p: Premises) -> _Look:
    with p.database.read() as session:
        wanted = {wish.memory_id for wish in memories.wanted_projections(session)}
        known = [pair for pair in memories.current_revisions(session) if pair[0].written_digest is not None]
    files = {file.path: file for file in scan(p.home.vault)}
    with p.database.read() as session:  # what was approved meanwhile is no stranger either
        ours = {memory.id for memory, _ in known if memory.id not in wanted}
        others = [memory for memory in memories.all_memories(session) if memory.state is MemoryState.ACTIVE]
    for memory in others:
        if memory.id not in ours:
            files.pop(memory.path, None)
    return _Look(files, [pair for pair in known if pair[0].id in ours])


def _expected(memory: Memory, revision: MemoryRevision) -> Expected:
    digests = frozenset(digest for digest in (memory.written_digest, revision.digest) if digest is not None)
    return Expected(memory.id, memory.path, digests)


def _id_in(p: Premises, path: str) -> str | None:
    try:
        return memory_id_of(read_text(p.home.vault, path))
    except NarthexError:
        return None


def _follow(p: Premises, look: _Look, places: Mapping[str, VaultFile], report: VaultReport) -> None:
    """All moves in one transaction, so that two notes may have changed places."""
    moved = [m for m, _ in look.known if m.id in places and places[m.id].path != m.path]
    if not moved:
        return

    def follow(session: Session) -> list[Memory]:
        going = [memory for memory in moved if _as_seen(session, memory)]
        for memory in going:
            memories.note_file(session, memory.id, f".moving/{memory.id}", memory.written_digest)
        for memory in going:
            memories.note_file(session, memory.id, places[memory.id].path, memory.written_digest)
            why = "the file was moved in the vault"
            events.append(session, _EDITOR, "followed", memory.id, now=p.clock(), reason=why)
        session.expire_all()  # the proposals are planned against the new paths
        for memory in going:
            for row in proposals.undecided_on_memory(session, memory.id):
                if row.state is ProposalState.PENDING:
                    rebase(session, row, _EDITOR, p.clock())
        return going

    for memory in p.database.write(follow):
        memory.path = places[
            memory.id
        ].path  # the row in hand is detached; what follows compares it with the stored one
        report.moved.append(memory.id)
        p.index.drop(memory.id)  # the next refresh puts it back


def _as_seen(session: Session, memory: Memory) -> bool:
    """Whether nothing was approved or projected since the look; otherwise the next look decides."""
    current = memories.memory(session, memory.id)
    return (current.revision_id, current.path, current.written_digest) == (
        memory.revision_id,
        memory.path,
        memory.written_digest,
    )


def _compare(
    p: Premises, memory: Memory, revision: MemoryRevision, file: VaultFile | None, report: VaultReport
) -> None:
    if file is not None and file.digest == revision.digest:
        _as_approved(p, memory, file, report)
    elif file is not None and file.digest == memory.written_digest:
        # an earlier approved text, written before an outside edit that is gone again: the newer one may follow now
        p.database.write(lambda session: memories.want_projection(session, memory.id, revision.id, p.clock()))
    elif memory.state is not MemoryState.ACTIVE:  # retracted: what is there is no file of ours any more
        p.database.write(lambda session: memories.note_file(session, memory.id, memory.path, None))
    elif file is None:
        report.missing.append(memory.id)
        rationale = "Its file was deleted from the vault."
        suggestion = Suggestion("retract_memory", {"memory_id": memory.id}, rationale, confidence=1.0)
        _change(p, memory, suggestion, report)
    else:
        _edited(p, memory, file, report)


def _as_approved(p: Premises, memory: Memory, file: VaultFile, report: VaultReport) -> None:
    if memory.verification is Verification.VERIFIED and memory.written_digest == file.digest:
        return
    report.restored.append(memory.id)

    def restore(session: Session) -> None:
        if not _as_seen(session, memory):
            return
        memories.note_file(session, memory.id, file.path, file.digest)
        if memory.verification is Verification.UNREVIEWED:
            move_verification(session, memory.id, "matches_again", _EDITOR, p.clock())
        _withdraw(p, session, proposals.undecided_on_memory(session, memory.id), "the file is as it was approved again")

    p.database.write(restore)


def _edited(p: Premises, memory: Memory, file: VaultFile, report: VaultReport) -> None:
    suggestion: Suggestion | None = None
    try:
        payload = {"memory_id": memory.id, "content": read_text(p.home.vault, file.path)}
        suggestion = Suggestion("revise_memory", payload, "The file was edited outside narthex.", confidence=1.0)
        report.edited.append(memory.id)
    except (NotFound, Invalid):
        return  # gone since the look; the next one says whether it was moved
    except Unreadable as error:
        report.refused[file.path] = error.message
    _change(p, memory, suggestion, report)


def _change(p: Premises, memory: Memory, suggestion: Suggestion | None, report: VaultReport) -> None:
    """One pending vault proposal a memory: the newest difference replaces an older one."""

    def record(session: Session) -> str:
        if not _as_seen(session, memory):
            return ""
        if memory.verification is Verification.VERIFIED:
            move_verification(session, memory.id, "changed_outside", _EDITOR, p.clock())
        older = proposals.undecided_on_memory(session, memory.id)
        problem = ""
        if suggestion is not None:
            try:
                submit(p, session, suggestion, _origin(memory.scope), _EDITOR)
            except Duplicate:
                return ""  # this very difference waits already, or the owner said no to it
            except (Conflict, Invalid) as error:
                problem = error.message
        _withdraw(p, session, older, "the file was changed again")
        return problem

    if problem := p.database.write(record):
        report.refused[memory.path] = problem


def _origin(scope: str) -> Origin:
    return Origin(_PRODUCER, "1", scope, SourceLabel.VAULT)


def _withdraw(p: Premises, session: Session, rows: list[Proposal], why: str) -> None:
    for row in rows:
        if row.producer == _PRODUCER:
            move_proposal(session, row.id, "withdrawn", _EDITOR, p.clock(), reason=why, problem=why)


def _review_strangers(p: Premises, strangers: dict[str, VaultFile], report: VaultReport) -> None:
    """Notes that are no memory, copies among them, wait to be adopted: one proposal a note, so many at a time."""
    report.unreviewed.extend(strangers)
    with p.database.read() as session:
        waiting = proposals.pending_of_action(session, "adopt_note")
    gone = [row for row in waiting if not _still_there(row, strangers)]
    if gone:
        why = "the note was changed or is gone"
        p.database.write(lambda session: _withdraw(p, session, gone, why))
    room = p.policy.pending_per_producer - (len(waiting) - len(gone))
    proposed = {row.path for row in waiting if row not in gone}
    for path in strangers:
        if room <= 0:
            return
        if path not in proposed:
            room -= _propose_adoption(p, path, report)


def _still_there(row: Proposal, strangers: dict[str, VaultFile]) -> bool:
    file = strangers.get(row.path)
    return file is not None and file.digest == digest_text(str(row.payload["content"]))


def _propose_adoption(p: Premises, path: str, report: VaultReport) -> bool:
    try:
        content = read_text(p.home.vault, path)
        fields = {"memory_id": p.ids.new("mem"), "path": path, "scope": p.policy.default_scope, "content": content}
        suggestion = Suggestion(
            "adopt_note", fields, "The note is in the vault and was never reviewed.", confidence=1.0
        )
        p.database.write(lambda session: submit(p, session, suggestion, _origin(p.policy.default_scope), _EDITOR))
    except (Duplicate, NotFound):
        return False  # the owner said no to it, or it is gone since the look
    except (Invalid, Unreadable) as error:
        report.refused[path] = error.message
        return False
    return True
