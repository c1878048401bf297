"""Plain text in any encoding; also code, tables and data files, which are kept as the text they are."""

from __future__ import annotations

from typing import BinaryIO

from pipelines.extractors._decode import decode
from pipelines.extractors._extractor import Extractor
from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Extracted


def _read(file: BinaryIO, name: str) -> Extracted:
    decoded = decode(file.read())
    if not decoded.text.strip():
        raise Unreadable("the file holds no text", reason=QuarantineReason.EMPTY)
    return Extracted(decoded.text, completeness=decoded.completeness, details=decoded.repairs)


TEXT = Extractor(
    media_types=(
        "text/*",
        "application/json",
        "application/x-ndjson",
        "application/xml",
        "application/yaml",
        "application/toml",
        "application/javascript",
    ),
    needs=("charset_normalizer", "resiliparse.parse.encoding"),
    version="1",
    read=_read,
    # Cyrillic in a legacy encoding: the way through both detectors
    sample="Съешь ещё этих мягких французских булок, да выпей чаю. ".encode("cp1251") * 4,
    text_limit=True,
)
