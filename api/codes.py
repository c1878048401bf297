"""One-time codes that prove the owner: printed by the daemon, typed once. Kept in memory, never on disk or in a log."""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from pipelines.model.errors import Busy, Unauthenticated
from pipelines.model.identity import Clock

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: what is read aloud is typed right
_READ_AS: Final = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})
_CHARACTERS: Final = 8
_BYTES: Final = 5  # 40 bits; five wrong tries void it, so a guess has a chance of 1 in 2 × 10¹¹
_LIVE: Final = 4
_PER_MINUTE: Final = 10

RandomBytes = Callable[[int], bytes]
"""Answers that many random bytes; ``secrets.token_bytes`` in production."""


class CodeDesk:
    """Issues and redeems codes; safe to share between threads."""

    def __init__(self, clock: Clock, random: RandomBytes, lifetime: timedelta, tries: int) -> None:
        self._clock = clock
        self._random = random
        self._lifetime = lifetime
        self._tries = tries
        self._wrong = 0
        self._live: deque[tuple[bytes, datetime]] = deque(maxlen=_LIVE)
        self._issued: deque[datetime] = deque(maxlen=_PER_MINUTE)
        self._lock = threading.Lock()

    def issue(self) -> str:
        """A fresh code such as ``7K2M-Q9XA``. Raises ``Busy`` beyond ten a minute."""
        number = int.from_bytes(self._random(_BYTES), "big")
        code = "".join(_ALPHABET[(number >> shift) & 31] for shift in range(35, -1, -5))
        now = self._clock()
        with self._lock:
            if len(self._issued) == _PER_MINUTE and now - self._issued[0] < timedelta(minutes=1):
                raise Busy("too many codes were asked for", hint="wait a minute, then ask once")
            self._issued.append(now)
            self._live.append((_digest(code), now + self._lifetime))
            self._wrong = 0
        return f"{code[:4]}-{code[4:]}"

    def redeem(self, typed: str) -> None:
        """Uses a code up. Raises ``Unauthenticated`` for a wrong, used or expired one; too many of them void all."""
        offered = _digest(typed.upper().translate(_READ_AS)[: _CHARACTERS + 1])
        now = self._clock()
        with self._lock:
            for entry in tuple(self._live):
                if entry[1] <= now:
                    self._live.remove(entry)
            matching = [entry for entry in self._live if hmac.compare_digest(entry[0], offered)]
            if matching:
                self._live.remove(matching[0])
                self._wrong = 0
                return
            self._wrong += 1
            if self._wrong >= self._tries:
                self._live.clear()
        raise Unauthenticated(
            "this one-time code is wrong, used or expired",
            hint="'narthex login' makes narthexd print a fresh one in its terminal or journal",
        )


def _digest(code: str) -> bytes:
    return hashlib.sha256(b"narthex code 1" + code.encode("utf-8", "surrogatepass")).digest()
