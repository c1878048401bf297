"""Turns what a person types into an id: all of it, a row of the last list, or its end. Never guesses between two."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from api.cli._documents import counted, text
from api.cli._homes import cache_folder, write_private
from api.cli._session import Session, Usage
from api.client import home_key
from pipelines.model.errors import NotFound, NotPermitted
from pipelines.model.lifecycle import MemoryState, ProposalState

PLACES: Final = {
    "prp": "/v1/proposals",
    "itm": "/v1/items",
    "mem": "/v1/memories",
    "dec": "/v1/decisions",
    "tok": "/v1/tokens",
}
_ID: Final = re.compile(r"(itm|prp|dec|mem|tok)_[0-9abcdefghjkmnpqrstvwxyz]{12}")
_TAIL: Final = re.compile(r"[0-9abcdefghjkmnpqrstvwxyz]{4,12}")
_NEWEST: Final = 1000
# what a kind of id stands for, and which verb lists those
_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "itm": ("an item", "narthex inbox"),
    "prp": ("a proposal", "narthex proposals"),
    "mem": ("a memory", "narthex search WORD"),
    "dec": ("a decision", "narthex show ID"),
    "tok": ("a token", "narthex token"),
}
# these lists show one state at a time; an id is sought in all of them
_STATES: Final[Mapping[str, Sequence[Mapping[str, str]]]] = {
    "prp": [{"state": state.value} for state in ProposalState],
    "mem": [{"state": state.value} for state in MemoryState],
}


class WrongKind(Usage):
    """An id or a row of another kind of thing than the verb is about."""

    title = "That is another kind of thing"


def resolve(session: Session, word: str, kinds: Sequence[str]) -> str:
    """The one id that ``word`` means among ``kinds``; a tail is sought in the last list, then in the newest ones.

    Raises ``WrongKind`` for an id of another kind, ``Usage`` for a tail that several ids have, ``NotFound`` for none.
    """
    if _ID.fullmatch(word):
        return _of_kind(word, kinds)
    last = _last_list(session)
    if word.isascii() and word.isdigit() and 0 < int(word) <= len(last):
        return _row(int(word), last, kinds)
    if not _TAIL.fullmatch(word):
        listed = f"the last list ({counted(len(last), 'row')})" if last else "a list (there was none yet)"
        raise Usage(
            f"{word[:40]!r} is no id, no row of {listed} and no end of an id (four characters or more)",
            hint=_lists(kinds),
        )
    found = _with_tail(word, [one for one in last if one.partition("_")[0] in kinds])
    if not found:
        found = _with_tail(word, _listed(session, kinds))
    if not found:
        raise NotFound(f"no id ends in {word!r}")
    if len(found) > 1:
        raise Usage(f"{len(found)} ids end in {word!r}", hint=f"Say more of it, such as {found[0][-8:]}.")
    return found[0]


def remember(session: Session, ids: Iterable[str]) -> None:
    """Makes these the rows that a number means from now on, for this home."""
    write_private(_list_file(session), "".join(f"{one}\n" for one in ids))


def _of_kind(identifier: str, kinds: Sequence[str]) -> str:
    kind = identifier.partition("_")[0]
    if kind not in kinds:
        raise WrongKind(f"{identifier} is {_KINDS[kind][0]}; this takes {_wanted(kinds)}", hint=_lists(kinds))
    return identifier


def _row(number: int, last: Sequence[str], kinds: Sequence[str]) -> str:
    identifier = last[number - 1]
    kind = identifier.partition("_")[0]
    if kind not in kinds:
        thing, listed_by = _KINDS[kind]
        raise WrongKind(
            f"row {number} of the last list, which was {listed_by}, is {thing}; this takes {_wanted(kinds)}",
            hint=f"{_lists(kinds)}, then the number again",
        )
    return identifier


def _wanted(kinds: Sequence[str]) -> str:
    return " or ".join(f"{_KINDS[kind][0]} ({kind}_…)" for kind in kinds)


def _lists(kinds: Sequence[str]) -> str:
    return "   ·   ".join(dict.fromkeys(_KINDS[kind][1] for kind in kinds if kind != "dec")) or "narthex --help"


def _with_tail(tail: str, ids: Iterable[str]) -> list[str]:
    return sorted({one for one in ids if one.endswith(tail)})


def _listed(session: Session, kinds: Sequence[str]) -> Iterable[str]:
    for kind in kinds:
        for query in _STATES.get(kind, ({},)):
            with suppress(NotPermitted):  # what the credential may not list is none of its ids
                for row in session.client.pages(PLACES[kind], query, _NEWEST):
                    yield text(row, "id")


def _last_list(session: Session) -> list[str]:
    with suppress(FileNotFoundError):
        return [line for line in _list_file(session).read_text("utf-8").split("\n") if _ID.fullmatch(line)]
    return []


def _list_file(session: Session) -> Path:
    return cache_folder(session.around.variables) / "lists" / home_key(session.home)
