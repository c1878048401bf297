"""Make a new memory from a title and its three levels."""

from __future__ import annotations

from typing import ClassVar

from pipelines.model.errors import Conflict
from pipelines.model.memory import MemoryText, MemoryType
from pipelines.model.plan import Action, CurrentMemory, Payload, Plan
from pipelines.vault.memory_file import render


class CreateMemory(Payload):
    """``created`` is an ISO day, ``path`` below the vault; ids, path and day are given by us, never by a producer."""

    incidental: ClassVar[frozenset[str]] = frozenset({"memory_id", "path", "created", "source"})

    memory_id: str
    path: str
    created: str
    scope: str
    title: str
    type: MemoryType
    l0: str
    l1: str
    l2: str = ""
    tags: tuple[str, ...] = ()
    source: str = ""


def plan(payload: CreateMemory, current: CurrentMemory | None) -> Plan:
    """A new file; there must be no such memory yet."""
    if current is not None:
        raise Conflict(f"there is a memory {payload.memory_id} already")
    memory = MemoryText(
        id=payload.memory_id,
        title=payload.title,
        type=payload.type,
        l0=payload.l0,
        l1=payload.l1,
        l2=payload.l2,
        tags=payload.tags,
        scope=payload.scope,
        created=payload.created,
        source=payload.source,
    )
    memory.check()
    return Plan("create_memory", payload.memory_id, payload.scope, None, payload.path, None, render(memory))


create_memory = Action(CreateMemory, plan)
