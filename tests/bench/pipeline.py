"""Real files through the whole daemon, from the first capture to the last proposal, beside the extractors alone."""

from __future__ import annotations

import csv
import gzip
import hashlib
import time
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench.alone import Spent, spent_alone
from tests.bench.rows import Aim, Row
from tests.bench.share import CORPUS, Share
from tests.bench.subject import Subject
from tests.waiting import until

_KINDS: Final = frozenset({"html", "pdf", "docx", "txt", "md", "eml"})
_SAMPLES: Final = Path(__file__).resolve().parents[1] / "samples" / "extractors"


def measure(share: Share) -> list[Row]:
    """For each number of processes: alone, daemon, daemon, alone, …; the ratio is that of the neighbours."""
    folder = share.folder("pipeline")
    files = corpus(folder / "files", share)
    rows = []
    for processes in share.processes:
        alone, through = [], []
        for number in range(share.pipeline_rounds):
            home = folder / f"home-{processes}-{number}"
            if number % 2 == 0:
                alone.append(spent_alone(files, processes))
                through.append(_through_the_daemon(home, files, processes))
            else:
                through.append(_through_the_daemon(home, files, processes))
                alone.append(spent_alone(files, processes))
        rows += _rows(len(files), processes, alone, through)
    return rows


def _rows(count: int, processes: int, alone: list[Spent], through: list[Spent]) -> list[Row]:
    who = f"{processes} process" + ("es" if processes > 1 else "")
    note = f"{count} different files" + ("" if (CORPUS / "web").exists() else " (no corpus: samples only)")
    pairs = list(zip(alone, through, strict=True))
    ratios = [floor.seconds / whole.seconds for floor, whole in pairs]
    processor = [whole.processor_seconds / floor.processor_seconds for floor, whole in pairs]
    each = [whole.processor_seconds / count * 1000 for whole in through]
    return [
        Row(f"extractors alone, {who}", "/s", [count / spent.seconds for spent in alone], note=note),
        Row(f"captured to proposed, {who}", "/s", [count / spent.seconds for spent in through]),
        Row(f"  over the extractors alone, {who}", "", ratios, Aim(0.75, "≥")),
        Row(f"  processor time over theirs, {who}", "×", processor, note=f"{median(each):.0f} ms a file"),
    ]


def corpus(folder: Path, share: Share) -> list[Path]:
    """Copies of the corpus's files and pages, each content once; without a corpus the samples of the tests."""
    folder.mkdir()
    sources: list[tuple[str, bytes]] = []
    if (CORPUS / "MANIFEST.tsv").exists():
        with (CORPUS / "MANIFEST.tsv").open(newline="", encoding="utf-8") as manifest:
            listed = [row["path"] for row in csv.DictReader(manifest, delimiter="\t") if row["type"] in _KINDS]
        pages = sorted((CORPUS / "web" / "html").glob("*.html.gz"))[: share.pages]
        sources += [(Path(path).name, (CORPUS / path).read_bytes()) for path in sorted(listed)[: share.files]]
        sources += [(page.name.removesuffix(".gz"), gzip.decompress(page.read_bytes())) for page in pages]
    else:
        samples = sorted(path for path in _SAMPLES.rglob("*") if path.is_file())[: share.files]
        sources += [(path.name, path.read_bytes()) for path in samples]
    different = {hashlib.sha256(content).digest(): (name, content) for name, content in sources if content}
    files = []
    for number, (name, content) in enumerate(different.values()):
        files.append(folder / f"{number:03}-{name[-80:]}")
        files[-1].write_bytes(content)
    return files


def _through_the_daemon(root: Path, files: list[Path], workers: int) -> Spent:
    """From the first byte sent until no item is being worked on; the children are warm before."""
    variables = {"NARTHEX_EXTRACTION_WORKERS": str(workers)}
    subject = Subject(root, variables)
    try:
        subject.start()
        bearer = subject.owner()
        client, connection = subject.client(bearer), subject.connect()
        for number in range(workers * 4):
            page = b"<html><body><p>%d: cold and dry, for every seed there is.</p></body></html>" % number
            subject.post_file(connection, bearer, f"warm-{number}.html", page)
        until(lambda: _working(client.call("GET", "/v1/status")) == 0, seconds=120)
        began, before = time.perf_counter(), subject.cpu_seconds()
        for file in files:
            subject.post_file(connection, bearer, file.name, file.read_bytes())
        until(lambda: _working(client.call("GET", "/v1/status")) == 0, seconds=1800)
        spent = Spent(time.perf_counter() - began, subject.cpu_seconds() - before)
        connection.close()
        return spent
    finally:
        subject.stop()


def _working(status: object) -> int:
    assert isinstance(status, dict)
    return int(status["inbox"]["working"])
