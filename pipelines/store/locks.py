"""Reading and then writing as one act, where the database has more than one writer."""

from __future__ import annotations

import hashlib

from sqlalchemy import text
from sqlmodel import Session


def one_at_a_time(session: Session, what: str) -> None:
    """Until the transaction ends, nobody else is past this point for the same ``what``.

    SQLite has one writer and needs nothing. PostgreSQL takes an advisory lock; take locks in the order of the steps.
    """
    if session.connection().dialect.name != "postgresql":
        return
    key = int.from_bytes(hashlib.sha256(what.encode()).digest()[:8], "big", signed=True)
    session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
