"""Long lists in pieces: the limit, the opaque cursor and the shape of a page. Reads no rows."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Final, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel

from pipelines.model.errors import Invalid
from pipelines.model.identity import check_id

Entry = TypeVar("Entry", bound=BaseModel)

_MARK: Final = "1:"  # so that a later kind of cursor is told apart from this one

Limit = Annotated[int, Query(ge=1, le=200, description="how many at most")]
Cursor = Annotated[str | None, Query(max_length=100, description="next_cursor of the page before")]
DEFAULT_LIMIT: Final = 50


class Listing(BaseModel, Generic[Entry]):
    """A page, newest first. ``next_cursor`` stays good while entries are added; null on the last page."""

    items: list[Entry]
    next_cursor: str | None = None


def cursor_of(last_id: str | None) -> str | None:
    """What the client sends to go on after the entry with this id."""
    return None if last_id is None else base64.urlsafe_b64encode((_MARK + last_id).encode()).decode().rstrip("=")


def last_id(cursor: str | None, prefix: str) -> str | None:
    """The id that a cursor stands for; raises ``Invalid`` for anything that is not one of our cursors."""
    if cursor is None:
        return None
    try:
        decoded = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except (binascii.Error, ValueError) as error:
        raise Invalid("this cursor is not one that narthex made") from error
    if not decoded.startswith(_MARK):
        raise Invalid("this cursor is not one that narthex made")
    return check_id(decoded.removeprefix(_MARK), prefix)
