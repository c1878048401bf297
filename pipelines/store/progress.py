"""How fast items get on, from the latest events: an estimate for people, on which nothing else depends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlmodel import Session

from pipelines.model.lifecycle import ItemState
from pipelines.store import events

_WORKING: Final = (ItemState.FETCHED, ItemState.EXTRACTED, ItemState.NORMALIZED)
_ENDS: Final = frozenset({"proposed", "quarantined", "duplicated", "discarded"})
"""Events after which the daemon has nothing more to do with an item."""
_WINDOW: Final = timedelta(minutes=1)
_LATEST: Final = 2000  # events; read only while there is work


@dataclass(frozen=True, slots=True)
class Progress:
    """``captured`` ever, ``working`` now; ``seconds_left`` None while the rate is unknown."""

    captured: int
    working: int
    rate_per_minute: float
    seconds_left: int | None


def progress(session: Session, by_state: Mapping[ItemState, int], now: datetime) -> Progress:
    """The rate is that of the last minute, or of as much of it as the latest events tell."""
    captured, working = sum(by_state.values()), sum(by_state.get(state, 0) for state in _WORKING)
    if not working:
        return Progress(captured, 0, 0.0, 0)
    recent = [(at, action) for at, action in events.latest(session, _LATEST) if now - at <= _WINDOW]
    done = sum(action in _ENDS for _, action in recent)
    span = max(timedelta(seconds=1), now - recent[-1][0]) if recent else _WINDOW
    rate = done * (timedelta(minutes=1) / span)
    return Progress(captured, working, round(rate, 1), round(working / rate * 60) if rate else None)
