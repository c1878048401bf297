"""Web pages: the main text as Markdown with links, and what the page says about itself. Never fetches anything."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, BinaryIO, Final

from pipelines.extractors._decode import Decoded
from pipelines.extractors._extractor import Extractor
from pipelines.extractors._html import bare_text, decode_html, to_markdown, too_deep
from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Completeness, Extracted

if TYPE_CHECKING:
    from trafilatura.settings import Document

_WORD: Final = re.compile(r"\w+")
_TARGET: Final = re.compile(r"\]\([^()\s]{0,2000}\)")
_LANGUAGE: Final = re.compile(
    r"""<html[^>]{0,2000}?\slang\s{0,9}=\s{0,9}["']?([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3})""", re.I
)
_ARTICLE: Final = re.compile(
    r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"(?:\w{0,20}Article|BlogPosting|Report|LiveBlogPosting)"'
    r"|og:type[\"']\s{1,9}content=[\"']article|content=[\"']article[\"']\s{1,9}property=[\"']og:type"
    r"|article:published_time",
    re.I,
)
_SITE: Final = re.compile(r"<(?:nav|header|footer|aside|form)[\s>]|<script[^>]{1,500}?src|role=.navigation", re.I)
_TITLE: Final = re.compile(r"<title[^>]{0,300}>([^<]{1,1000})</title", re.I)
_DOCUMENT_CHARACTERS: Final = 500_000
_DOCUMENT_SHARE: Final = 0.8
_RESCUE_SHARE: Final = 0.5  # measured: below it the other reader is right more often, on all but articles


def _read(file: BinaryIO, name: str) -> Extracted:
    decoded = decode_html(file.read())
    page = decoded.text
    if too_deep(page):
        return _flat(page, decoded)
    document = _main_text(page)
    text = document.text or "" if document else ""
    better = _nearly_all(page, text) or _rescue(page, text)
    if better or _words(text):
        return _answer(better or text, page, document, decoded)
    whole = to_markdown(page)
    if not _words(whole):
        whole = bare_text(page)
    if not _words(whole):
        hint = "a page that is built by a script has to be captured from the browser"
        raise Unreadable("the page holds no text", reason=QuarantineReason.EMPTY, hint=hint)
    return _answer(whole, page, document, decoded, "no main text was recognised: the page was kept as a whole")


def _flat(page: str, decoded: Decoded) -> Extracted:
    """Nested beyond what any reader ends with: its text, without its structure."""
    text = bare_text(page)
    if not _words(text):
        raise Unreadable("its elements are nested too deeply, and hold no text", reason=QuarantineReason.FAILED)
    return _answer(text, page, None, decoded, "nested too deeply: its structure was not read")


def _main_text(page: str) -> Document | None:
    from trafilatura import bare_extraction
    from trafilatura.xml import xmltotxt

    document = bare_extraction(
        page,
        output_format="markdown",
        include_comments=False,
        include_tables=True,
        include_links=True,
        with_metadata=True,
        # a date that stands nowhere in the page's declarations is a guess, and mostly a wrong one
        date_extraction_params={"original_date": True, "extensive_search": False},
    )
    if document is None or isinstance(document, dict):
        return None
    document.text = xmltotxt(document.body, True)
    return document


def _nearly_all(page: str, text: str) -> str:
    """The page as a whole, where it has no navigation and is nearly all main text: a document, whose tables matter."""
    if len(page) > _DOCUMENT_CHARACTERS or _SITE.search(page):
        return ""
    whole = to_markdown(page)
    return whole if 0 < _words(whole) * _DOCUMENT_SHARE <= _words(text) else ""


def _rescue(page: str, text: str) -> str:
    """The other reader's main text, where the first found less than half of it and the page is no article."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    if _ARTICLE.search(page):
        return ""
    tree = HTMLTree.parse(page)
    other = extract_plain_text(tree, main_content=True)
    if _words(text) >= _RESCUE_SHARE * _words(other):
        return ""
    return to_markdown(extract_plain_text(tree, preserve_formatting="minimal_html", main_content=True, links=True))


def _answer(text: str, page: str, document: Document | None, decoded: Decoded, missing: str = "") -> Extracted:
    language, titled = _LANGUAGE.search(page), _TITLE.search(page)
    metadata = {
        "title": (document and document.title) or (unescape(titled.group(1)).strip() if titled else ""),
        "author": (document and document.author) or "",
        "published": (document and document.date) or "",
        "url": (document and document.url) or "",
        "site": (document and document.sitename) or "",
        "description": (document and document.description) or "",
        "language": language.group(1) if language else "",
    }
    details = (*decoded.repairs, missing) if missing else decoded.repairs
    completeness = Completeness.PARTIAL if missing else decoded.completeness
    return Extracted(text, {key: value for key, value in metadata.items() if value}, completeness, details)


def _words(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(_TARGET.sub("]", text)))


HTML = Extractor(
    media_types=("text/html", "application/xhtml+xml"),
    needs=(
        "trafilatura",
        "html_to_markdown",
        "resiliparse.parse.html",
        "resiliparse.extract.html2text",
        "charset_normalizer",
        "resiliparse.parse.encoding",
        "_strptime",
    ),
    version="2",
    read=_read,
    # so little text that every reader is tried, and a date in words
    sample=(
        b'<html lang="en"><head><title>T</title><meta name="author" content="A B">'
        b'<meta name="date" content="5 January 2024">'
        b'<script type="application/ld+json">{"@type": "Thing"}</script></head>'
        b'<body><h1>T</h1><p>One <a href="https://example.org/a">two</a> three.</p><p>January 5, 2024</p></body></html>'
    ),
    text_limit=True,
)
