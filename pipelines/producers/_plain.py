"""Markdown to the words a person reads: links become their text, images, footnote marks and emphasis go.

For one line or sentence at a time. Never judges what the words are worth.
"""

from __future__ import annotations

import re
from typing import Final

_INNER: Final = r"(?:[^\[\]]|\[[^\[\]]{0,300}\]){0,500}"
_TARGET: Final = (
    r"\((?:<[^<>\n]{0,2000}>|(?:[^()\s]|\([^()\s]{0,300}\)){0,2000})(?:\s+(?:\"[^\"]{0,500}\"|'[^']{0,500}'))?\s?\)"
)
_TAGS: Final = (
    "a|abbr|article|aside|b|blockquote|br|button|center|cite|code|del|details|div|em|figcaption|figure|font|footer|form"
    "|h[1-6]|header|hr|i|iframe|img|input|ins|kbd|label|li|main|mark|nav|ol|p|picture|pre|q|s|section"
    "|small|source|span|strike|strong|sub|summary|sup|svg|table|tbody|td|th|thead|time|tr|tt|u|ul|video"
)
_STEPS: Final = (
    (re.compile(r"!\[" + _INNER + r"\](?:" + _TARGET + r"|\[[^\[\]]{0,300}\])|!\[\[[^\[\]\n]{0,300}\]\]"), ""),
    (re.compile(r"\[image(?:: [^\[\]]{0,500})?\]"), ""),
    # what stands above the line: [^1], [[1]](#footnote-1), [[AB1]](#comment-0), [\[1\]](#cite_note-1), [↑](#top)
    (
        re.compile(
            r"\[\[[^\[\]]{1,12}\]\]\(#[^()\s]{0,300}\)|\[\\?\[\d{1,4}\\?\]\]\([^()\s]{0,2000}\)|\[\^[^\[\]\s]{1,60}\]:?|\[\\?\[?\^?[\d*†‡↑]{1,4}\\?\]?\]\(#[^()\s]{0,300}\)"
        ),
        "",
    ),
    (re.compile(r"\[(" + _INNER + r")\]" + _TARGET), r"\1"),
    (re.compile(r"\[(" + _INNER + r")\]\([a-z#/][^\s]{0,2000}$"), r"\1"),  # a link whose end was cut off
    (re.compile(r"\[([^\[\]]{1,300})\]\[[^\[\]]{0,300}\]"), r"\1"),
    (re.compile(r"\[\[(?:[^\[\]|\n]{1,300}\|)?([^\[\]|\n]{1,300})\]\]"), r"\1"),
    (re.compile(r"<((?:https?://|mailto:)[^<>\s]{1,2000})>"), r"\1"),
    (re.compile(r"</?(?:" + _TAGS + r")(?:\s[^<>]{0,1000})?/?>|<!--.{0,1000}?-->", re.I | re.S), " "),
    (re.compile(r"\s*\{[#.][^{}\n]{0,200}\}"), ""),
    (re.compile(r"`{1,3}|~~|(?<!\\)\*{1,3}(?=\S)|(?<=[^\s\\])\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)"), ""),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
    (re.compile(r"&(?:nbsp|#160);"), " "),
    (re.compile(r"&lt;"), "<"),
    (re.compile(r"&gt;"), ">"),
    (re.compile(r"&(?:quot|#34);"), '"'),
    (re.compile(r"&(?:apos|#0?39);"), "'"),
    (re.compile(r"&amp;"), "&"),
)
_LOOSE: Final = re.compile(r"\s+([,.;!?])(?=\s|$)")
_LEADING: Final = re.compile(r"^(?:[^\w\"'“”„«»‘’‹›(\[@$€£§.¿¡&]|\.(?!\w)|\d{1,3}[.)]\s)+")


def plain_text(markup: str) -> str:
    """One line of words; what is plain already stays as it is, but for runs of white space."""
    text = " ".join(markup.split())
    while True:  # each round is shorter than the one before
        shorter = text
        for pattern, words in _STEPS:
            shorter = pattern.sub(words, shorter)
        shorter = _LOOSE.sub(r"\1", " ".join(shorter.split()))
        if len(shorter) >= len(text):
            return text
        text = shorter


def without_marks(text: str) -> str:
    """Without the signs around it that are no words: bullets, boxes, pipes, numbers of a list."""
    return _LEADING.sub("", text).rstrip(" |")


def shortened(text: str, most: int) -> str:
    """Cut at a word where possible, and then with an ellipsis."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[most // 2 :] else cut).rstrip() + "…"


def letters_in(text: str) -> int:
    """How many letters; a sign that is a word or a syllable, as in Chinese or Korean, counts for two."""
    return sum(2 if character >= "\u2e80" else 1 for character in text if character.isalpha())
