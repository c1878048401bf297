"""``python -m tests.bench``: measures what is named, prints one table. Decides nothing: a miss is printed as one."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.bench import captures, command, idle, pipeline, start
from tests.bench.machine import facts
from tests.bench.rows import Row, printed
from tests.bench.share import Share, tiny

MEASURES: Final[dict[str, Callable[[Share], list[Row]]]] = {
    "start": start.measure,
    "idle": idle.measure,
    "status": command.measure,
    "captures": captures.measure,
    "pipeline": pipeline.measure,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when everything could be measured, whatever came out."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="narthex-bench-", dir=options.disk) as work:
        folder = Path(work)
        before = facts(folder)
        share = tiny(folder) if options.tiny else Share(folder)
        rows: list[Row] = []
        for name in options.only or MEASURES:
            sys.stderr.write(f"measuring: {name}\n")
            measured = MEASURES[name](share)
            sys.stderr.writelines(f"  {row.name.strip()}: {row.cells()[1]}\n" for row in measured)
            rows += measured
        after = facts(folder)
    sys.stdout.write(printed(rows, before, after))
    if options.json is not None:
        document = {"before": before.document(), "after": after.document(), "rows": [row.document() for row in rows]}
        options.json.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="What narthex costs on this machine.")
    parser.add_argument("--only", action="append", choices=list(MEASURES), metavar="NAME", help=", ".join(MEASURES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="the figures of every run, too")
    parser.add_argument("--disk", type=Path, metavar="FOLDER", help="where to work (else the temporary folder)")
    parser.add_argument("--tiny", action="store_true", help="a few seconds that only show that it works")
    return parser


if __name__ == "__main__":
    sys.exit(main())
