"""What a database error means for narthex: a full disk, a passing fault, bad content or a broken invariant."""

from __future__ import annotations

from typing import Final

from sqlalchemy.exc import DataError, DBAPIError

from pipelines.model.errors import Broken, Conflict, Invalid, NarthexError, StorageFull, Transient

RETRYABLE: Final = ("40001", "40P01")  # serialization failure, deadlock
_UNFIT: Final = ("22", "54")  # data exception, program limit exceeded (an index row too long)


def classified(error: DBAPIError) -> NarthexError:
    """The error of ours to raise for it, in the family that decides the reaction."""
    text = str(error.orig)
    sqlstate = getattr(error.orig, "sqlstate", None) or ""
    if "disk is full" in text or sqlstate == "53100":
        return StorageFull("the disk of the database is full", hint="free some space; nothing was changed")
    if "UNIQUE constraint" in text or sqlstate == "23505":
        return Conflict("the same thing was stored meanwhile", hint="look again")
    if "locked" in text or "busy" in text or sqlstate in RETRYABLE or sqlstate.startswith(("08", "57")):
        return Transient(f"the database is not available: {text}")
    if error.connection_invalidated or "connection" in text:
        return Transient(f"the database cannot be reached: {text}")
    if isinstance(error, DataError) or sqlstate.startswith(_UNFIT):
        return Invalid(f"the database cannot store that: {text.splitlines()[0]}")
    return Broken(f"the database refused a statement: {text}")
