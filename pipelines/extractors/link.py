"""A captured link: the address itself, as a Markdown link. Never fetches the page."""

from __future__ import annotations

from typing import BinaryIO

from pipelines.extractors._decode import decode
from pipelines.extractors._extractor import Extractor
from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Completeness, Extracted


def _read(file: BinaryIO, name: str) -> Extracted:
    """The first line is the address, the second (``#`` before it or not) the title given, all further ones a note."""
    address, _, rest = decode(file.read()).text.strip().partition("\n")
    url = address.strip()
    if not url:
        raise Unreadable("the link is empty", reason=QuarantineReason.EMPTY)
    given, _, note = rest.strip().partition("\n")
    title = given.strip().lstrip("# ")
    target = url.replace("<", "%3C").replace(">", "%3E").replace(" ", "%20")
    metadata = {"title": title or url, "url": url}
    return Extracted(
        "\n\n".join(filter(None, (f"[{_escaped(title or url)}](<{target}>)", note.strip()))),
        metadata,
        Completeness.LINK_ONLY,
        ("the page itself was not fetched",),
    )


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


LINK = Extractor(
    media_types=("text/uri-list",),
    needs=(),
    version="1",
    read=_read,
    sample=b"https://example.org/\n",
    text_limit=True,
)
