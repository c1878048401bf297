"""An original can cost its own extraction, never the daemon, another original or a secret."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.extractors import EXTRACTORS
from pipelines.isolate import ExtractionPool, Limits
from pipelines.model.errors import Transient, Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Extraction
from tests.need import need
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


def test_a_hostile_parser_is_denied_everything(hostile: ExtractionPool, original: Original) -> None:  # S-058
    need("root")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = hostile.extract(original(f"look {listener.getsockname()[1]}"), "look.txt")
    said = json.loads(found.extracted.text)
    health = hostile.health()
    assert said.pop("uid") != "did: 0"
    assert set(said.pop("environment").removeprefix("did: ").split(",")) <= {
        "LANG",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONPATH",
    }
    if "no files" not in health:  # an old kernel: what the uid cannot keep from it
        assert said.pop("read").startswith("did")
        assert said.pop("list").startswith("did")
        said.pop("kill")
    if "no network" not in health:  # a container that forbids namespaces
        said.pop("datagram")
    assert {deed: answer for deed, answer in said.items() if not answer.startswith("refused")} == {}
    assert "nobody" in health


def test_a_bomb_in_a_document_is_refused_unopened(pool: ExtractionPool, original: Original) -> None:  # S-056
    bomb = io.BytesIO(EXTRACTORS["docx"].sample)
    archive = zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED)
    with archive, archive.open("word/media.bin", "w") as member:
        for _ in range(210):
            member.write(bytes(2**20))
    refused = refusal(pool, original(bomb.getvalue(), "bomb.docx"))
    assert refused.reason is QuarantineReason.TOO_LARGE


def test_a_document_that_lies_about_its_size_yields_no_more(pool: ExtractionPool, original: Original) -> None:  # B-D07
    honest = io.BytesIO(EXTRACTORS["docx"].sample)
    with zipfile.ZipFile(honest, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/header1.xml", b"<w:t>" + b"swell " * 2_000_000 + b"</w:t>")
    lying = honest.getvalue().replace((12_000_011).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    found = pool.extract(original(lying, "lying.docx"), "lying.docx")
    assert "swell" not in found.extracted.text


def test_the_daemon_loads_no_parser() -> None:
    program = "import sys, pipelines.isolate, pipelines.normalize; print(*sys.modules)"
    listed = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    heavy = {"trafilatura", "lxml", "magic", "mammoth", "pypdfium2", "html_to_markdown", "resiliparse", "sqlalchemy"}
    assert not heavy & set(listed.split())
    assert "pipelines.extractors" not in listed


def test_a_child_does_not_outlive_the_daemon(original: Original) -> None:
    program = (
        "import sys; from pathlib import Path; from pipelines.isolate import ExtractionPool, Limits\n"
        f"pool = ExtractionPool(Limits(), package={HOSTILE!r})\n"
        "pool.extract(Path(sys.argv[1]), 'a'); print(pool._children[0]._process.pid, flush=True)\n"
        "pool.extract(Path(sys.argv[2]), 'a')"
    )
    well, hang = original("well", "well.txt"), original("hang", "hang.txt")
    daemon = subprocess.Popen([sys.executable, "-c", program, well, hang], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert daemon.stdout is not None
    with daemon, daemon.stdout:
        supervisor = int(daemon.stdout.readline())
        until(lambda: _busy({supervisor}))
        task = int(Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text("utf-8").split()[0])
        daemon.kill()
    until(lambda: not _lives(supervisor) and not _lives(task))


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_many_threads_share_a_pool(pool: ExtractionPool, original: Original) -> None:
    found: list[Extraction] = []
    paths = [original(f"text {number}", f"{number}.txt") for number in range(8)]
    threads = [threading.Thread(target=lambda path=path: found.append(pool.extract(path, path.name))) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(one.extracted.text for one in found) == [f"text {number}" for number in range(8)]
