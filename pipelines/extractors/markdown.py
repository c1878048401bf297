"""Markdown: the body as it is, the front matter as metadata. Never re-serializes what it read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import BinaryIO, Final

from pipelines.extractors._decode import decode
from pipelines.extractors._extractor import Extractor
from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Extracted

_FRONT_MATTER_CHARACTERS: Final = 64 * 1024
_KNOWN: Final = {"date": "published", "created": "published", "source": "url", "lang": "language", "creator": "author"}


def _read(file: BinaryIO, name: str) -> Extracted:
    decoded = decode(file.read())
    if not decoded.text.strip():
        raise Unreadable("the file holds no text", reason=QuarantineReason.EMPTY)
    header, body = _split(decoded.text)
    metadata, problems = _metadata(header)
    if problems or not body.strip():  # nothing may get lost: an unread header stays part of the text
        body = decoded.text
    return Extracted(body, metadata, decoded.completeness, (*decoded.repairs, *problems))


def _split(text: str) -> tuple[str, str]:
    """Front matter (without its fences) and body; an opening fence that is never closed is no front matter."""
    lines = text.lstrip("\ufeff").splitlines(keepends=True)
    if not lines or lines[0].rstrip() != "---":
        return "", text
    length = 0
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in {"---", "..."}:
            return "".join(lines[1:number]), "".join(lines[number + 1 :])
        length += len(line)
        if length > _FRONT_MATTER_CHARACTERS:
            break
    return "", text


def _metadata(header: str) -> tuple[Mapping[str, str], tuple[str, ...]]:
    import yaml

    if not header.strip():
        return {}, ()
    unread = ("the front matter could not be read and was kept as text",)
    try:
        if any(isinstance(token, yaml.AliasToken | yaml.TagToken) for token in yaml.scan(header)):
            return {}, unread  # aliases multiply, tags construct
        fields = yaml.safe_load(header)
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}, unread
    if not isinstance(fields, dict):
        return {}, unread
    metadata: dict[str, str] = {}
    for key, value in fields.items():
        said = _as_text(value)
        if said:
            metadata.setdefault(_KNOWN.get(str(key).lower(), str(key).lower()), said)
    return metadata, ()


def _as_text(value: object) -> str:
    """Scalars as they read, lists joined by commas; anything deeper is left to the original."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return ", ".join(filter(None, (_as_text(one) for one in value if not isinstance(one, list | dict))))
    return "" if value is None or isinstance(value, dict) else str(value).strip()


MARKDOWN = Extractor(
    media_types=("text/markdown",),
    needs=("yaml",),
    version="1",
    read=_read,
    sample=b"---\ntitle: A\ntags: [b]\ndate: 2024-01-02\n---\n# A\n",
    text_limit=True,
)
