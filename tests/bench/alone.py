"""The extractors by themselves, in processes of their own: no isolation, no database, no daemon."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from pipelines.extractors import EXTRACTORS, extractor_for
from pipelines.extractors._detect import detect


@dataclass(frozen=True)
class Spent:
    """On all files: by the clock, and of the processors, which other programs of the machine do not lengthen."""

    seconds: float
    processor_seconds: float


def spent_alone(files: Sequence[Path], processes: int) -> Spent:
    """By ``processes`` processes that have loaded everything before; each takes the next file."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_load) as pool:
        list(pool.map(_load_again, range(processes * 4)))  # starts all of them
        began = time.perf_counter()
        processor_seconds = sum(pool.map(_extract, files))
        return Spent(time.perf_counter() - began, processor_seconds)


def _load() -> None:
    for extractor in EXTRACTORS.load().values():
        extractor.read(io.BytesIO(extractor.sample), "sample")


def _load_again(_: int) -> None:
    _load()


def _extract(path: Path) -> float:
    """The processor seconds that it took, whatever came out."""
    began = time.process_time()
    with path.open("rb") as file, suppress(Exception):  # a third party's parser may raise anything
        found = extractor_for(detect(file, path.name).media_type)
        if found is not None:
            found[1].read(file, path.name)
    return time.process_time() - began
