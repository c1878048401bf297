"""Named points between two durable steps, where the crash rig kills the process; does nothing in production."""

from __future__ import annotations

from collections.abc import Callable


def _nothing(name: str) -> None:
    pass


_hook: Callable[[str], None] = _nothing


def reach(name: str) -> None:
    """Marks that execution is here. Names read ``use_case.what_is_done``."""
    _hook(name)


def install(hook: Callable[[str], None]) -> None:
    """Called by ``tests/crash`` alone, before the daemon starts."""
    global _hook
    _hook = hook
