"""What a parser that was taken over can still do: next to nothing, and nothing that outlives the daemon."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.isolate import ExtractionPool, Limits
from tests.need import need
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "tests.pipelines.hostile"
Original = Callable[..., Path]


@pytest.fixture
def original(tmp_path: Path) -> Original:
    def write(content: str, name: str = "original.txt") -> Path:
        path = tmp_path / name
        path.write_text(content, "utf-8")
        return path

    return write


@pytest.fixture
def hostile() -> Iterator[ExtractionPool]:
    pool = ExtractionPool(Limits(wall_seconds=30), package=HOSTILE)
    yield pool
    pool.close()


def test_a_hostile_parser_is_denied_everything(hostile: ExtractionPool, original: Original) -> None:  # S-058
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = hostile.extract(original(f"look {listener.getsockname()[1]}"), "look.txt")
    said = json.loads(found.extracted.text)
    health = hostile.health()
    assert set(said.pop("environment").removeprefix("did: ").split(",")) <= {
        "LANG",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONPATH",
    }
    uid = said.pop("uid")
    assert uid == f"did: {os.getuid()}" if os.getuid() else uid != "did: 0"
    if "no files" not in health:  # an old kernel: what the uid cannot keep from it
        for deed in ("read", "list", "kill"):
            said.pop(deed)
    if "no network" not in health:  # another processor: the filter does not know its system calls
        for deed in ("connect", "datagram", "second socket call"):
            said.pop(deed)
    else:  # by the filter, not for want of a kernel that knows such calls
        assert said["second socket call"] == "refused: Permission denied"
    assert {deed: answer for deed, answer in said.items() if not answer.startswith("refused")} == {}


def test_unconfined_the_same_parser_does_it_all(original: Original) -> None:  # the seeded bug
    program = (
        "import io, sys; from tests.pipelines.hostile.misbehave import MISBEHAVE\n"
        "print(MISBEHAVE.read(io.BytesIO(sys.argv[1].encode()), 'a').text, flush=True)"
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        deed = f"look {listener.getsockname()[1]}"
        sacrificed = ["sh", "-c", '"$@"; :', "sh", sys.executable, "-c", program, deed]  # it kills its parent
        said = subprocess.run(sacrificed, cwd=ROOT, capture_output=True, text=True, timeout=60).stdout
    did = {name for name, answer in json.loads(said.splitlines()[0]).items() if answer.startswith("did")}
    assert did >= {"uid", "environment", "read", "list", "write", "connect", "datagram", "fork", "kill"}


def test_started_as_root_it_is_nobody(hostile: ExtractionPool, original: Original) -> None:
    need("root")
    assert hostile.health().startswith("no child has run yet")
    hostile.extract(original("well"), "well.txt")
    assert "user nobody" in hostile.health()


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


def _busy(supervisors: set[int]) -> bool:
    """Whether one of them has a task."""
    return any(Path(f"/proc/{one}/task/{one}/children").read_text("utf-8").strip() for one in supervisors)


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
