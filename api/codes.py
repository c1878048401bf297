"""One-time codes that prove the owner: printed by the daemon, used once. Kept in memory, never on disk or in a log.

A code has 24 characters. Its link carries them all; a person types the first eight. Those could be guessed in time, so
wrong ones are limited at each door; the whole code cannot, and is never refused because of somebody else's guesses.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from api.ports import Listener
from api.tries import Tries
from pipelines.model.errors import Busy, Unauthenticated
from pipelines.model.identity import Clock

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: what is read aloud is typed right
_READ_AS: Final = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})
_TYPED: Final = 8  # 40 bits; ten tries a minute at each of two doors, for an hour: a chance of 1 in 2 × 10⁸
_WHOLE: Final = 24  # 120 bits
_BYTES: Final = 15
_LIVE: Final = 4
_PER_MINUTE: Final = 10

RandomBytes = Callable[[int], bytes]
"""Answers that many random bytes; ``secrets.token_bytes`` in production."""


@dataclass(frozen=True, slots=True)
class _Code:
    typed: bytes
    whole: bytes
    until: datetime


class CodeDesk:
    """Issues and redeems codes; safe to share between threads. ``tries``: wrong short ones a minute at one door."""

    def __init__(self, clock: Clock, random: RandomBytes, lifetime: timedelta, tries: int) -> None:
        self._clock = clock
        self._random = random
        self._lifetime = lifetime
        self._tries = Tries(clock, tries)
        self._live: deque[_Code] = deque(maxlen=_LIVE)
        self._issued: deque[datetime] = deque(maxlen=_PER_MINUTE)
        self._lock = threading.Lock()

    def issue(self) -> str:
        """A fresh code such as ``7K2M-Q9XA-…``. Raises ``Busy`` beyond ten a minute."""
        number = int.from_bytes(self._random(_BYTES), "big")
        code = "".join(_ALPHABET[(number >> shift) & 31] for shift in range(_BYTES * 8 - 5, -1, -5))
        now = self._clock()
        with self._lock:
            if len(self._issued) == _PER_MINUTE and now - self._issued[0] < timedelta(minutes=1):
                raise Busy("too many codes were asked for", hint="wait a minute, then ask once")
            self._issued.append(now)
            self._live.append(_Code(_digest(code[:_TYPED]), _digest(code), now + self._lifetime))
        return f"{code[:4]}-{code[4:_TYPED]}-{code[_TYPED:]}"

    def redeem(self, offered: str, door: Listener) -> None:
        """Uses a code up, typed or whole; a wrong one leaves every code as it is.

        Raises ``Unauthenticated`` for a wrong, used or expired one, and ``Busy`` for any that is not whole once this
        door had too many wrong ones within a minute: also for a right one, or the limit would be none.
        """
        read = offered.upper().translate(_READ_AS)[: _WHOLE + 1]
        whole = len(read) == _WHOLE
        digest, now = _digest(read), self._clock()
        with self._lock:
            if not whole and self._tries.spent(door):
                raise Busy("too many wrong codes came in", hint="use the link beside the code, or wait a minute")
            for code in tuple(self._live):
                if code.until <= now:
                    self._live.remove(code)
            for code in tuple(self._live):
                if hmac.compare_digest(code.whole if whole else code.typed, digest):
                    self._live.remove(code)
                    return
            if not whole:
                self._tries.failed(door)
        raise Unauthenticated(
            "this one-time code is wrong, used or expired",
            hint="'narthex login' makes narthexd print a fresh one in its terminal or journal",
        )


def typed_part(code: str) -> str:
    """What a person types of a code: its first two groups."""
    return "-".join(code.split("-")[:2])


def _digest(code: str) -> bytes:
    return hashlib.sha256(b"narthex code 1" + code.encode("utf-8", "surrogatepass")).digest()
