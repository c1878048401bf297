"""An original can cost its own extraction, never the daemon, another original or a secret."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.extractors import EXTRACTORS
from pipelines.isolate import ExtractionPool, Limits
from pipelines.model.errors import Transient, Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Extraction
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "tests.pipelines.hostile"
TIGHT = Limits(wall_seconds=1.5, cpu_seconds=30, address_space=2**30, output_bytes=1000)
Original = Callable[..., Path]


@pytest.fixture
def original(tmp_path: Path) -> Original:
    def write(content: str | bytes, name: str = "original.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def hostile() -> Iterator[ExtractionPool]:
    pool = ExtractionPool(TIGHT, package=HOSTILE)
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def pool() -> Iterator[ExtractionPool]:
    pool = ExtractionPool(Limits())
    yield pool
    pool.close()


def children() -> set[int]:
    """Processes of extraction children on this machine that this process started, the tasks not counted."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.add(int(status.parent.name))
    return found


def refusal(pool: ExtractionPool, path: Path) -> Unreadable:
    with pytest.raises(Unreadable) as refused:
        pool.extract(path, path.name)
    return refused.value


def test_text_comes_back_with_its_provenance(pool: ExtractionPool, original: Original) -> None:  # F-024
    extraction = pool.extract(original("# Grüße\n", "a.md"), "a.md")
    assert extraction.extracted.text == "# Grüße\n"
    assert (extraction.extractor, extraction.media_type) == ("markdown", "text/markdown")
    assert extraction.version.startswith(EXTRACTORS["markdown"].version + "; ")
    assert extraction.detected_by


def test_an_empty_file_says_so(pool: ExtractionPool, original: Original) -> None:
    assert refusal(pool, original(b"")).reason is QuarantineReason.EMPTY


def test_what_nobody_reads_is_named(pool: ExtractionPool, original: Original) -> None:  # L-076
    refused = refusal(
        pool, original(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes([0, 0, 0, 1] * 2 + [8, 2, 0, 0, 0]), "a.txt")
    )
    assert refused.reason is QuarantineReason.UNSUPPORTED
    assert "image/png" in refused.message
    assert "markdown" in refused.message


def test_a_text_above_the_limit_is_refused_before_it_is_read(original: Original) -> None:
    pool = ExtractionPool(Limits(text_bytes=1000))
    try:
        assert refusal(pool, original("word " * 300)).reason is QuarantineReason.TOO_LARGE
    finally:
        pool.close()


def test_a_missing_original_is_no_fault_of_the_content(pool: ExtractionPool, tmp_path: Path) -> None:
    with pytest.raises(Transient):
        pool.extract(tmp_path / "gone", "gone")


@pytest.mark.parametrize(
    ("deed", "reason", "said"),
    [
        ("hang", QuarantineReason.FAILED, "longer than 1.5 seconds"),  # B-D04
        ("swell", QuarantineReason.FAILED, "memory"),
        ("crash", QuarantineReason.FAILED, "SIGSEGV"),
        ("leave", QuarantineReason.FAILED, "gave up"),
        ("raise", QuarantineReason.FAILED, "ZeroDivisionError"),
        ("flood 400", QuarantineReason.TOO_LARGE, "more text"),
    ],
)
def test_a_limit_costs_one_original(
    deed: str, reason: QuarantineReason, said: str, hostile: ExtractionPool, original: Original
) -> None:  # F-023, S-056
    begun = time.monotonic()
    refused = refusal(hostile, original(deed))
    assert time.monotonic() - begun < 30  # bounded, on a machine under load
    assert refused.reason == reason
    assert said in refused.message
    assert hostile.extract(original("well"), "well.txt").extracted.text == "read well"


def test_what_is_too_long_holds_nothing_up(original: Original) -> None:  # S-056
    pool = ExtractionPool(Limits(wall_seconds=60, output_bytes=1000), package=HOSTILE)
    try:
        pool.extract(original("well"), "well.txt")  # the child is there
        begun = time.monotonic()
        refused = refusal(pool, original("flood 2000000"))  # 10 MB: more than fits between two processes
        assert refused.reason is QuarantineReason.TOO_LARGE
        assert pool.extract(original("well"), "well.txt").extracted.text == "read well"
        assert time.monotonic() - begun < 20  # not the wall limit, on a machine under load
    finally:
        pool.close()


def test_processor_time_is_counted_for_each_task_alone(original: Original) -> None:
    pool = ExtractionPool(Limits(cpu_seconds=1, wall_seconds=60), package=HOSTILE)
    try:
        assert "processor time" in refusal(pool, original("hang")).message
        assert pool.extract(original("well"), "well.txt").extracted.text == "read well"
    finally:
        pool.close()


def test_a_parser_cannot_answer_for_another(hostile: ExtractionPool, original: Original) -> None:
    for _ in range(3):
        with contextlib.suppress(Unreadable):  # its own answer it may spoil
            hostile.extract(original("forge"), "forge.txt")
        assert hostile.extract(original("well"), "well.txt").extracted.text == "read well"


def test_a_child_without_work_goes_away(original: Original) -> None:
    pool = ExtractionPool(Limits(idle_seconds=0.2), package=HOSTILE)
    before = children()
    try:
        for _ in range(2):  # and another comes at need
            assert pool.extract(original("well"), "well.txt").extracted.text == "read well"
            assert children() - before
            until(lambda: not children() - before)
    finally:
        pool.close()


def test_a_child_that_cannot_start_says_why(original: Original) -> None:
    pool = ExtractionPool(Limits(), package="tests.pipelines.no_such_family")
    with pytest.raises(Transient, match="No module named"):
        pool.extract(original("well"), "well.txt")
    pool.close()


def test_a_killed_child_is_replaced(hostile: ExtractionPool, original: Original) -> None:
    before = children()
    hostile.extract(original("well"), "well.txt")
    for child in children() - before:
        os.kill(child, signal.SIGKILL)
    assert hostile.extract(original("well"), "well.txt").extracted.text == "read well"


def test_closing_ends_what_runs(original: Original) -> None:
    pool = ExtractionPool(Limits(wall_seconds=60), package=HOSTILE)
    pool.extract(original("well"), "well.txt")
    path = original("hang", "hang.txt")
    ended: list[Exception] = []

    def run() -> None:
        try:
            pool.extract(path, "hang.txt")
        except Transient as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: _busy(children()))
    pool.close()
    thread.join(20)
    assert len(ended) == 1


def _busy(supervisors: set[int]) -> bool:
    """Whether one of them has a task."""
    return any(Path(f"/proc/{one}/task/{one}/children").read_text("utf-8").strip() for one in supervisors)


def test_two_workers_work_at_once(original: Original) -> None:
    pool = ExtractionPool(TIGHT, workers=2, package=HOSTILE)
    paths = [original("hang", f"{number}.txt") for number in range(2)]
    try:
        threads = [threading.Thread(target=refusal, args=(pool, path)) for path in paths]
        before = children()
        for thread in threads:
            thread.start()
        until(lambda: len(children() - before) == 2)
        for thread in threads:
            thread.join(30)
    finally:
        pool.close()


@pytest.mark.parametrize(("module", "also"), [("isolate", {"sqlalchemy"}), ("normalize", set())])
def test_the_daemon_loads_no_parser(module: str, also: set[str]) -> None:
    program = f"import sys, pipelines.{module}; print(*sys.modules)"
    listed = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    heavy = {"trafilatura", "lxml", "magic", "mammoth", "pypdfium2", "html_to_markdown", "resiliparse"}
    assert not (heavy | also) & set(listed.split())
    assert "pipelines.extractors" not in listed


def test_many_threads_share_a_pool(pool: ExtractionPool, original: Original) -> None:
    found: list[Extraction] = []
    paths = [original(f"text {number}", f"{number}.txt") for number in range(8)]
    threads = [threading.Thread(target=lambda path=path: found.append(pool.extract(path, path.name))) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(one.extracted.text for one in found) == [f"text {number}" for number in range(8)]
