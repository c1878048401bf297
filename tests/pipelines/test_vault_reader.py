"""Reading a real vault: everything that is a note, nothing that is not, and no silence about what cannot be read."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
from pathlib import Path

import pytest

from pipelines.model.errors import Invalid, NotFound, Transient, Unreadable
from pipelines.model.plan import digest_text
from pipelines.model.values import Home
from pipelines.vault.reader import memory_id_of, read_text, scan


def test_a_scan_sees_every_note_and_nothing_else(home: Home, tmp_path: Path) -> None:
    # S-049: links are not followed, a pipe is not waited for
    vault = home.vault
    for path in (
        "b.md",
        "A/x.md",
        "A/deep er/y.MD",
        ".obsidian/z.md",
        "A/.y.md.nx-tmp",
        "picture.png",
        "folder.md/in.md",
    ):
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(path)
    (tmp_path / "secret.md").write_text("secret")
    (vault / "link.md").symlink_to(tmp_path / "secret.md")
    (vault / "linked folder").symlink_to(tmp_path)
    os.mkfifo(vault / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(vault / "socket.md"))
    (vault / os.fsdecode(b"\xff.md")).write_text("x")
    found = {file.path: file for file in scan(vault)}
    assert sorted(found) == ["A/deep er/y.MD", "A/x.md", "b.md", "folder.md/in.md"]
    assert found["b.md"].digest == hashlib.sha256(b"b.md").hexdigest()
    assert found["b.md"].size == 4


def test_composed_and_decomposed_twins_are_both_seen(home: Home) -> None:
    # B-W13
    (home.vault / "e\u0301.md").write_text("decomposed")
    assert [file.path for file in scan(home.vault)] == ["é.md"]
    assert read_text(home.vault, "é.md") == "decomposed"
    (home.vault / "é.md").write_text("composed")
    assert {file.path: read_text(home.vault, file.path) for file in scan(home.vault)} == {
        "e\u0301.md": "decomposed",
        "é.md": "composed",
    }


def test_text_is_read_as_it_is(home: Home) -> None:
    text = "\ufeff---\r\nnx_id: mem_01jq7r3k8v2m\r\n---\r\nx\ry"
    (home.vault / "a.md").write_bytes(text.encode())
    assert read_text(home.vault, "a.md") == text
    assert [file.digest for file in scan(home.vault)] == [digest_text(text)]
    assert memory_id_of(text) == "mem_01jq7r3k8v2m"


def test_what_cannot_be_read_says_so(home: Home) -> None:
    (home.vault / "latin.md").write_bytes(b"\xe9")
    with (home.vault / "big.md").open("wb") as file:
        file.truncate(11 * 1024 * 1024)
    (home.vault / "link.md").symlink_to("latin.md")
    for path, error in (("latin.md", Unreadable), ("big.md", Unreadable), ("no.md", NotFound), ("link.md", Invalid)):
        with pytest.raises(error):
            read_text(home.vault, path)


def test_a_vault_that_is_gone_is_no_empty_vault(home: Home) -> None:
    # S-053: else every note would count as deleted
    home.vault.rmdir()
    with pytest.raises(Transient):
        list(scan(home.vault))


def test_a_note_that_cannot_be_opened_stops_the_scan(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    # S-054: left out, it would count as deleted; root could open it, hence the fault is injected
    (home.vault / "a.md").write_text("x")
    real = os.open

    def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "a.md":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr("pipelines.vault.reader.os.open", refuse)
    with pytest.raises(Transient):
        list(scan(home.vault))
