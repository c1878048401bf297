"""Which file is which memory's, after somebody may have moved, copied and edited them. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pipelines.vault.reader import VaultFile


@dataclass(frozen=True, slots=True)
class Expected:
    """A memory whose file should be there: where it was, and the digests that are its own."""

    memory_id: str
    path: str
    digests: frozenset[str]


def match(
    files: Mapping[str, VaultFile], expected: Iterable[Expected], id_in: Callable[[str], str | None]
) -> dict[str, VaultFile]:
    """The file of each memory that has one; files that are nobody's are left out.

    In this order, each over all memories: the old path with known bytes or the memory's id in it; known bytes
    elsewhere; the id elsewhere; the old path, whatever it holds now. So a swap is two moves, and a copy is a stranger.
    ``id_in`` answers the id that the front matter at a path names.
    """
    free = dict(files)
    left = list(expected)
    found: dict[str, VaultFile] = {}

    def stays(memory: Expected) -> VaultFile | None:
        file = free.get(memory.path)
        own = file is not None and (file.digest in memory.digests or id_in(file.path) == memory.memory_id)
        return file if own else None

    def same_bytes(memory: Expected) -> VaultFile | None:
        return next((file for file in free.values() if file.digest in memory.digests), None)

    def same_id(memory: Expected) -> VaultFile | None:
        return next((file for file in free.values() if id_in(file.path) == memory.memory_id), None)

    def old_place(memory: Expected) -> VaultFile | None:
        return free.get(memory.path)

    for rule in (stays, same_bytes, same_id, old_place):
        for memory in list(left):
            file = rule(memory)
            if file is not None:
                found[memory.memory_id] = free.pop(file.path)
                left.remove(memory)
    return found
