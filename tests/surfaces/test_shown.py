"""A text on a page: whole, in lines as they are stored, its hidden characters counted."""

from __future__ import annotations

import pytest

from api.web.shown import show


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
    assert shown.hidden == (("⟦U+000D CARRIAGE RETURN⟧", 1),)
    rebuilt = "\n".join("".join(piece.text for piece in line) for line in shown.lines)
    assert rebuilt.replace("⟦U+000D CARRIAGE RETURN⟧", "\r") + "\n" == text
