"""Make a note that somebody put into the vault a memory: its text stays, only the line with its id is added."""

from __future__ import annotations

from typing import ClassVar

from pipelines.model.errors import Conflict
from pipelines.model.plan import Action, CurrentMemory, Payload, Plan
from pipelines.vault.memory_file import with_changes


class AdoptNote(Payload):
    """``content`` is the note as it was found at ``path``."""

    incidental: ClassVar[frozenset[str]] = frozenset({"memory_id"})
    exact: ClassVar[bool] = True

    memory_id: str
    path: str
    scope: str
    content: str


def plan(payload: AdoptNote, current: CurrentMemory | None) -> Plan:
    """The found text with ``nx_id`` in its front matter; a copied note loses the id of the note it was copied from."""
    if current is not None:
        raise Conflict(f"there is a memory {payload.memory_id} already")
    content = with_changes(payload.content, {"nx_id": payload.memory_id})
    return Plan("adopt_note", payload.memory_id, payload.scope, None, payload.path, payload.content, content)


adopt_note = Action(AdoptNote, plan)
