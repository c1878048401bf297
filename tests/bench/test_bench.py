"""The bench runs and prints every row; what the figures are is no matter of a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.bench.rows import Aim, Row
from tests.bench.subject import ROOT


def test_a_tiny_share_prints_every_row(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "tests.bench", "--tiny", "--json", str(report), "--disk", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False, timeout=600)
    assert ended.returncode == 0, ended.stderr
    document = json.loads(report.read_text("utf-8"))
    names = [row["name"] for row in document["rows"]]
    assert [name for name in names if name not in ended.stdout] == []
    assert {"cores", "processor", "kernel", "file_system", "python", "sqlite", "load"} <= set(document["before"])
    aimed = [row["aim"] for row in document["rows"] if row["aim"] is not None]
    assert aimed == ["< 2", "< 90", "< 90", "≤ 0.5", "< 200", "≥ 0.5", "≥ 2", "≥ 0.75"]
    assert all(row["values"] for row in document["rows"])


def test_a_miss_is_printed_as_one() -> None:
    assert Row("a", "s", [1, 3, 2], Aim(2, "<")).cells()[:4] == ("a", "2 s", "< 2 s", "NO")
    assert Row("a", "%", [0.5], Aim(0.5, "≤")).cells()[3] == "yes"
    assert Row("a", "", [0.74], Aim(0.75, "≥")).cells()[3] == "NO"
    assert Row("a", "", [0.74]).cells()[2:4] == ("", "")
