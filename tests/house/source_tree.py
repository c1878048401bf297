"""Reads the repository as a house rule sees it: our Python files as syntax trees, and the files that git tracks."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
CODE: Final = ("daemon", "pipelines", "api")
HAND_WRITTEN: Final = frozenset({".py", ".js", ".css", ".html"})


@dataclass(frozen=True)
class Source:
    """One Python file; ``path`` is relative to the repository."""

    path: str
    text: str

    @property
    def module(self) -> str:
        """As it is imported."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def tree(self) -> ast.Module:
        """Parsed anew for each caller is too slow: the same tree for all, so nobody may change it."""
        return _parsed(self.path, self.text)


@cache
def _parsed(path: str, text: str) -> ast.Module:
    return ast.parse(text, path)


def files_below(*folders: str) -> Iterator[Path]:
    """Every file that is ours, tests' samples and caches apart, in a stable order."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            parts = path.relative_to(ROOT).parts
            if path.is_file() and "__pycache__" not in parts and "samples" not in parts:
                yield path


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """The Python files below ``folders``; all of ours when none is named."""
    chosen = folders or (*CODE, "tests")
    return tuple(
        Source(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
        for path in files_below(*chosen)
        if path.suffix == ".py"
    )


@cache
def tracked_files() -> tuple[str, ...]:
    """What git would publish, relative to the repository."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    return tuple(name for name in listing.decode().split("\0") if name and (ROOT / name).exists())


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def assert_none(problems: Iterable[str]) -> None:
    """Fails with every problem on a line of its own."""
    found = list(problems)
    assert not found, "\n" + "\n".join(found)
