"""Generated tables of the READMEs: ``python -m tests.house.docs --write`` writes them, a test fails where they differ.

A table stands between two markers, ``<!-- generated: NAME -->`` and ``<!-- /generated -->``. Everything else in a
README is written by hand and left alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from tests.house import tables
from tests.house.source_tree import ROOT

END: Final = "<!-- /generated -->"


@dataclass(frozen=True)
class Table:
    """One generated block: where it stands, under which heading it is put when new, and what makes its lines."""

    name: str
    readme: str
    heading: str
    source: str
    """The module that it is made from; while there is none there is no table."""
    lines: Callable[[], Iterator[str]]

    @property
    def ready(self) -> bool:
        """Whether the source exists yet."""
        return find_spec(self.source) is not None and (ROOT / self.readme).exists()

    def render(self) -> str:
        """The block with its markers."""
        return "\n".join([f"<!-- generated: {self.name} -->", *self.lines(), END])


TABLES: Final = (
    Table("items", "pipelines/model/README.md", "Items", "pipelines.model.lifecycle", tables.items),
    Table("proposals", "pipelines/model/README.md", "Proposals", "pipelines.model.lifecycle", tables.proposals),
    Table("memories", "pipelines/model/README.md", "Memories", "pipelines.model.lifecycle", tables.memories),
    Table(
        "verification", "pipelines/model/README.md", "Verification", "pipelines.model.lifecycle", tables.verification
    ),
    Table("errors", "pipelines/model/README.md", "Errors", "pipelines.model.errors", tables.errors),
    Table("settings", "daemon/README.md", "Settings", "daemon.settings", tables.settings),
    Table("routes", "api/README.md", "Routes and powers", "api.routes", tables.routes),
    Table("verbs", "api/cli/README.md", "Verbs", "api.cli._verbs", tables.verbs),
    Table("extractors", "pipelines/extractors/README.md", "Members", "pipelines.extractors", tables.extractors),
    Table("producers", "pipelines/producers/README.md", "Members", "pipelines.producers", tables.producers),
    Table("actions", "pipelines/actions/README.md", "Members", "pipelines.actions", tables.actions),
)


def block_in(readme: str, name: str) -> re.Match[str] | None:
    """The block of this name as it stands in a README's text."""
    pattern = rf"<!-- generated: {re.escape(name)} -->.*?{re.escape(END)}"
    return re.search(pattern, readme, re.DOTALL)


def written(readme: str, table: Table) -> str:
    """A README's text with this table up to date; a new table is put at the end, under its heading."""
    block = block_in(readme, table.name)
    if block is None:
        return f"{readme.rstrip()}\n\n## {table.heading}\n\n{table.render()}\n"
    return readme[: block.start()] + table.render() + readme[block.end() :]


def main(arguments: list[str]) -> int:
    """Writes, or only says what differs (exit status 1)."""
    stale = 0
    for table in TABLES:
        if not table.ready:
            print(f"{table.name}: nothing to make it from yet")
            continue
        path = ROOT / table.readme
        before = path.read_text("utf-8")
        after = written(before, table)
        if before != after:
            stale += 1
            print(f"{table.readme}: {table.name} {'written' if '--write' in arguments else 'differs'}")
            if "--write" in arguments:
                path.write_text(after, "utf-8")
    return 1 if stale and "--write" not in arguments else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
