"""Makes what a terminal would obey or hide readable as text; every line for a person passes through here."""

from __future__ import annotations

from pipelines.model.unseen import shown


def visible(text: str) -> str:
    """``text`` with every control, direction, joining or otherwise unseen character written as ``⟦U+001B ESCAPE⟧``.

    Line feed and tab stay. What is left cannot move the cursor, change colours, reorder a line or hide a word.
    """
    return shown(text)


def one_line(text: str) -> str:
    """As ``visible``, on one line: for a table, a title, a message."""
    return visible(" ".join(text.split("\n"))).replace("\t", " ")
