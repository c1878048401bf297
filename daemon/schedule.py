"""Runs each job once a period, whatever starts, stops or sleeps meanwhile; the row (job, slot) decides, not the timer.

APScheduler only rings: it keeps nothing. At every start each job is rung once, which is the catch-up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

from apscheduler.events import EVENT_JOB_ERROR, JobExecutionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger

from api.ports import Check
from pipelines.model.errors import Broken, Conflict, NarthexError
from pipelines.model.identity import Clock
from pipelines.store import runs
from pipelines.store.database import Database


class Period(Enum):
    """How often a job runs; the value is the format of its slot, in UTC."""

    HOURLY = "%Y-%m-%dT%H"
    DAILY = "%Y-%m-%d"

    def slot(self, moment: datetime) -> str:
        """The period that ``moment`` lies in; slots sort by time."""
        return moment.astimezone(UTC).strftime(self.value)


@dataclass(frozen=True, slots=True)
class Job:
    """A name that stays the same for ever, and what to do."""

    name: str
    period: Period
    run: Callable[[], object]


class Schedule:
    """``start`` and ``stop`` once each. Several on one database share the work: each slot is one node's."""

    def __init__(
        self, database: Database, clock: Clock, jobs: Sequence[Job], on_broken: Callable[[BaseException], None]
    ) -> None:
        self._database = database
        self._clock = clock
        self._jobs = jobs
        self._on_broken = on_broken
        # one thread: two jobs never run side by side
        self._scheduler = BackgroundScheduler(timezone=UTC, executors={"default": ThreadPoolExecutor(1)})

    def start(self) -> None:
        """Rings every job now and then at the start of each period."""
        self._scheduler.add_listener(self._failed, EVENT_JOB_ERROR)
        for job in self._jobs:
            self._scheduler.add_job(
                self.run,
                _trigger(job.period),
                args=(job,),
                id=job.name,
                next_run_time=self._clock(),
                coalesce=True,
                max_instances=1,
                misfire_grace_time=None,  # late is better than never
            )
        self._scheduler.start()

    def stop(self) -> None:
        """Returns when the job that runs has ended."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)

    def run(self, job: Job) -> bool:
        """Does the job unless its slot was taken; whether it did. A passing fault is noted; the next slot tries again.

        Raises ``Broken`` and whatever is no error of narthex.
        """
        slot = job.period.slot(self._clock())
        if not self._begin(job, slot):
            return False
        problem = ""
        try:
            job.run()
        except Broken as error:
            self._finish(job, slot, error.message)
            raise
        except NarthexError as error:
            problem = error.message
        self._finish(job, slot, problem)
        return True

    def _begin(self, job: Job, slot: str) -> bool:
        try:
            return self._database.write(lambda session: runs.begin_run(session, job.name, slot, self._clock()))
        except Conflict:  # another node committed the row at the same moment
            return False

    def check(self) -> Check:
        """The readiness check."""
        return Check(self._scheduler.running, "running" if self._scheduler.running else "the schedule does not run")

    def _finish(self, job: Job, slot: str, problem: str) -> None:
        self._database.write(lambda session: runs.finish_run(session, job.name, slot, self._clock(), problem))

    def _failed(self, event: JobExecutionEvent) -> None:
        self._on_broken(event.exception)


def _trigger(period: Period) -> CronTrigger:
    # a minute after the turn: a clock that is set back a little at the turn must not name the old slot again
    hour = "*" if period is Period.HOURLY else "3"
    return CronTrigger(hour=hour, minute="1", timezone=UTC)
