"""Take a memory back: it is no longer served and its file goes; its history stays."""

from __future__ import annotations

from typing import ClassVar

from pipelines.model.errors import Conflict
from pipelines.model.plan import Action, CurrentMemory, Payload, Plan


class RetractMemory(Payload):
    """Only which memory."""

    stays_rejected: ClassVar[bool] = False  # a file that is deleted once more is a new question

    memory_id: str


def plan(payload: RetractMemory, current: CurrentMemory | None) -> Plan:
    """The file goes; there must be an active memory."""
    if current is None:
        raise Conflict(f"there is no active memory {payload.memory_id} to retract")
    return Plan(
        "retract_memory",
        current.memory_id,
        current.scope,
        current.revision_id,
        current.path,
        current.content,
        None,
    )


retract_memory = Action(RetractMemory, plan)
