"""How long a person waits for ``narthex status``."""

from __future__ import annotations

import subprocess
import sys
import time

from tests.bench.rows import Aim, Row
from tests.bench.share import Share
from tests.bench.subject import ROOT, Subject, program


def measure(share: Share) -> list[Row]:
    """The whole command as a process, beside an interpreter that does nothing."""
    subject = Subject(share.folder("command") / "home")
    try:
        subject.start()
        environment = {**subject.environment(), "NARTHEX_TOKEN": subject.owner()}
        status = [*program("narthex", "api.cli"), "status"]
        nothing = [sys.executable, "-c", "pass"]
        _milliseconds(status, environment)
        asked, empty = [], []
        for _ in range(share.commands):
            asked.append(_milliseconds(status, environment))
            empty.append(_milliseconds(nothing, environment))
    finally:
        subject.stop()
    return [
        Row("narthex status", "ms", asked, Aim(200.0, "<")),
        Row("an interpreter that does nothing", "ms", empty),
    ]


def _milliseconds(command: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000
