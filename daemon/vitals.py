"""How the threads of the process are: in figures for the metrics, in a word for the watchdog. Mends nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from api.ports import Measures
from daemon.drop.names import OUR_FOLDERS
from daemon.worker import Worker
from pipelines.model.errors import Transient
from pipelines.store.database import Database

_THREADS: Final = frozenset({"drop-folder", "vault-watcher", "APScheduler"})


def measures(drop: Path, workers: Sequence[Worker]) -> Measures:
    """What there is to do, now."""
    return Measures(_dropped(drop), len(workers), sum(worker.busy for worker in workers))


def ailing(database: Database, workers: Sequence[Worker]) -> str:
    """What only a new process can mend: a thread that is gone, a writer or a worker that hangs; else empty.

    Waits for as long as the writer does: to a watchdog, no answer is an answer.
    """
    gone = _THREADS - {thread.name for thread in threading.enumerate()}
    if gone:
        return f"the thread {min(gone)} is gone"
    hanging = [worker.name for worker in workers if worker.hangs()]
    if hanging:
        return f"{hanging[0]} hangs"
    with suppress(Transient):  # a database that is full or away is none the better for a new process
        database.write(lambda session: None)
    return ""


def _dropped(root: Path) -> int:
    """Files that lie where a person puts them; what we made ourselves and hidden files do not count."""
    count = 0
    for folder, folders, files in os.walk(root):
        ours = OUR_FOLDERS if Path(folder) == root else ()
        folders[:] = [name for name in folders if name not in ours and not name.startswith(".")]
        count += sum(not name.startswith(".") and name != "STATUS.md" for name in files)
    return count
