"""Whatever an extractor answers becomes clean Markdown with a title, in time linear in its length."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.memory import TITLE_CHARACTERS
from pipelines.model.unseen import INVISIBLE
from pipelines.model.values import Completeness, Extracted, Extraction, Normalized
from pipelines.normalize import normalize, published_day


def normalized(text: str, fallback: str = "file", **metadata: str) -> Normalized:
    extracted = Extracted(text, metadata, Completeness.PARTIAL, ("page 2: no text layer",))
    return normalize(Extraction(extracted, "text/plain", "test", "text", "1"), fallback)


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("one\r\ntwo\rthree", "one\ntwo\nthree\n"),
        ("page\x0cbreak\x85next", "page\nbreak\nnext\n"),
        ("a\x00b\x07c\x1b[1m", "abc[1m\n"),
        ("e\u0301", "\u00e9\n"),
        ("\ufeffstart", "start\n"),
        ("one\n\n\n\n\n\n\ntwo", "one\n\n\ntwo\n"),
        ("one\n \t\n\n   \n\ntwo", "one\n\n\ntwo\n"),
        ("\n\n\none  \ntwo\n\n\n", "one  \ntwo\n"),
        ("tab\tstays", "tab\tstays\n"),
        ("see ![a chart](data:image/png;base64,AAAA) here", "see [image: a chart] here\n"),
        ("see ![](data:image/png;base64,AAAA)", "see [image]\n"),
        ("[x](data:text/html;base64," + "A" * 100 + ")", "[x](data:)\n"),
        ("half \ud800 pair", "half  pair\n"),
    ],
)
def test_text_is_cleaned(text: str, markdown: str) -> None:
    assert normalized(text).markdown == markdown


@pytest.mark.parametrize(
    ("text", "metadata", "title"),
    [
        ("# Heading\n\ntext", {"title": "  From the\nmetadata "}, "From the metadata"),
        ("first line\n\n## A *second* [thing](https://a.example) ##\n", {}, "A second thing"),
        ("```\n# no heading\n```\n\n> **A quote** begins\n", {}, "A quote begins"),
        ("---\n\n- item one\n", {}, "item one"),
        ("1. item one\n", {}, "item one"),
        ("***\n!!!\n", {}, "file"),
        ("word " * 100, {}, ("word " * 23).strip() + "…"),
        ("漢" * 300, {}, "漢" * 119 + "…"),
        ("x\n", {"title": "t" * 300}, "t" * (TITLE_CHARACTERS - 1) + "…"),
        ("Ada 😀 Ben\n", {}, "Ada 😀 Ben"),  # B-L04
        ("145 150 155 160\n\nthe\n", {}, "file"),
        ("the\n\nReport on the seeds of 2024\n", {"title": "the"}, "Report on the seeds of 2024"),
        ("## title: Only Title author: A B date: 2025-09-27 keywords: [x]\n", {}, "Only Title"),
        ("title: Seeds\nauthor: A B\n\ntext\n", {}, "Seeds"),
        ("x\n", {"title": "☐ | TRANSITION REPORT |"}, "TRANSITION REPORT"),
        ("| ☐ | TRANSITION REPORT |\n| --- | --- |\n\nAnnual report of the year\n", {}, "Annual report of the year"),
        ("# See [the guide](a.md)[[1]](#footnote-1) `now`\n", {}, "See the guide now"),
        ("An Annual Report marks the\nend of a year\n", {}, "An Annual Report marks the end of a year"),
        ("WKEY station\n\n## Contents\n", {}, "WKEY station"),
        ("Hi Ada,\n\nPlans for the garden\n", {}, "Plans for the garden"),
        ("Page 1 of 3\n\nShopping list:\n", {}, "Shopping list"),
        ("# VPN\n\nAddress of the server\n", {}, "VPN"),
        ("見積書\n", {}, "見積書"),
    ],
)
def test_a_title_is_chosen(text: str, metadata: dict[str, str], title: str) -> None:
    assert normalized(text, **metadata).title == title


def test_what_the_person_called_it_stands() -> None:
    assert normalized("Cup of it, at five", "Tea", title="Tea").title == "Tea"


def test_what_is_no_prose_is_named_by_its_file_and_flagged() -> None:
    table = Extraction(Extracted("crop,price\nonion,2\n"), "text/csv", "test", "text", "1")
    assert (normalize(table, "prices").title, normalize(table, "prices").flags) == ("prices", ("plain_text",))
    assert "plain_text" not in normalized("crop,price\n").flags


def test_a_note_beside_a_link_is_no_title() -> None:
    link = Extracted("for the cellar\n\n[x.de](<https://x.de>)", {"title": "x.de"}, Completeness.LINK_ONLY)
    found = normalize(Extraction(link, "text/uri-list", "test", "link", "1"), "https://x.de")
    assert found.title == "x.de"


def test_without_any_words_the_file_names_it() -> None:
    assert normalized("***", "holiday photo").title == "holiday photo"
    assert normalized("***", " ").title == "Untitled"


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("2024-03-05", "2024-03-05"),
        ("2024", "2024"),
        ("2024-03", "2024-03"),
        ("2024-03-05T23:30:00+01:00", "2024-03-05"),
        ("2024-03-05 10:11:12.00Z", "2024-03-05"),
        ("Tue, 5 Mar 2024 10:00:00 +0100", "2024-03-05"),
        ("Mon, 5 Mar 2024 10:00:00", "2024-03-05"),  # B-D22
        ("Mon, 5 Mar 2024 10:00:00 -0000", "2024-03-05"),
        ("last spring", "last spring"),
        ("", ""),
    ],
)
def test_dates_become_days(said: str, day: str) -> None:
    assert published_day(said) == day


def test_what_was_extracted_is_passed_on() -> None:
    found = normalized("Ein Wort, zwei Worte", author=" Ada\tGreen ", language="de_DE")
    assert (found.author, found.language, found.words) == ("Ada Green", "de-DE", 4)
    assert (found.completeness, found.details) == (Completeness.PARTIAL, ("page 2: no text layer",))
    assert normalized("x", language="probably German").language == ""


@pytest.mark.parametrize("text", ["", " \n\t\n", "\x00\x07", "\ufeff"])
def test_nothing_is_no_success(text: str) -> None:  # L-076
    with pytest.raises(Unreadable) as refused:
        normalized(text)
    assert refused.value.reason is QuarantineReason.EMPTY


def test_unseen_characters_are_flagged_and_kept() -> None:  # S-027
    kept = normalized("Buy mi\u200blk \U000e0049\U000e0047").markdown
    assert kept == "Buy mi\u200blk \U000e0049\U000e0047\n"
    assert normalized("Buy mi\u200blk").flags == (INVISIBLE,)
    assert normalized("fine", author="A\u202eda").flags == (INVISIBLE,)
    assert normalized("❤️ fine").flags == ()


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 2_000_000 + "x",
        "x" + " \n" * 1_000_000,
        "![" * 500_000 + "x",
        "![](data:" * 200_000,
        "data:image/png;" * 150_000,
        "[](" * 500_000,
        "*" * 1_000_000 + "x",
        "# " * 500_000,
        "\ufe0f" * 500_000,
        "x" * 2_000_000,
    ],
)
def test_time_is_linear(text: str) -> None:  # B-L05
    begun = time.process_time()
    normalized(text)
    assert time.process_time() - begun < 8  # quadratic would be hours


@given(st.text(st.characters(codec=None), max_size=200), st.text(max_size=50))
def test_any_text_comes_out_clean(text: str, title: str) -> None:
    try:
        found = normalized(text, title=title)
    except Unreadable:
        return
    assert found.markdown.encode().decode() == found.markdown
    assert unicodedata.is_normalized("NFC", found.markdown)
    assert found.markdown.endswith("\n")
    assert not found.markdown.endswith("\n\n")
    assert "\n\n\n\n" not in found.markdown
    assert not {one for one in found.markdown if unicodedata.category(one) == "Cc"} - {"\n", "\t"}
    assert 0 < len(found.title) <= TITLE_CHARACTERS
    assert "\n" not in found.title
    again = normalized(found.markdown, title=found.title)
    assert (again.markdown, again.title) == (found.markdown, found.title)
