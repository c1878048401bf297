"""``narthex drop``: what a glob for the setting ``drop_ignore`` would hide among what lies in the drop folder now.

Lists names only; never opens, moves or changes a file.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from api.cli._session import Session, Usage
from api.cli._verbs import Verb
from api.client import Json
from pipelines.model.errors import NotFound

_OURS: Final = frozenset({"_done", "_duplicates", "_failed", "_needs-help", "STATUS.md", ".queue"})


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("ignore-test",), help="ignore-test: list what PATTERN would hide")
    parser.add_argument("pattern", metavar="PATTERN", help="a glob for one name, in quotes, such as '*.bak'")


def _run(args: argparse.Namespace, session: Session) -> int:
    pattern: str = args.pattern
    if "/" in pattern or not pattern.strip():
        raise Usage("a pattern is for one name, not for a path", hint="narthex drop ignore-test '*.bak'")
    # as daemon.drop.names.IgnoreList, which a thin client may not import; a test compares them
    matches = re.compile(fnmatch.translate(pattern), re.IGNORECASE).match
    present = list(_present(session.home.drop))
    hidden = [_shown(parts) for parts in present if any(map(matches, parts))]
    document: dict[str, Json] = {"pattern": pattern, "hidden": hidden, "present": len(present)}
    if not session.answered(document, hidden):
        for line in hidden:
            session.line(line)
        session.hint(f"{pattern} would hide {len(hidden)} of the {len(present)} files that lie there now")
    return 0


def _present(root: Path) -> Iterator[tuple[str, ...]]:
    """Every file below the drop folder but ours, part by part, in the order of names; follows no link."""
    if not root.is_dir():
        raise NotFound(f"there is no drop folder {root}", hint="narthex status")
    for path, folders, files in os.walk(root):
        above = Path(path).relative_to(root).parts
        folders[:] = sorted(name for name in folders if above or name not in _OURS)
        yield from ((*above, name) for name in sorted(files) if above or name not in _OURS)


def _shown(parts: tuple[str, ...]) -> str:
    return os.fsencode("/".join(parts)).decode("utf-8", "replace")


DROP: Final = Verb(
    name="drop",
    help="see what a pattern of ignored names would hide",
    examples=(
        "narthex drop ignore-test '*.bak'",
        "narthex drop ignore-test '._*' --json",
        "narthex drop ignore-test -- '-old*'",
    ),
    arguments=_arguments,
    run=_run,
)
