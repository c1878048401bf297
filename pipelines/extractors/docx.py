"""Word documents (OOXML): text, headings, lists, tables, notes and comments. Pictures are only named."""

from __future__ import annotations

import html
import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO, Final
from xml.etree import ElementTree
from xml.parsers.expat import ExpatError

from pipelines.extractors._extractor import Extractor
from pipelines.extractors._html import to_markdown
from pipelines.extractors._zip import open_zip
from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Completeness, Extracted

_PROPERTIES: Final = "docProps/core.xml"
_BODY: Final = "word/document.xml"
_NAMES: Final = {
    "title": "{http://purl.org/dc/elements/1.1/}title",
    "author": "{http://purl.org/dc/elements/1.1/}creator",
    "published": "{http://purl.org/dc/terms/}created",
    "language": "{http://purl.org/dc/elements/1.1/}language",
}
_TRACKED: Final = re.compile(rb"<w:(?:ins|del) ")
_CHART: Final = re.compile(r"word/charts/chart\d*\.xml$")
_MARGIN: Final = re.compile(r"word/(?:header|footer)\d*\.xml$")
_RUN: Final = re.compile(rb"<w:t(?: [^>]{0,100})?>([^<]{0,10000})</w:t>")
_LETTERS: Final = re.compile(r"[^\W\d_]{2}")
# what zipfile and mammoth raise on parts that are missing, cut, encrypted or no XML
_DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, ExpatError, LookupError, AttributeError, ValueError, OSError, EOFError, RuntimeError
)  # fmt: skip
_STYLES: Final = "comment-reference => sup"  # without it the comments are left out


def _read(file: BinaryIO, name: str) -> Extracted:
    import mammoth

    with open_zip(file) as archive:
        metadata, margins, left_out = _metadata(archive), _margins(archive), _left_out(archive)
        tracked = len(_TRACKED.findall(_part(archive, _BODY)))
    file.seek(0)
    whole = io.BytesIO(file.read())  # mammoth wants the name of a real file to be a path
    try:
        answer = mammoth.convert_to_html(
            whole, convert_image=_named_image, style_map=_STYLES, include_embedded_style_map=False
        )
    except _DAMAGE as error:
        raise Unreadable("the document is damaged: its parts do not fit together") from error
    text = to_markdown(answer.value).strip() + margins
    if not text.strip():
        raise Unreadable("; ".join(["the document holds no text", *left_out]), reason=QuarantineReason.EMPTY)
    repaired = [f"{tracked} tracked changes, read as accepted"] if tracked else []
    completeness = Completeness.PARTIAL if left_out else Completeness.COMPLETE
    return Extracted(text, metadata, completeness, (*left_out, *repaired))


def _named_image(image: Any) -> list[Any]:
    from mammoth import html as nodes

    return [nodes.text(f"[image: {image.alt_text}]" if image.alt_text else "[image]")]


def _left_out(archive: zipfile.ZipFile) -> list[str]:
    """What the reader passes over, so that the text does not pose as the whole."""
    names = archive.namelist()
    counts = {
        "equation": _part(archive, _BODY).count(b"<m:oMath>"),
        "chart": sum(1 for name in names if _CHART.match(name)),
        "embedded file": sum(1 for name in names if name.startswith("word/embeddings/")),
    }
    return [f"{count} {what}{'s' if count > 1 else ''} not extracted" for what, count in counts.items() if count]


def _margins(archive: zipfile.ZipFile) -> str:
    """Page headers and footers, once each: they stand outside of the body, and may hold what it is about."""
    texts: dict[str, None] = {}
    for name in sorted(archive.namelist()):
        if _MARGIN.match(name):
            words = b" ".join(_RUN.findall(_part(archive, name))).decode("utf-8", "replace")
            texts[" ".join(html.unescape(words).split())] = None
    said = [text for text in texts if _LETTERS.search(text)]
    return "\n\n---\n\n" + "\n\n".join(said) if said else ""


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    """A part of the package, or nothing when it is missing or damaged."""
    try:
        return archive.read(name)
    except _DAMAGE:
        return b""


def _metadata(archive: zipfile.ZipFile) -> Mapping[str, str]:
    try:
        # expat as Python 3.11 ships it fetches no external entity and refuses billion laughs
        tree = ElementTree.fromstring(_part(archive, _PROPERTIES))
    except (ElementTree.ParseError, ValueError):
        return {}
    found = {key: (tree.findtext(tag) or "").strip() for key, tag in _NAMES.items()}
    return {key: value for key, value in found.items() if value}


def _sample() -> bytes:
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r" Type="{office}" Target="word/document.xml"/></Relationships>',
        _BODY: f'<w:document xmlns:w="{word}"><w:body><w:p><w:r><w:t>One</w:t></w:r></w:p></w:body></w:document>',
        _PROPERTIES: "<p/>",
    }
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return memory.getvalue()


DOCX = Extractor(
    media_types=("application/vnd.openxmlformats-officedocument.wordprocessingml.document",),
    needs=("mammoth", "html_to_markdown", "resiliparse.extract.html2text"),
    version="2",
    read=_read,
    sample=_sample(),
)
