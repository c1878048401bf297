"""Captures that are safe on the disk, per second over HTTP, as a ratio to raw one-row commits on the same disk."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from pysqlite3 import dbapi2 as sqlite

from tests.bench.load import Loaded, load, texts
from tests.bench.rows import Aim, Row
from tests.bench.share import Share
from tests.bench.subject import Subject, copied

_CLIENTS: Final = {1: 0.5, 16: 2.0}
"""How many clients, and the ratio to raw commits that is aimed at."""


def measure(share: Share) -> list[Row]:
    """Each round: raw commits, then for each number of clients a fresh copy of one home; the ratio is the round's."""
    folder = share.folder("captures")
    bearer = _template(folder / "template")
    raw: list[float] = []
    loads: dict[int, list[Loaded]] = {clients: [] for clients in _CLIENTS}
    for number in range(share.capture_rounds):
        before = raw_commits(folder / f"raw-{number}.db", share.capture_seconds / 2)
        for clients, done in loads.items():
            done.append(_one(folder, bearer, clients, share.capture_seconds, f"round {number}"))
        after = raw_commits(folder / f"raw-{number}-after.db", share.capture_seconds / 2)
        raw.append((before + after) / 2)
    rows = [Row("raw one-row commits (WAL, synchronous=FULL)", "/s", raw)]
    for clients, bound in _CLIENTS.items():
        done = loads[clients]
        rates = [loaded.per_second for loaded in done]
        waits = sorted(wait for loaded in done for wait in loaded.milliseconds)
        p50, p95 = waits[len(waits) // 2], waits[len(waits) * 95 // 100]
        who = "1 client" if clients == 1 else f"{clients} clients"
        note = f"answered in {p50:.1f} ms (p50), {p95:.1f} ms (p95)"
        rows.append(Row(f"durable captures, {who}", "/s", rates, note=note, parts={"p50_ms": p50, "p95_ms": p95}))
        ratios = [rate / floor for rate, floor in zip(rates, raw, strict=True)]
        rows.append(Row(f"  over raw commits, {who}", "", ratios, Aim(bound, "≥")))
    return rows


def raw_commits(path: Path, seconds: float) -> float:
    """Transactions per second, each with one row as large as a capture's text, by the SQLite that narthex uses."""
    database = sqlite.connect(str(path), isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, text BLOB)")
    bodies = texts("raw")
    for _ in range(5):
        database.execute("INSERT INTO row (text) VALUES (?)", (next(bodies),))
    commits, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        database.execute("INSERT INTO row (text) VALUES (?)", (next(bodies),))
        commits += 1
    database.close()
    return commits / took


def _template(root: Path) -> str:
    """A home at rest; answers a token of it that may capture."""
    subject = Subject(root)
    try:
        subject.start()
        owner = subject.client(subject.owner())
        wanted = {"name": "bench", "kind": "client", "capabilities": ["capture"]}
        return str(owner.call("POST", "/v1/tokens", wanted)["secret"])
    finally:
        subject.stop()


def _one(folder: Path, bearer: str, clients: int, seconds: float, label: str) -> Loaded:
    subject = Subject(copied(folder / "template", folder / "home"))
    try:
        subject.start()
        load(subject.port, bearer, clients, seconds / 4, f"warm-up {label}")
        return load(subject.port, bearer, clients, seconds, label)
    finally:
        subject.stop()
