"""When a proposal was shown to whom: a time stamp that the page sends back and that nobody else can make."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime
from typing import Final

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


def _seal(csrf: str, proposal_id: str, revision: int, milliseconds: int) -> str:
    message = f"narthex look 1 {proposal_id} {revision} {milliseconds}".encode()
    return hmac.new(csrf.encode(), message, hashlib.sha256).hexdigest()
