"""The drop folder under a load that real folders bring: floods, lost events, giants; the doors stay open meanwhile.

``NARTHEX_TEST_FLOOD=10000 python -m pytest -s tests/end_to_end/test_drop_stress.py`` is the long run, which also holds
how long the doors take to answer.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from api.client import Client
from pipelines.model.errors import NarthexError
from tests.end_to_end.narthexd import Narthexd
from tests.waiting import until

FLOOD: Final = int(os.environ.get("NARTHEX_TEST_FLOOD", "2000"))
_OVERFLOWING: Final = 6000  # the kernel holds 16,384 events; each file makes three of those that are asked for
_LONG_RUN: Final = 10_000
_BETWEEN: Final = 0.25  # seconds between two calls of one kind
_SLOWEST: Final = 0.5
_MIB: Final = 1024 * 1024


class Doors:
    """Calls of the API while something else goes on, and how long each one took."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._over = threading.Event()
        self.refused: list[str] = []
        self.seconds: dict[str, list[float]] = {"GET /v1/status": [], "POST /v1/captures": []}

    def _call(self, kind: str) -> None:
        method, path = kind.split()
        taken = self.seconds[kind]
        while not self._over.wait(_BETWEEN) and not self.refused:
            begun = time.monotonic()
            body = {"kind": "text", "text": f"thought {len(taken)}"} if method == "POST" else None
            try:
                self._client.call(method, path, body)
            except NarthexError as error:
                self.refused.append(f"{kind}: {error.message}")
            taken.append(time.monotonic() - begun)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Calls both until the end of the block, or until a call fails."""
        callers = [threading.Thread(target=self._call, args=(kind,)) for kind in self.seconds]
        for caller in callers:
            caller.start()
        try:
            yield
        finally:
            self._over.set()
            for caller in callers:
                caller.join()

    def p95(self) -> Mapping[str, float]:
        """Seconds that nineteen of twenty calls took at most."""
        return {kind: sorted(taken)[len(taken) * 95 // 100] for kind, taken in self.seconds.items()}


def flood(drop: Path, files: int) -> set[str]:
    """Small files, all at once; answers their names."""
    names = {f"n{number:05}.txt" for number in range(files)}
    for name in names:
        (drop / name).write_text(f"this is {name}\n", "utf-8")
    return names


def left(drop: Path) -> bool:
    """Whether any of them still lies there."""
    with os.scandir(drop) as entries:
        return any(entry.name.startswith("n") for entry in entries)


def dropped(owner: Client) -> list[str]:
    """Names of all items that came through the drop folder."""
    return [str(row["name"]) for row in owner.pages("/v1/items", {}, 10**6) if row["channel"] == "drop"]


@pytest.mark.parametrize("overflows", [False, True], ids=["at once", "while the watcher overflows"])
def test_a_flood_is_one_item_a_file_and_the_doors_stay_open(
    narthexd: Narthexd, overflows: bool
) -> None:  # F-001, P3, S-052
    owner = narthexd.start().owner()
    drop = narthexd.home.drop
    until(lambda: (drop / "_done").is_dir())
    doors = Doors(owner)
    if overflows:
        os.kill(narthexd.pid, signal.SIGSTOP)
    names = flood(drop, max(FLOOD, _OVERFLOWING) if overflows else FLOOD)
    if overflows:
        os.kill(narthexd.pid, signal.SIGCONT)
    begun = time.monotonic()
    with doors.open():
        until(lambda: doors.refused or not left(drop), seconds=170)
    print(f"{len(names)} files in {time.monotonic() - begun:.0f} s; p95 {doors.p95()}", narthexd.said()[-3000:])  # noqa: T201
    assert doors.refused == []
    if overflows:
        assert "queue overflowed" in narthexd.said()
    found = dropped(owner)
    assert len(found) == len(names)  # each exactly once
    assert set(found) == names
    filed = sorted(path.name for path in (drop / "_done").rglob("*.txt"))
    assert filed == sorted(names)
    assert not list((drop / "_duplicates").iterdir())
    for kind, taken in doors.seconds.items():
        assert len(taken) > 10, kind
    if FLOOD >= _LONG_RUN:
        assert max(doors.p95().values()) < _SLOWEST, doors.p95()


def memory(pid: int, field: str = "VmRSS") -> int:
    """Bytes that the process itself holds now, or has held at most (``VmHWM``)."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024


def test_a_giant_copied_in_is_taken_once_in_little_memory(narthexd: Narthexd, tmp_path: Path) -> None:  # S-047
    giant = tmp_path / "giant.bin"
    with giant.open("wb") as file:
        for number in range(400):
            file.write(bytes([number % 251]) * _MIB)
    owner = narthexd.start().owner()
    (narthexd.home.drop / "small.txt").write_text("warm", "utf-8")
    until(lambda: dropped(owner) == ["small.txt"])
    before, shown, over = memory(narthexd.pid), [""], threading.Event()

    def look() -> None:
        while not over.is_set():
            shown.append(str(owner.call("GET", "/v1/status")["checks"]))

    looker = threading.Thread(target=look)
    looker.start()
    try:
        subprocess.run(["cp", str(giant), str(narthexd.home.drop)], check=True)
        until(lambda: list(narthexd.home.drop.glob("_done/*/giant.bin")), seconds=60)
    finally:
        over.set()
        looker.join()
    assert dropped(owner).count("giant.bin") == 1
    item = next(row for row in owner.pages("/v1/items", {}, 100) if row["name"] == "giant.bin")
    assert item["digest"] == sha256(giant.read_bytes()).hexdigest()
    assert "% of 419 MB" in "".join(shown)  # how far it has come
    assert memory(narthexd.pid, "VmHWM") - before < 48 * _MIB


def one_page(number: int) -> bytes:
    """A PDF of one page, by hand."""
    text = f"BT /F1 12 Tf 72 700 Td (Page number {number} of a long run of files, with a few words on it.) Tj ET"
    parts = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(text)} >>\nstream\n{text}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    content, places = "%PDF-1.4\n", []
    for place, part in enumerate(parts, 1):
        places.append(len(content))
        content += f"{place} 0 obj\n{part}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{len(content)}\n%%EOF\n"
    return f"{content}xref\n0 6\n0000000000 65535 f \n{table}{end}".encode()


def working(owner: Client) -> int:
    """Items that a worker has still to do with."""
    inbox = owner.call("GET", "/v1/status")["inbox"]
    assert isinstance(inbox, Mapping)
    return int(str(inbox["working"]))


def test_a_long_run_of_files_gives_its_memory_back(narthexd: Narthexd) -> None:  # B-W25
    owner = narthexd.start().owner()

    def run(numbers: range) -> int:
        for number in numbers:
            (narthexd.home.drop / f"{number}.pdf").write_bytes(one_page(number))
        until(lambda: not list(narthexd.home.drop.glob("*.pdf")), seconds=60)
        until(lambda: working(owner) == 0, seconds=120)
        return memory(narthexd.pid)

    before = run(range(100))  # libraries are loaded and caches are filled by now
    after = run(range(100, 400))
    assert after < before * 1.1, (before, after)


def test_a_file_sent_over_http_needs_no_temporary_folder_later(tmp_path: Path) -> None:  # B-W19
    spool = tmp_path / "spool"
    spool.mkdir()
    narthexd = Narthexd(tmp_path / "home", {"TMPDIR": str(spool)})
    try:
        owner = narthexd.start().owner()
        note = tmp_path / "note.md"
        note.write_text("# Spool\n\n" + "What is acknowledged lies in the home.\n" * 60_000, "utf-8")
        with note.open("rb") as file:
            taken = owner.send_file("/v1/captures/file", file, note.name, (), {})
        narthexd.kill()  # before a worker came to it
        shutil.rmtree(spool)
        spool.mkdir()
        owner = narthexd.start().owner()
        until(lambda: owner.call("GET", f"/v1/items/{taken['id']}")["due"] is None, seconds=60)
        text = owner.call("GET", f"/v1/items/{taken['id']}/text")
        assert "What is acknowledged lies in the home." in str(text["markdown"])
    finally:
        narthexd.close()
