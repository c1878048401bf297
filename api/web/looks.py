"""When a proposal was shown to whom, sealed so that nobody else can say it, and how long a look must at least last."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection
from datetime import datetime
from typing import Final

from pipelines.model.unseen import INVISIBLE

LEAST_MS: Final = 600  # the second half of a double click, and a key that is held down, come sooner
LEAST_RISKY_MS: Final = 1200
_RISKY_ACTIONS: Final = frozenset({"retract_memory"})
_RISKY_FLAGS: Final = frozenset({INVISIBLE})
_LONGEST_MS: Final = 7 * 24 * 3600 * 1000


def stamp(csrf: str, proposal_id: str, revision: int, now: datetime) -> str:
    """For the hidden field of the form. ``csrf`` is the session's own secret for writes."""
    milliseconds = int(now.timestamp() * 1000)
    return f"{milliseconds}.{_seal(csrf, proposal_id, revision, milliseconds)}"


def shown_ms(stamped: str, csrf: str, proposal_id: str, revision: int, now: datetime) -> int:
    """For how long it was on the screen, in milliseconds; 0 when the stamp is not ours or is of something else."""
    text, _, seal = stamped.partition(".")
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        return 0
    milliseconds = int(text)
    if not hmac.compare_digest(seal.encode(), _seal(csrf, proposal_id, revision, milliseconds).encode()):
        return 0
    return max(0, min(int(now.timestamp() * 1000) - milliseconds, _LONGEST_MS))


def is_risky(action: str, flags: Collection[str]) -> bool:
    """Whether a hasty answer would do more harm than usual: a memory goes, or a flag says so."""
    return action in _RISKY_ACTIONS or any(flag in _RISKY_FLAGS or flag.startswith("high_risk") for flag in flags)


def _seal(csrf: str, proposal_id: str, revision: int, milliseconds: int) -> str:
    message = f"narthex look 1 {proposal_id} {revision} {milliseconds}".encode()
    return hmac.new(csrf.encode(), message, hashlib.sha256).hexdigest()
