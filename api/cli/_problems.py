"""How an error reads: three lines for a person, one document for a program; and what a batch does with several."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from api.cli._session import Session
from api.cli._visible import one_line
from api.client import JsonObject
from pipelines.model.errors import (
    Broken,
    Conflict,
    NarthexError,
    NotFound,
    NotPermitted,
    StorageFull,
    Transient,
    Unauthenticated,
    Unreadable,
)

PARTLY_DONE: Final = 7
_NEXT: Final[tuple[tuple[type[NarthexError], str], ...]] = (
    (Unauthenticated, "narthex login"),
    (NotFound, "narthex proposals   ·   narthex inbox"),
    (NotPermitted, "ask the person whose narthex it is"),
    (Conflict, "look again: narthex show ID"),
    (Transient, "narthex status   ·   narthexd starts the daemon"),
    (Broken, "look into the daemon's journal, then start narthexd again: it recovers by itself"),
)

Thing = TypeVar("Thing")


def three_lines(error: NarthexError) -> list[str]:
    """What happened, why, and the next step."""
    return [
        f"narthex: {one_line(error.title)}",
        f"  {one_line(error.message)}",
        f"  next: {one_line(_next_step(error))}",
    ]


def _next_step(error: NarthexError) -> str:
    return error.hint or next((step for family, step in _NEXT if isinstance(error, family)), "narthex --help")


def problem_document(error: NarthexError) -> JsonObject:
    """As the HTTP API would answer it, with the exit status that the command ends with."""
    return {
        "type": f"urn:narthex:problem:{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": error.message,
        "hint": _next_step(error),
        "exit_code": error.exit_code,
    }


def of_system(error: OSError) -> NarthexError:
    """The family that a refusal of the system belongs to, with the name it is about."""
    about = f"{error.filename}: " if error.filename else ""
    message = f"{about}{error.strerror or error}"
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StorageFull(message, hint="Free some space, then try again.")
    if isinstance(error, FileNotFoundError):
        return NotFound(message, hint="Check the path.")
    if isinstance(error, FileExistsError):
        return Conflict(message, hint="Choose another place.")
    return Unreadable(message, hint="Check who may read and write there.")


def failed(document: JsonObject) -> bool:
    """Whether this row of a batch stands for an error; an item has a field ``problem`` of its own."""
    return "subject" in document


def each(
    session: Session, things: Sequence[Thing], step: Callable[[Thing], JsonObject]
) -> tuple[list[JsonObject], int]:
    """The document of each thing and the exit status: 0, or 7 when some failed and some did not.

    An error of the only thing passes through. Among several, each is reported at once and stands in the list as
    ``{"subject", "problem"}``; when all fail the status is the first one's.
    """
    if len(things) == 1:
        return [step(things[0])], 0
    documents: list[JsonObject] = []
    failures: list[NarthexError] = []
    for thing in things:
        try:
            documents.append(step(thing))
        except (NarthexError, OSError) as error:
            failures.append(of_system(error) if isinstance(error, OSError) else error)
            documents.append({"subject": str(thing), "problem": problem_document(failures[-1])})
            session.hint(f"{thing}:")
            for line in three_lines(failures[-1]):
                session.hint(line)
    if not failures:
        return documents, 0
    return documents, PARTLY_DONE if len(failures) < len(things) else failures[0].exit_code
