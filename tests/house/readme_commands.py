"""Cuts the one command of a section out of the root README: what is checked is what a reader is told to type."""

from __future__ import annotations

import re
import sys

from tests.house.source_tree import ROOT


def first_command(readme: str, section: str) -> str:
    """The first code block below the heading; raises ``ValueError`` unless it is exactly one line."""
    found = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", readme, re.DOTALL | re.MULTILINE)
    block = re.search(r"^```(?:sh|bash)\n(.*?)^```", found[1], re.DOTALL | re.MULTILINE) if found else None
    lines = block[1].splitlines() if block else []
    if len(lines) != 1:
        raise ValueError(f"the first code block below '## {section}' must be one line, it has {len(lines)}")
    return lines[0].strip()


if __name__ == "__main__":
    sys.stdout.write(first_command((ROOT / "README.md").read_text("utf-8"), sys.argv[1]) + "\n")
