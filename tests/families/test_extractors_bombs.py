"""Originals made to exhaust their reader: each is refused or cut off within the limits."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.extractors import EXTRACTORS
from pipelines.extractors._html import DEEPEST, too_deep
from pipelines.extractors.pdf import _runs
from pipelines.isolate import ExtractionPool, Limits
from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Completeness

Original = Callable[[bytes, str], Path]
BODY = "word/document.xml"


@pytest.fixture
def original(tmp_path: Path) -> Original:
    def write(content: bytes, name: str) -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.fixture(scope="module")
def pool() -> Iterator[ExtractionPool]:
    pool = ExtractionPool(Limits(cpu_seconds=10, wall_seconds=20))
    yield pool
    pool.close()


def refusal(pool: ExtractionPool, path: Path) -> Unreadable:
    with pytest.raises(Unreadable) as refused:
        pool.extract(path, path.name)
    return refused.value


def document(body: bytes, declarations: bytes = b"") -> bytes:
    """A Word document with this body, and these declarations before it."""
    memory = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(EXTRACTORS["docx"].sample)) as whole, zipfile.ZipFile(memory, "w") as archive:
        for name in whole.namelist():
            part = whole.read(name)
            archive.writestr(name, declarations + part.replace(b"One", body) if name == BODY else part)
    return memory.getvalue()


def test_a_bomb_in_a_document_is_refused_unopened(pool: ExtractionPool, original: Original) -> None:  # S-056
    bomb = io.BytesIO(EXTRACTORS["docx"].sample)
    archive = zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED)
    with archive, archive.open("word/media.bin", "w") as member:
        for _ in range(210):
            member.write(bytes(2**20))
    refused = refusal(pool, original(bomb.getvalue(), "bomb.docx"))
    assert refused.reason is QuarantineReason.TOO_LARGE


def test_a_document_that_lies_about_its_size_yields_no_more(pool: ExtractionPool, original: Original) -> None:  # B-D07
    honest = io.BytesIO(EXTRACTORS["docx"].sample)
    with zipfile.ZipFile(honest, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/header1.xml", b"<w:t>" + b"swell " * 2_000_000 + b"</w:t>")
    lying = honest.getvalue().replace((12_000_011).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    found = pool.extract(original(lying, "lying.docx"), "lying.docx")
    assert "swell" not in found.extracted.text


def test_an_archive_of_a_million_entries_is_not_even_listed(pool: ExtractionPool, original: Original) -> None:  # S-056
    whole = EXTRACTORS["docx"].sample
    end = whole.rfind(b"PK\x05\x06")
    lying = whole[: end + 12] + (90_000_000).to_bytes(4, "little") + whole[end + 16 :]
    assert refusal(pool, original(lying, "many.docx")).reason == QuarantineReason.TOO_LARGE


def test_an_external_entity_is_not_read(
    pool: ExtractionPool, original: Original, tmp_path: Path
) -> None:  # S-055, B-D05
    secret = tmp_path / "secret.txt"
    secret.write_text("swordfish", "utf-8")
    declared = f"<!DOCTYPE x [<!ENTITY e SYSTEM '{secret.as_uri()}'>]>".encode()
    path = original(document(b"before &e; after", declared), "entity.docx")
    try:
        said = pool.extract(path, path.name).extracted.text
    except Unreadable as refused:
        said = refused.message
    assert "swordfish" not in said


def test_laughs_do_not_multiply(pool: ExtractionPool, original: Original) -> None:  # S-055
    levels = [f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 12)]
    declared = ("<!DOCTYPE x [<!ENTITY e0 'ha'>" + "".join(levels) + "]>").encode()
    path = original(document(b"&e11;", declared), "laughs.docx")
    assert refusal(pool, path).reason == QuarantineReason.FAILED


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"From: a@b.example\nTo: " + b"a@b.example, " * 400_000 + b"\nSubject: x\n\nbody\n", "to.eml"),
        (b"From: a@b.example\nSubject: " + b"=?utf-8?b?YQ==?= " * 100_000 + b"\n\nbody\n", "subject.eml"),
        (
            b"From: a@b.example\nSubject: x\nContent-Type: multipart/mixed; boundary=x\n\n"
            + b"--x\n\npart\n" * 10_000
            + b"--x--\n",
            "parts.eml",
        ),
        (b"<html><p>" + b"word " * 3_000_000, "page.html"),
        (b"word " * 3_000_000, "text.txt"),
    ],
    ids=["5 MB of recipients", "100,000 encoded words", "10,000 parts", "15 MB of HTML", "15 MB of text"],
)
def test_what_is_too_large_is_refused(content: bytes, name: str, pool: ExtractionPool, original: Original) -> None:
    assert refusal(pool, original(content, name)).reason == QuarantineReason.TOO_LARGE


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"<html>" + b"<a href=x>" * 10_000 + b"end", "links.html"),
        (b"<html>" + b"<ul><li>" * 20_000 + b"end", "lists.html"),
        (b"<html><table><tr>" + b"<td>x" * 20_000, "cells.html"),
        (b"<html><p>start" + b"\n<br>" * 20_000 + b"end", "breaks.html"),
        (b"---\na: " + b"[" * 2_000 + b"\n---\nbody\n", "deep.md"),
        (b"---\na: &a [x]\nb: &b [" + b"*a, " * 99 + b"*a]\nc: [" + b"*b, " * 99 + b"*b]\n---\nbody\n", "aliases.md"),
        (
            b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 1 0 R/Kids[1 0 R]/Count 9>>endobj\ntrailer<</Root 1 0 R>>\n",
            "loop.pdf",
        ),
        (b"%PDF-1.4\n1 0 obj" + b"[" * 200_000 + b"endobj\ntrailer<</Root 1 0 R>>\n", "arrays.pdf"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_tangled_ends(content: bytes, name: str, pool: ExtractionPool, original: Original) -> None:  # S-059
    """With a text, or with a reason; and the next original is read at once."""
    text, reason = _outcome(pool, original(content, name))
    assert text.strip() or reason == QuarantineReason.FAILED
    assert pool.extract(original(b"well", "well.txt"), "well.txt").extracted.text == "well"


@pytest.mark.parametrize("content", [b"<div>" * 200_000 + b"end", b"<div>" * 99_000 + b"end" + b"</div>" * 99_000])
def test_what_is_nested_too_deeply_is_read_flat(content: bytes, pool: ExtractionPool, original: Original) -> None:
    """The limits would end it after a minute, in which nothing else is read; a look at the tags takes a second."""
    found = pool.extract(original(b"<html><title>Deep</title><body>" + content, "deep.html"), "deep.html").extracted
    assert (found.text, found.completeness, found.metadata["title"]) == ("end", Completeness.PARTIAL, "Deep")
    assert found.details == ("nested too deeply: its structure was not read",)


def test_an_ordinary_page_is_not_deep() -> None:
    assert not too_deep("<html>" + "<div><p>a<br><li>b</div>" * 50_000)
    assert not too_deep("<div>" * DEEPEST)
    assert too_deep("<div>" * (DEEPEST + 1))
    assert too_deep("<div></b>" * (DEEPEST + 1))  # an end without a beginning ends nothing


def _outcome(pool: ExtractionPool, path: Path) -> tuple[str, str]:
    try:
        return pool.extract(path, path.name).extracted.text, ""
    except Unreadable as refused:
        return "", refused.reason


def test_runs_of_pages_are_said_briefly() -> None:
    assert list(_runs([1, 2, 3, 7, 9, 10])) == ["1-3", "7", "9-10"]
