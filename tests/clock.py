"""A clock that a test sets; it never runs by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class SettableClock:
    """Called, it answers its time: aware, in UTC. It moves only when told."""

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def set(self, moment: datetime) -> None:
        """Jumps to ``moment``, backwards too; a time without a zone is refused."""
        if moment.tzinfo is None:
            raise ValueError("a clock of narthex is aware")
        self.now = moment.astimezone(UTC)

    def advance(self, **parts: float) -> datetime:
        """Moves on, by the keywords of ``timedelta``, and answers the new time."""
        self.now += timedelta(**parts)
        return self.now
