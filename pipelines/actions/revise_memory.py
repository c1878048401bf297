"""Replace the whole text of a memory: what an edit of its file outside narthex asks for."""

from __future__ import annotations

from typing import ClassVar

from pipelines.model.errors import Conflict
from pipelines.model.plan import Action, CurrentMemory, Payload, Plan


class ReviseMemory(Payload):
    """``content`` is the whole file text, byte for byte as it is to be kept."""

    exact: ClassVar[bool] = True

    memory_id: str
    content: str


def plan(payload: ReviseMemory, current: CurrentMemory | None) -> Plan:
    """The same file with another text; there must be a memory, and something must change."""
    if current is None:
        raise Conflict(f"there is no memory {payload.memory_id} to revise")
    if payload.content == current.content:
        raise Conflict("nothing would change")
    return Plan(
        "revise_memory",
        current.memory_id,
        current.scope,
        current.revision_id,
        current.path,
        current.content,
        payload.content,
    )


revise_memory = Action(ReviseMemory, plan)
