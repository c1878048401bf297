"""Who may do a thing at all: import contracts, and what they cannot see (environment, states, broad excepts)."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.house.source_tree import CODE, ROOT, Source, assert_none, sources

ENVIRONMENT: Final = frozenset({"environ", "environb", "getenv", "getenvb"})
ENVIRONMENT_READERS: Final = {
    "daemon/settings.py": "the settings",
    "api/client.py": "which home a command means",
    "pipelines/extractors/_magic.py": "puts back what a library changed there",
}
REACTION_POINTS: Final = frozenset({"daemon/worker.py", "api/problems.py", "api/cli/main.py"})
HANDS_ON: Final = {
    "pipelines/store/database.py": "gives each caller of a shared commit its own error",
    "pipelines/isolation/child.py": "tells the daemon across the process boundary what a parser raised",
}
"""Broad excepts that neither react nor raise, with what they do instead."""


def environment_reads(source: Source) -> Iterator[str]:
    """Uses of ``os.environ`` and its kin, however they are imported."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT:
            yield f"{source.path}:{node.lineno} reads the environment"
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and ENVIRONMENT & {name.name for name in node.names}
        ):
            yield f"{source.path}:{node.lineno} imports the environment"


def state_assignments(source: Source) -> Iterator[str]:
    """Assignments to a state, by attribute or by ``setattr``."""
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and node.attr in {"state", "verification"}
        ):
            yield f"{source.path}:{node.lineno} assigns .{node.attr}: states change through store.moves"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
            yield f"{source.path}:{node.lineno} uses setattr, which no check sees through"


def broad_excepts(source: Source) -> Iterator[str]:
    """Handlers of everything that do not end in raising."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = "everything" if node.type is None else ast.unparse(node.type)
        broad = node.type is None or caught in {"Exception", "BaseException"}
        if broad and not isinstance(node.body[-1], ast.Raise):
            yield f"{source.path}:{node.lineno} catches {caught} and goes on"


def sql_in_use_cases(source: Source) -> Iterator[str]:
    """Anything but the name of a session, taken from an SQL library."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import) and any(name.name.split(".")[0] == "sqlmodel" for name in node.names):
            yield f"{source.path}:{node.lineno} imports sqlmodel as a whole"
        if isinstance(node, ast.ImportFrom) and node.module == "sqlmodel":
            taken = {name.name for name in node.names} - {"Session"}
            if taken:
                yield f"{source.path}:{node.lineno} takes {', '.join(sorted(taken))}: statements belong into the store"


def test_use_cases_pass_sessions_on_and_write_no_sql() -> None:
    use_cases = [source for source in sources("pipelines") if source.path.count("/") == 1]
    assert_none(line for source in use_cases for line in sql_in_use_cases(source))


def test_only_named_files_read_the_environment() -> None:
    readers = [source for source in sources(*CODE) if source.path not in ENVIRONMENT_READERS]
    assert_none(line for source in readers for line in environment_reads(source))


def test_states_are_assigned_in_the_store_alone() -> None:
    others = [source for source in sources(*CODE) if not source.path.startswith("pipelines/store/")]
    assert_none(line for source in others for line in state_assignments(source))


def test_errors_are_swallowed_nowhere() -> None:  # the three points react, everything else raises
    allowed = REACTION_POINTS | HANDS_ON.keys()
    others = [source for source in sources(*CODE) if source.path not in allowed]
    assert_none(line for source in others for line in broad_excepts(source))


def test_the_rules_catch_what_they_forbid() -> None:  # the seeded violations
    assert list(environment_reads(Source("a.py", "import os\nos.environ['X']\n")))
    assert list(environment_reads(Source("b.py", "from os import getenv\n")))
    assert list(state_assignments(Source("c.py", "item.state = 1\n")))
    assert list(state_assignments(Source("d.py", "setattr(item, 'state', 1)\n")))
    assert list(broad_excepts(Source("e.py", "try:\n    pass\nexcept Exception:\n    pass\n")))
    assert list(sql_in_use_cases(Source("g.py", "from sqlmodel import Session, select\n")))
    assert not list(broad_excepts(Source("f.py", "try:\n    pass\nexcept Exception as e:\n    raise X from e\n")))


def test_the_import_names_are_ours_alone() -> None:
    """Another distribution that ships ``daemon`` or ``api`` would silently overwrite ours."""
    owners = importlib.metadata.packages_distributions()
    for name in CODE:
        assert set(owners.get(name, ["narthex"])) == {"narthex"}, f"{name} belongs to {owners[name]}"
        module = __import__(name)
        assert Path(module.__path__[0]).resolve() == ROOT / name


def test_imports_point_down() -> None:
    """The contracts of ``pyproject.toml``, so that the test command alone shows a broken one."""
    done = _lint_imports(ROOT)
    assert done.returncode == 0, done.stdout


def test_a_planted_import_breaks_each_contract(tmp_path: Path) -> None:
    planted = {
        "pipelines/model/values.py": "import pipelines.store.moves",
        "pipelines/store/events.py": "import api.app",
        "pipelines/search.py": "import pipelines.vault.writer\nimport asyncio",
        "api/auth.py": "import sqlalchemy",
        "api/client.py": "import api.app",
        "daemon/worker.py": "import httpx2\nimport sqlite3\nimport http.client",
        "pipelines/placeless.py": '"""A file that nobody gave a place."""',
    }
    for folder in CODE:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for path, line in planted.items():
        with (tmp_path / path).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    report = _lint_imports(tmp_path).stdout
    assert "0 kept, 10 broken" in report, report


def _lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    program = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
