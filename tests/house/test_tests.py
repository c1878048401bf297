"""The tests keep their own rules: they wait for conditions, and put no double in the place of our code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from tests.house.source_tree import Source, assert_none, sources

SLEEPERS: Final = {
    "tests/waiting.py": "the one loop that waits for a condition",
}
"""Files that may sleep, and why."""


def sleeps(source: Source) -> Iterator[str]:
    """Calls of a sleep."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called == "sleep":
                yield f"{source.path}:{node.lineno} sleeps: wait for a condition (tests.waiting.until)"


def doubles(source: Source) -> Iterator[str]:
    """Imports of a mock library."""
    for node in ast.walk(source.tree):
        names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.startswith(("unittest.mock", "mock", "pytest_mock")) for name in names):
            yield f"{source.path}:{getattr(node, 'lineno', 0)} imports a mock"


def test_tests_wait_for_conditions() -> None:
    assert_none(line for source in sources("tests") if source.path not in SLEEPERS for line in sleeps(source))


def test_tests_use_real_code() -> None:
    assert_none(line for source in sources("tests") for line in doubles(source))


def test_the_rules_catch_what_they_forbid() -> None:  # the seeded violations
    assert list(sleeps(Source("a.py", "import time\ntime.sleep(1)\n")))
    assert list(doubles(Source("b.py", "from unittest.mock import patch\n")))
