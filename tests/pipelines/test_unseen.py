"""What a reader cannot see is found and shown in the same way everywhere; ordinary text of any script is left alone."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import pytest

from api.cli._visible import visible
from api.web.shown import show
from daemon.drop import names
from pipelines import review
from pipelines.model.actor import Actor, ActorKind, Channel
from pipelines.model.unseen import INVISIBLE, has_unseen, is_unseen, replaced, shown, token
from pipelines.premises import Premises
from pipelines.vault.layout import note_path
from pipelines.vault_edits import reconcile
from tests.pipelines.line import a_memory, file_of, pending, yes

AGENT = Actor(ActorKind.AGENT, "an agent", Channel.API)


def listed() -> Iterator[str]:
    """By hand from the threat model: section 2.6, every default-ignorable code point, and the categories of 4.3."""
    ranges = "0085 00AD 034F 061C 115F-1160 17B4-17B5 180B-180F 200B-200F 2028-202E 2060-206F 2800 3164 FE00-FE0F FEFF"
    ranges += " FFA0 FFF0-FFFB 1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"
    for part in ranges.split():
        first, _, last = part.partition("-")
        yield from (chr(point) for point in range(int(first, 16), int(last or first, 16) + 1))
    for point in range(0xF0003):  # of the two planes for private use, three characters
        if unicodedata.category(chr(point)) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp") and chr(point) not in "\n\t":
            yield chr(point)
    yield from ("\u0378", "\ufffe", "\U0001ffff")  # a few of the unassigned


@pytest.mark.parametrize("place", ["{}milk", "mi{}lk", "milk{}"])
def test_every_unseen_character_is_found_wherever_it_stands(place: str) -> None:  # S-027, S-028
    assert [f"U+{ord(one):04X}" for one in listed() if not has_unseen(place.format(one))] == []


def test_every_surface_shows_the_same_characters() -> None:  # S-028
    unseen = sorted({*listed()})
    assert [f"U+{ord(one):04X}" for one in unseen if not is_unseen(one)] == []
    text = "".join(f"a{one}" for one in unseen)
    assert shown(text) == "".join(f"a{token(one)}" for one in unseen)
    assert visible(text) == shown(text)  # the command line
    assert "".join(piece.text for line in show(text).lines for piece in line) == shown(text)  # the page
    assert not {*note_path("", text, lambda path: False)} & {*unseen}  # the name of a file
    assert not {*names.shown(text.encode("utf-8", "replace").decode())} & {*unseen}  # the name of a dropped file
    assert token("\u200b") == "⟦U+200B ZERO WIDTH SPACE⟧"
    assert token("\x1b") == "⟦U+001B ESCAPE⟧"
    assert token("\ue000") == "⟦U+E000⟧"


def test_unassigned_characters_are_unseen() -> None:  # S-028
    found = [point for point in range(0x110000) if unicodedata.category(chr(point)) == "Cn"]
    assert all(is_unseen(chr(point)) for point in found)


@pytest.mark.parametrize(
    "line",
    [
        "The quick brown fox: “quotes”, dashes – and … dots",
        "Ελληνικά, русский, 日本語、한국어, ไทย, עברית, العربية, ქართული, հայերեն, বাংলা",
        "tab\tand no-break\u00a0space\nline",
        "e\u0301 \u1680 \u3000",
    ],
)
def test_ordinary_text_is_left_alone(line: str) -> None:  # S-028
    assert not has_unseen(line)
    assert shown(line) == line
    assert replaced(line, lambda one: "") == line


@pytest.mark.parametrize("line", ["می‌خواهم کتاب‌ها را بخوانم", "क्‍ष और क्‌ष", "👩‍👩‍👧 family, ❤️ heart, 1️⃣ key, ☺︎ text"])
def test_joiners_in_their_place_are_no_reason_to_warn(line: str) -> None:  # S-028: a class of their own
    assert not has_unseen(line)
    assert replaced(line, lambda one: "") == line
    assert shown(line) != line  # but a person who looks is shown them
    bare = "".join(one for one in line if one in "\u200c\u200d\ufe0e\ufe0f")
    assert has_unseen(f"milk{bare}milk")


@pytest.mark.parametrize("hidden", ["", "\u200b", "\U000e0041"])
def test_whoever_proposes_is_flagged(premises: Premises, hidden: str) -> None:  # S-027, S-028
    expected = [INVISIBLE] if hidden else []
    fields: dict[str, object] = {"title": "Milk", "type": "concept", "l0": "Buy.", "l1": f"Buy mi{hidden}lk."}
    review.submit(premises, AGENT, action="create_memory", payload=fields, rationale="")
    assert pending(premises)[0].flags == expected
    yes(premises, pending(premises)[0])
    memory = a_memory(premises)
    place = file_of(premises, memory.id)
    place.write_text(place.read_text("utf-8") + f"And mi{hidden}lk.\n", "utf-8")
    reconcile(premises)
    assert pending(premises)[0].flags == expected
