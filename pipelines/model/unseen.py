"""The one table of characters that a reader cannot see or is misled by, and how they are shown. Changes no text itself.

Standard library only: the command line imports it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final

INVISIBLE: Final = "invisible_characters"
"""The flag of a proposal whose text has such a character."""

_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
# invisible or blank although their category says letter, mark or symbol
_OTHERS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_JOINERS: Final = frozenset("\u200c\u200d\ufe0e\ufe0f")
_NEEDED: Final = (  # joiners inside a script that needs them, joiners and one presentation selector inside an emoji
    "(?<=[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff])[\u200c\u200d](?=[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff])"
    "|(?<=[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f])\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
    "|(?<=[#*0-9\u00a9\u00ae\u2000-\u200a\u2010-\u2027\u2030-\u205e\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
)
_JOINING: Final = re.compile(f"(?:{_NEEDED})|([\u200c\u200d\ufe0e\ufe0f])")
"""The group holds a joiner that nothing needs."""
_NAMES: Final = {0x00: "NULL", 0x0C: "FORM FEED", 0x0D: "CARRIAGE RETURN", 0x1B: "ESCAPE", 0x85: "NEXT LINE"}


def is_unseen(character: str) -> bool:
    """Whether one character is invisible, blank, reordering, breaking or unassigned; line feed and tab are not."""
    if character.isprintable():
        return _OTHERS.match(character) is not None
    return character not in "\n\t" and unicodedata.category(character) in _CATEGORIES


def has_unseen(text: str) -> bool:
    """Whether a reader would miss a character. Joiners that a script or an emoji needs are fine."""
    present = _present(text)
    return bool(present - _JOINERS) or (bool(present) and any(found[1] for found in _JOINING.finditer(text)))


def replaced(text: str, by: Callable[[str], str]) -> str:
    """``text`` with ``by(character)`` for each one that ``has_unseen`` means."""
    present = _present(text)
    if present & _JOINERS:
        text = _JOINING.sub(lambda found: by(found[1]) if found[1] else found[0], text)
    return text.translate({ord(character): by(character) for character in present - _JOINERS})


def shown(text: str) -> str:
    """``text`` with a token for each unseen character, needed joiners too: what is left hides and reorders nothing."""
    return text.translate({ord(character): token(character) for character in _present(text)})


def token(character: str) -> str:
    """What stands in the place of an unseen character: ``⟦U+200B ZERO WIDTH SPACE⟧``."""
    name = name_of(character)
    return f"⟦U+{ord(character):04X}{' ' if name else ''}{name}⟧"


def name_of(character: str) -> str:
    """Its name in Unicode; the usual one for a control character, or empty."""
    return unicodedata.name(character, _NAMES.get(ord(character), ""))


def _present(text: str) -> frozenset[str]:
    """Which unseen characters there are; a text has few different characters, however long it is."""
    if text.isascii() and text.isprintable():
        return frozenset()
    return frozenset(filter(is_unseen, set(text)))
