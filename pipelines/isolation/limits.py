"""What one extraction may cost, as one value; reads no setting itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes and seconds for one original; ``idle_seconds``: how long a child without work lives on.

    ``text_bytes`` is ``Policy.max_text_bytes``: the size up to which an original that is text as a whole is read.
    """

    address_space: int = 3 * 512 * 1024 * 1024
    cpu_seconds: int = 30
    wall_seconds: float = 60.0
    output_bytes: int = 20 * 1024 * 1024
    text_bytes: int = 10 * 1024 * 1024
    open_files: int = 64
    idle_seconds: float = 60.0

    def to_json(self) -> str:
        """For the child's command line."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Limits:
        """The inverse of ``to_json``."""
        return Limits(**json.loads(text))
