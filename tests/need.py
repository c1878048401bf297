"""What a test needs of the machine: without it the test is skipped, or fails if the run says it must be there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Final

import pytest

REQUIRE: Final = "NARTHEX_TEST_REQUIRE"
"""Names, with commas between, whose absence is a failure: ``postgresql,browser,root`` in ``.ci/run``."""


def need(name: str) -> None:
    """Goes on where the machine has ``name``, a key of ``_PROBES``. Else skips, or fails if it is required."""
    problem = _PROBES[name]()
    if not problem:
        return
    if name in os.environ.get(REQUIRE, "").split(","):
        pytest.fail(f"{name} is required here: {problem}")
    pytest.skip(problem)


def postgresql_programs() -> Path | None:
    """The folder of ``initdb`` and ``postgres``: where PATH leads to, else Debian's newest."""
    found = which("initdb")
    if found and (folder := Path(found).resolve().parent).joinpath("postgres").exists():
        return folder
    versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(versions, key=lambda folder: float(folder.parent.name), default=None)


def browser_program() -> str | None:
    """A Chromium to drive."""
    return which("chromium") or which("chromium-browser") or which("google-chrome")


def corpus() -> Path:
    """Where the real files are that nobody here wrote, or would be: ``NARTHEX_CORPUS``, else beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "corpus"
    return Path(os.environ.get("NARTHEX_CORPUS", beside))


def _no_corpus() -> str:
    return "" if (corpus() / "files").is_dir() else "the corpus of real files is not here"


def _no_postgresql() -> str:
    return "" if postgresql_programs() else "no PostgreSQL server programs are installed"


def _no_browser() -> str:
    return "" if browser_program() else "no Chromium is installed"


def _not_root() -> str:
    return "" if os.geteuid() == 0 else "only root may do what this test does"


_PROBES: Final[dict[str, Callable[[], str]]] = {
    "postgresql": _no_postgresql,
    "browser": _no_browser,
    "root": _not_root,
    "corpus": _no_corpus,
}
