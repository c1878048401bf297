"""Every character that cannot be seen, or that misleads, becomes a token; ordinary text of any script does not."""

from __future__ import annotations

import unicodedata

import pytest

from api.web.shown import is_hidden, show, token

LISTED = [  # by hand, from the threat model: hidden although not in category Cf
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
    0x034F,
    0x17B4,
    0x17B5,
    0x180B,
    0x180C,
    0x180D,
    0x115F,
    0x1160,
    0x3164,
    0xFFA0,
    0x2800,
    0x2028,
    0x2029,
    0x0085,
]


def test_the_whole_list_is_shown() -> None:  # S-028
    for code in LISTED:
        for text in (chr(code), f"{chr(code)}a", f"a{chr(code)}b", f"a{chr(code)}"):
            flat = "".join(piece.text for line in show(text).lines for piece in line)
            assert token(chr(code)) in flat, hex(code)
            assert chr(code) not in flat


def test_every_control_format_and_unassigned_character_is_shown() -> None:  # S-028
    for code in range(0x110000):
        character = chr(code)
        if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Cs") and character not in "\n\t":
            assert is_hidden(character), hex(code)


@pytest.mark.parametrize(
    "text",
    [
        "Größe 4 °C – „Saat“",
        "Быстрая лиса",
        "Γρήγορη αλεπού",
        "سريع الثعلب",
        "מהיר שועל",
        "素早い狐",
        "빠른 여우",
        "तेज लोमड़ी",
        "สุนัขจิ้งจอก",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:  # S-028
    assert show(text).hidden == ()
    assert show(text).lines[0][0].text == text


def test_nothing_is_cut_and_all_is_counted() -> None:  # S-031
    text = "\n" * 500 + "payload\r\n" + "x" * 50_000 + "\n\n"
    shown = show(text)
    assert len(shown.lines) == 503
    assert shown.characters == len(text)
    assert [(mark, count) for mark, _, count in shown.hidden] == [("⟦U+000D⟧", 1)]
    rebuilt = "\n".join("".join(piece.text for piece in line) for line in shown.lines)
    assert rebuilt.replace("⟦U+000D⟧", "\r") + "\n" == text
