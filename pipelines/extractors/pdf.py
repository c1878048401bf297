"""PDF: the text layer page by page. Pages without one are named, never guessed; nothing is rendered or recognised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, BinaryIO, Final

from pipelines.extractors._extractor import Extractor
from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Completeness, Extracted

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_DATE: Final = re.compile(r"(?:D:)?(\d{4})(\d{2})?(\d{2})?")
_TOOL_TITLE: Final = re.compile(  # what programs put there, a file name mostly
    r"^(?:microsoft (?:word|powerpoint|excel) - |untitled|slide 1$|enscript output$|\(?anonymous\)?$)"
    r"|\.(?:docx?|indd|pptx?|xlsx?|tex|dvi)$",
    re.I,
)
_LINE_HYPHEN: Final = re.compile("[\ufffe\x02]\n?")  # how PDFium marks a word that was divided at the end of a line


def _read(file: BinaryIO, name: str) -> Extracted:
    with _opened(file) as document:
        texts: list[str] = []
        without, broken = [], []
        for number in range(1, len(document) + 1):
            text, problem = _page(document, number - 1)
            texts.append(text)
            without += [number] if problem == "no text" else []
            broken += [number] if problem == "broken" else []
        if not any(text.strip() for text in texts):
            raise _textless(len(document), broken)
        details = tuple(filter(None, (_said(without, "no text layer"), _said(broken, "could not be read"))))
        metadata = {"pages": str(len(texts)), **_metadata(document)}
    completeness = Completeness.PARTIAL if details else Completeness.COMPLETE
    return Extracted("\n\n".join(filter(None, texts)), metadata, completeness, details)


def _opened(file: BinaryIO) -> PdfDocument:
    from pypdfium2 import PdfDocument, PdfiumError
    from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

    try:
        return PdfDocument(file)
    except PdfiumError as error:
        if error.err_code in {FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY}:
            raise Unreadable(
                "the PDF is locked with a password",
                reason=QuarantineReason.NEEDS_PASSWORD,
                hint="save it without the password and drop it again",
            ) from error
        raise Unreadable("the PDF is damaged: it cannot be opened", reason=QuarantineReason.FAILED) from error


def _page(document: PdfDocument, index: int) -> tuple[str, str]:
    """Text of a page, and what is wrong with it: nothing, ``no text`` although something is drawn, or ``broken``."""
    from pypdfium2 import PdfiumError
    from pypdfium2.raw import FPDFPage_CountObjects

    try:
        page = document[index]
        text = page.get_textpage().get_text_bounded()
    except PdfiumError:
        return "", "broken"
    drawn = FPDFPage_CountObjects(page)
    page.close()
    text = _LINE_HYPHEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    return text, "no text" if drawn > 0 and not text else ""


def _textless(pages: int, broken: list[int]) -> Unreadable:
    if len(broken) == pages:
        return Unreadable("the PDF is damaged: no page can be read", reason=QuarantineReason.FAILED)
    return Unreadable(
        f"the PDF has no text layer on any of its {pages} pages: it is probably a scan",
        reason=QuarantineReason.NEEDS_OCR,
        hint="run it through a text recognition program and drop what that makes",
    )


def _said(pages: list[int], problem: str) -> str:
    if not pages:
        return ""
    listed = ", ".join(_runs(pages))
    return f"{'page' if len(pages) == 1 else 'pages'} {listed}: {problem}"


def _runs(pages: Iterable[int]) -> Iterator[str]:
    """1, 2, 3, 7 as ``1-3`` and ``7``."""
    for _, run in groupby(enumerate(pages), key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        yield f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def _metadata(document: PdfDocument) -> Mapping[str, str]:
    said = {key.lower(): value.strip("\x00 \n") for key, value in document.get_metadata_dict().items()}
    title = said.get("title", "")
    date = _DATE.match(said.get("creationdate", ""))
    metadata = {
        "title": "" if _TOOL_TITLE.search(title) else title,
        "author": "" if _TOOL_TITLE.search(said.get("author", "")) else said.get("author", ""),
        "published": "-".join(part for part in date.groups() if part) if date else "",
        "keywords": said.get("keywords", ""),
    }
    return {key: value for key, value in metadata.items() if value}


PDF = Extractor(
    media_types=("application/pdf",),
    needs=("pypdfium2", "pypdfium2.raw"),
    version="2",
    read=_read,
    sample=(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj\n"
        b"4 0 obj<</Length 33>>stream\nBT /F 9 Tf 9 9 Td (One word) Tj ET\nendstream endobj\n"
        b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
    ),
)
