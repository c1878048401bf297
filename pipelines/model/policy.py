"""Limits that decide, as one value made from the settings; no limit is read from anywhere else."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Policy:
    """Bytes, seconds and counts; the defaults are those of the settings table in ``daemon/README.md``."""

    max_original_bytes: int = 512 * 1024 * 1024
    max_text_bytes: int = 10 * 1024 * 1024
    lease: timedelta = timedelta(seconds=120)
    max_attempts: int = 3
    retry_delays: tuple[timedelta, ...] = (timedelta(seconds=5), timedelta(seconds=60), timedelta(minutes=10))
    pending_per_producer: int = 20
    scopes: tuple[str, ...] = ("personal",)
    default_scope: str = "personal"
    notes_folder: str = "Notes"
    tag_vocabulary: tuple[str, ...] = field(default=())
    session_idle: timedelta = timedelta(hours=12)
    code_lifetime: timedelta = timedelta(minutes=60)
    code_tries: int = 10
