"""Puts one narthex together: opens what it lives on, starts its threads, and takes all of it down in the right order.

The only place that makes a clock and chance. Implements what the surfaces ask of the process (``api.ports``).
"""

from __future__ import annotations

import logging
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from api.codes import typed_part
from api.ports import Check, Measures, Setting, login_link
from daemon import vitals
from daemon.drop.habits import DropMode, Habits
from daemon.drop.local_queue import QueuedFile, QueuedLink, QueuedText
from daemon.drop_folder import DropFolder
from daemon.schedule import Job, Period, Schedule
from daemon.settings import Configuration, settings_table
from daemon.terminal import say, version
from daemon.vault_watcher import VaultWatcher
from daemon.worker import Worker
from pipelines import capture, process, promote, upkeep, vault_edits
from pipelines.capture import Captured
from pipelines.index.refresh import catch_up
from pipelines.index.search_index import SearchIndex
from pipelines.isolate import ExtractionPool, Limits
from pipelines.model.actor import Actor
from pipelines.model.errors import Transient
from pipelines.model.identity import Ids
from pipelines.premises import Premises
from pipelines.store.database import open_database

_ROOM: Final = 256 * 1024 * 1024  # bytes of free disk below which the readiness check complains
_STOP_SECONDS: Final = 3.0
_witnessed = logging.getLogger("narthex.witness")
_log = logging.getLogger("narthex.daemon")


def wall_clock() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


class Daemon:
    """One running narthex; the caller holds its lock. ``open``, ``start`` and ``stop`` once each, in this order."""

    def __init__(self, configuration: Configuration, port: int, broken: Callable[[BaseException], None]) -> None:
        self._configuration = configuration
        self._port = port
        self._broken = broken
        self._started_at = wall_clock()
        self.premises = open_premises(configuration, broken)
        settings = configuration.values
        self._drop = _drop_folder(self.premises, configuration, self._wake_workers)
        self._vault = VaultWatcher(self.premises.home.vault, self._reconcile_vault)
        self._workers = [
            Worker(self.premises, broken, self._drop.reconcile_soon, f"worker-{number}")
            for number in range(settings.extraction_workers)
        ]
        self._schedule = Schedule(self.premises.database, wall_clock, self._jobs(), broken)

    def recover(self) -> None:
        """Finishes what a crash interrupted, before anything new begins. A vault that is not there is waited for."""
        if self.premises.database.dialect == "sqlite":  # nobody else can hold a lease: this process has the lock
            process.recover(self.premises)
        catch_up(self.premises.database, self.premises.index)
        try:
            self._recover_vault()
        except Transient as error:
            say(f"narthexd: {error.message}; what was approved is written when it is back. {error.hint}")

    def start(self) -> None:
        """Starts every thread; they find by themselves what there is to do."""
        for worker in self._workers:
            worker.start()
        self._drop.start()
        self._vault.start()
        self._schedule.start()

    def stop(self) -> None:
        """Ends every thread after its running step and closes the store. What was not finished is begun anew later."""
        self._schedule.stop()
        self._drop.stop()
        self._vault.stop()
        for worker in self._workers:
            worker.stop(0)
        if not all([worker.stop(_STOP_SECONDS) for worker in self._workers]):
            self.premises.extraction.close()  # the step fails at once, and its lease runs out
            for worker in self._workers:
                worker.stop(_STOP_SECONDS)
        self.premises.extraction.close()
        self.premises.index.close()
        self.premises.database.close()

    def greet(self, link: str) -> None:
        """Prints what a newcomer needs, once, when both doors answer; ``link`` opens one owner session."""
        home = self.premises.home
        say(f"narthex {self.version} is running.")
        say(f"  Drop files into  {home.drop}")
        say(f"  Vault            {home.vault}")
        say(f"  Address          {self.address}")
        self.announce_code(link.rpartition("=")[2])

    # what api.ports.DaemonPort asks for

    def wake(self) -> None:
        """Work may be due, and the file of an item that was released or discarded may lie in the wrong folder."""
        self._wake_workers()
        self._drop.reconcile_soon()

    def announce_code(self, code: str) -> None:
        """Prints a one-time code and the link that carries it on the terminal."""
        minutes = self._configuration.values.code_lifetime_minutes
        say(f"  Review           {login_link(self._port, code)}")
        use = f"works once, for {minutes:g} minutes; 'narthex login' prints another"
        say(f"  One-time code    {typed_part(code)}  ({use})")

    def broken(self, error: Exception) -> None:
        """An invariant failed: the process ends."""
        self._broken(error)

    def checks(self) -> Mapping[str, Check]:
        """Every part by name."""
        return {
            "database": self._check_database(),
            "drop": self._drop.check(),
            "vault": self._vault.check(),
            **{worker.name: worker.check() for worker in self._workers},
            "schedule": self._schedule.check(),
            "extraction": Check(True, self.premises.extraction.health()),
            "disk": _check_disk(self.premises.home.root),
        }

    def measures(self) -> Measures:
        """What there is to do, now."""
        return vitals.measures(self.premises.home.drop, self._workers)

    def ailing(self) -> str:
        """What only a new process can mend, for the watchdog."""
        return vitals.ailing(self.premises.database, self._workers)

    def settings_table(self) -> Sequence[Setting]:
        """All settings in their order."""
        return settings_table(self._configuration)

    @property
    def started_at(self) -> datetime:
        """When the process began."""
        return self._started_at

    @property
    def address(self) -> str:
        """Where programs reach the API over TCP."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def version(self) -> str:
        """Of the distribution."""
        return version()

    def _wake_workers(self) -> None:
        for worker in self._workers:
            worker.wake()

    def _check_database(self) -> Check:
        try:
            with self.premises.database.read() as session:
                session.connection()
        except Transient as error:
            return Check(False, error.message)
        return Check(True, self.premises.database.dialect)

    def _recover_vault(self) -> None:
        vault_edits.claim_vault(self.premises)
        report = promote.recover(self.premises)
        if report.projected or report.swept:
            counts = {"projected": len(report.projected), "swept": report.swept}
            _log.info("finished what was interrupted", extra=counts)

    def _reconcile_vault(self) -> str:
        self._recover_vault()  # also what a full or absent disk kept from being written
        refused = vault_edits.reconcile(self.premises).refused
        return "; ".join(f"{path}: {why}" for path, why in refused.items())

    def _jobs(self) -> Sequence[Job]:
        return (
            Job("witness", Period.HOURLY, self._witness),
            Job("vault_rescan", Period.HOURLY, self._vault.rescan),
            Job("sweep", Period.DAILY, partial(upkeep.sweep, self.premises)),
        )

    def _witness(self) -> None:
        """Writes the head of the event chain where nobody who can change the database can change it: the journal."""
        seq, head = upkeep.witness(self.premises)
        _witnessed.setLevel(logging.INFO)  # at any log level
        _witnessed.info("head of the event chain", extra={"seq": seq, "hash": head})


def open_premises(configuration: Configuration, broken: Callable[[Exception], None]) -> Premises:
    """Opens the store of a home whose lock is held, with the real clock and real chance."""
    settings, home = configuration.values, configuration.home
    url = settings.database_url
    policy = settings.policy()
    return Premises(
        home=home,
        database=open_database(home.database if url is None else url.get_secret_value(), broken),
        index=SearchIndex(home.index),
        extraction=ExtractionPool(Limits(text_bytes=policy.max_text_bytes), settings.extraction_workers),
        clock=wall_clock,
        ids=Ids(wall_clock, secrets.randbits),
        policy=policy,
    )


def _drop_folder(premises: Premises, configuration: Configuration, captured: Callable[[], None]) -> DropFolder:
    settings = configuration.values
    return DropFolder(
        premises.home.drop,
        premises.database,
        premises.policy,
        premises.clock,
        capture_file=partial(capture.capture_file, premises),
        capture_queued=partial(capture_queued, premises),
        note_filed=partial(capture.note_filed, premises),
        captured=captured,
        habits=Habits(
            settle_seconds=settings.settle_seconds,
            rescan_seconds=settings.rescan_seconds,
            mode=DropMode(settings.drop_mode),
            ignore=settings.drop_ignore,
            kept_at=premises.home.state / "cache" / "drop-kept.json",
        ),
    )


def capture_queued(
    premises: Premises, entry: QueuedText | QueuedLink | QueuedFile, source_key: str, bytes_at: Path, actor: Actor
) -> Captured:
    """Captures what the command line left in the queue, as it would have been captured over the socket."""
    note, tags, scope = entry.note or "", entry.tags, entry.scope or None
    if isinstance(entry, QueuedText):
        title = entry.title or ""
        return capture.capture_text(
            premises, entry.text, actor, title=title, note=note, tags=tags, scope=scope, source_key=source_key
        )
    if isinstance(entry, QueuedLink):
        title = entry.title or ""
        return capture.capture_link(
            premises, entry.url, actor, title=title, note=note, tags=tags, scope=scope, source_key=source_key
        )
    return capture.capture_file(
        premises, bytes_at, actor, name=entry.name, note=note, tags=tags, scope=scope, source_key=source_key
    )


def _check_disk(root: Path) -> Check:
    try:
        free = shutil.disk_usage(root).free
    except OSError as error:
        return Check(False, f"the disk does not answer: {error.strerror}")
    return Check(free >= _ROOM, f"{free // 2**20} MiB free")
