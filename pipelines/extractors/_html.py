"""HTML of mails, documents and whole pages to Markdown, everything kept; finding the main text is not done here."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

from pipelines.extractors._decode import Decoded, decode

_UNSHOWN: Final = frozenset({"script", "style", "title", "noscript", "template"})
_HEAD_BYTES: Final = 4096  # the standard says 1,024; some pages put a comment before
_CHARSET: Final = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,500}?(?:charset|encoding)\s{0,9}=\s{0,9}["']?([\w.:-]{2,40})""", re.I
)
_XML_DECLARATION: Final = re.compile(r"\s{0,999}<\?xml[^>]{0,500}\?>")
_TAG: Final = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,30})(?=[\s/>])")
# never closed, or closed by what follows: they do not nest by themselves
_NOT_NESTED: Final = re.compile(
    r"(?:area|base|body|br|col|colgroup|dd|dt|embed|head|hr|html|img|input|li|link|meta|option|p|source|td|tbody|tfoot"
    r"|th|thead|tr|track|wbr)$"
)
DEEPEST: Final = 2_000  # elements in each other; browsers stop at 512, the readers need a time that grows much faster
_NULL_TARGET: Final = re.compile(r"\[([^\[\]\n]{0,500})\]\(\s*\)")


class _BareText(HTMLParser):
    """Gathers what stands between the tags; builds no tree, so that no nesting is too deep."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._unshown = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Text between these tags is not the page's."""
        self._unshown += tag in _UNSHOWN

    def handle_endtag(self, tag: str) -> None:
        """Back to the page's text."""
        self._unshown = max(0, self._unshown - (tag in _UNSHOWN))

    def handle_data(self, data: str) -> None:
        """Called for each run of text."""
        if not self._unshown and data.strip():
            self.pieces.append(data.strip())


def too_deep(html: str) -> bool:
    """Whether elements stand in each other so deeply that no reader would come to an end; looks at the tags only."""
    if html.count("<") <= DEEPEST:
        return False
    open_: dict[str, int] = {}
    depth = 0
    for tag in _TAG.finditer(html):
        name = tag.group(2).lower()
        if _NOT_NESTED.match(name):
            continue
        if not tag.group(1):
            open_[name] = open_.get(name, 0) + 1
            depth += 1
        elif open_.get(name):
            open_[name] -= 1
            depth -= 1
        if depth > DEEPEST:
            return True
    return False


def bare_text(html: str) -> str:
    """The last resort: every run of text on a line of its own, for pages that no reader takes apart."""
    parser = _BareText()
    parser.feed(html)
    parser.close()
    return "\n".join(parser.pieces)


def decode_html(raw: bytes, announced: str | None = None) -> Decoded:
    """Text of an HTML file: BOM, then the encoding announced outside, then the one in the file, then detection."""
    found = _CHARSET.search(raw[:_HEAD_BYTES])
    inside = found.group(1).decode("ascii", "replace") if found else None
    decoded = decode(raw, announced or inside)
    # a str with an encoding declaration is refused by lxml
    return Decoded(_XML_DECLARATION.sub("", decoded.text, count=1), decoded.encoding, decoded.repairs)


def to_markdown(html: str) -> str:
    """The whole document as Markdown; navigation and forms stay, scripts, styles and what a browser hides do not."""
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert
    from html_to_markdown.exceptions import ConversionError
    from resiliparse.extract.html2text import extract_plain_text

    if too_deep(html):
        return bare_text(html)
    options = ConversionOptions(
        preprocessing=PreprocessingOptions(enabled=False),  # it would drop whole parts of a document
        extract_metadata=False,
        compact_tables=True,  # padding would multiply a long cell by the number of rows
        wrap=False,
    )
    try:
        markdown = convert(html, options).content or ""
    except ConversionError:
        return str(extract_plain_text(html))  # without structure, but nothing is lost
    return _NULL_TARGET.sub(r"\1", markdown)
