"""The media type comes from the bytes; a name only chooses among texts."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pipelines.extractors import EXTRACTORS
from pipelines.extractors._decode import codec_name, decode
from pipelines.extractors._detect import detect
from pipelines.model.values import Completeness

ROOT = Path(__file__).resolve().parents[2]
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0" + bytes(16)
MAIL = b"From: a@b.example\nTo: c@d.example\nSubject: hello\n\nbody\n"


def zipped(**members: str) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/"), text)
    return memory.getvalue()


@pytest.mark.parametrize(
    ("content", "name", "media_type"),
    [
        (b"plain words\n", "a.txt", "text/plain"),
        (b"plain words\n", "a", "text/plain"),
        (b"plain words\n", "a.md", "text/markdown"),
        (b"# heading\n\n- one\n- two\n", "notes.markdown", "text/markdown"),
        (b"plain words\n", "a.pdf", "text/plain"),  # an ending never makes a text a binary
        (b"plain words\n", "a.png", "text/plain"),
        (PNG, "a.txt", "image/png"),  # nor a binary a text
        (PNG, "a.md", "image/png"),
        (EXTRACTORS["pdf"].sample, "a.txt", "application/pdf"),
        (b"junk before\n" + EXTRACTORS["pdf"].sample, "a", "application/pdf"),
        (EXTRACTORS["docx"].sample, "a.zip", DOCX),
        (zipped(z="first", word__document="x", **{"[Content_Types].xml": "x"}), "a", DOCX),  # an odd order of members
        (zipped(mimetype="application/epub+zip", a="x"), "a.txt", "application/epub+zip"),
        (zipped(a="x"), "a.docx", "application/zip"),
        (b"<!DOCTYPE html>\n<p>x", "a.txt", "text/html"),
        (b"\n<!-- a comment -->\n<html><body>x", "page", "text/html"),
        (b"<p align=center>A logo</p>\n\n# A readme\n", "README.md", "text/markdown"),
        (b"<?xml version='1.0'?>\n<feed/>", "a.xml", "application/xml"),
        (b"<?xml version='1.0'?>\n<svg xmlns='http://www.w3.org/2000/svg'/>", "a.xml", "image/svg+xml"),
        (MAIL, "a.eml", "message/rfc822"),
        (MAIL, "mail", "message/rfc822"),
        (MAIL, "note.md", "text/markdown"),  # a note may begin like a mail
        (b"MIME-Version: 1.0\n" + MAIL, "note.txt", "message/rfc822"),
        (b"Subject: x\n\nbody", "a.eml", "message/rfc822"),
        (b"From a Mon\n" + MAIL + b"\nFrom b Tue\n" + MAIL, "box", "application/mbox"),
        (b"{\"a\": [1, 2]}", "a.txt", "application/json"),
        (b"{\\rtf1 x}", "a.txt", "application/rtf"),
        (b"BEGIN:VCALENDAR\nEND:VCALENDAR\n", "a.txt", "text/calendar"),
        (b"a,b\n1,2\n", "a.csv", "text/csv"),
        (b"https://a.example/b?c=d\nA title\n", "link.uri", "text/uri-list"),
        (b"https://a.example/b?c=d\n", "a.txt", "text/uri-list"),
        ("hallo".encode("utf-16"), "a.txt", "text/plain"),  # B-W14
        ("hallo Welt".encode("utf-16-le"), "a.txt", "text/plain"),
        ("hallo".encode("utf-32"), "a.txt", "text/plain"),
        (b"a\x00b", "a.txt", "text/plain"),
        (b"na\xefve", "a.txt", "text/plain"),
        (b"\x01\x02\x83\xfe" * 50, "a.txt", "application/octet-stream"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le"), "a.docx",
         "application/encrypted"),
    ],
)  # fmt: skip
def test_the_bytes_decide(content: bytes, name: str, media_type: str, tmp_path: Path) -> None:  # F-020
    path = tmp_path / "original"
    path.write_bytes(content)
    with path.open("rb") as file:
        detected = detect(file, name)
        assert (detected.media_type, file.tell()) == (media_type, 0)
    assert detected.because


@pytest.mark.parametrize(
    ("raw", "declared", "text", "repaired"),
    [
        ("grün".encode(), None, "grün", False),
        ("\ufeffgrün".encode(), None, "grün", False),
        ("grün".encode("utf-16"), None, "grün", False),
        ("grün".encode("utf-32"), None, "grün", False),
        ("grün".encode("utf-16-be"), None, "grün", True),
        ("grün".encode("cp1252"), "iso-8859-1", "grün", False),
        (b"na\xefve", None, "na\u00efve", True),
        (b"a\x00b", None, "ab", True),
        ("日本".encode("shift_jis"), "x-sjis", "日本", False),
        ("สวัสดี".encode("cp874"), "windows-874", "สวัสดี", False),  # B-D23
        ("שלום".encode("iso-8859-8"), "iso-8859-8-i", "שלום", False),
        ("漢字".encode(), "iso-8859-1", "漢字", False),  # strict UTF-8 does not happen by chance
        (("größer " * 20).encode() + b"caf\xe9", "utf-8", "größer " * 20 + "caf\ufffd", True),  # B-L02
        (b"caf\xe9 " * 9, "utf-8", "café " * 9, True),
        (b"abc", "no-such-charset", "abc", False),
        (b"", None, "", False),
    ],
)
def test_any_encoding_becomes_text(raw: bytes, declared: str | None, text: str, repaired: bool) -> None:  # B-W14
    decoded = decode(raw, declared)
    assert decoded.text == text
    assert (decoded.completeness is Completeness.ENCODING_REPAIRED) == repaired
    assert bool(decoded.repairs) == repaired


def test_labels_that_are_no_encodings_are_refused() -> None:
    assert [
        codec_name(label) for label in ("rot13", "hex", "utf-7", "idna", "unicode_escape", "", "\x00", "x" * 99)
    ] == [None] * 8


def test_libmagic_may_come_from_the_package(tmp_path: Path) -> None:
    """Where the system has none; and what the package does to the environment and to ctypes is undone."""
    (tmp_path / "magic.py").write_text("raise ImportError('failed to find libmagic')", "utf-8")
    program = f"""
import ctypes, os, sys
before, opener = dict(os.environ), ctypes.CDLL.__init__
sys.path.insert(0, {str(tmp_path)!r})
from pipelines.extractors import _magic
real = _magic._packaged
def packaged():
    sys.path.remove({str(tmp_path)!r})
    return real()
_magic._packaged = packaged
print(_magic.libmagic().from_buffer(b"%PDF-1.4"))
assert dict(os.environ) == before and ctypes.CDLL.__init__ is opener
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert said == "application/pdf\n"
