"""The extractors by themselves, in processes of their own: no isolation, no database, no daemon."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from pipelines.extractors import EXTRACTORS, extractor_for
from pipelines.extractors._detect import detect
from pipelines.model.errors import Unreadable


def seconds_alone(files: Sequence[Path], processes: int) -> float:
    """For all files, by ``processes`` processes that have loaded everything before; each takes the next file."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_load) as pool:
        list(pool.map(_load_again, range(processes * 4)))  # starts all of them
        began = time.perf_counter()
        list(pool.map(_extract, files))
        return time.perf_counter() - began


def _load() -> None:
    for extractor in EXTRACTORS.load().values():
        extractor.read(io.BytesIO(extractor.sample), "sample")


def _load_again(_: int) -> None:
    _load()


def _extract(path: Path) -> int:
    """The characters that came out; 0 for what nobody reads."""
    with path.open("rb") as file:
        try:
            found = extractor_for(detect(file, path.name).media_type)
            return 0 if found is None else len(found[1].read(file, path.name).text)
        except (Unreadable, MemoryError):
            return 0
        except Exception:  # noqa: BLE001 -- a third party's parser may raise anything, as in the daemon's child
            return 0
