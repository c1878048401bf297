"""Each job runs once a period, whatever the clock, a restart or a second scheduler does."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest

from daemon.schedule import Job, Period, Schedule
from pipelines.model.errors import Broken, Transient
from pipelines.model.records import ScheduledRun
from pipelines.store import runs
from pipelines.store.database import Database
from tests.clock import SettableClock
from tests.waiting import until


def ignore(error: BaseException) -> None:
    """For tests in which nothing breaks."""
    raise AssertionError from error


def rows(database: Database) -> list[ScheduledRun]:
    """All runs, oldest slot first."""
    with database.read() as session:
        return sorted(runs.list_runs(session, 100), key=lambda run: (run.job, run.slot))


def test_a_slot_runs_once_and_the_next_one_again(database: Database, clock: SettableClock) -> None:  # S-071
    done: list[str] = []
    hourly = Job("witness", Period.HOURLY, lambda: done.append("hour"))
    daily = Job("sweep", Period.DAILY, lambda: done.append("day"))
    schedule = Schedule(database, clock, (hourly, daily), ignore)
    for _ in range(3):
        schedule.run(hourly)
        schedule.run(daily)
    assert done == ["hour", "day"]
    clock.advance(hours=1)
    assert schedule.run(hourly)
    assert not schedule.run(daily)
    clock.advance(days=1)
    assert schedule.run(daily)
    assert [(run.job, run.slot) for run in rows(database)] == [
        ("sweep", "2026-03-02"), ("sweep", "2026-03-03"), ("witness", "2026-03-02T12"), ("witness", "2026-03-02T13"),
    ]  # fmt: skip
    assert all(run.finished_at is not None and not run.problem for run in rows(database))


def test_a_clock_that_goes_back_repeats_nothing(database: Database, clock: SettableClock) -> None:  # S-071
    done: list[int] = []
    job = Job("sweep", Period.DAILY, lambda: done.append(1))
    schedule = Schedule(database, clock, (job,), ignore)
    for days in (0, 1, -1, -1, 1):
        clock.advance(days=days)
        schedule.run(job)
    assert len(done) == 3  # today, tomorrow, and the day before that was never run


def test_slots_are_utc_and_sort_by_time() -> None:
    east = timezone(timedelta(hours=9))
    assert Period.DAILY.slot(datetime(2026, 3, 2, 1, 0, tzinfo=east)) == "2026-03-01"
    moments = [datetime(2026, 12, 31, 22, tzinfo=UTC) + timedelta(hours=hours) for hours in range(5)]
    slots = [Period.HOURLY.slot(moment) for moment in moments]
    assert slots == sorted(set(slots))


def test_starting_catches_up_and_starting_again_does_not_repeat(database: Database, clock: SettableClock) -> None:
    clock.set(datetime.now(UTC))
    done: list[int] = []
    job = Job("sweep", Period.DAILY, lambda: done.append(1))
    for _ in range(2):  # the last slot was missed; then a restart
        schedule = Schedule(database, clock, (job,), ignore)
        schedule.start()
        until(lambda: rows(database) and rows(database)[0].finished_at)
        assert schedule.check().ok
        schedule.stop()
    assert done == [1]


def test_two_schedulers_share_one_slot(database: Database, clock: SettableClock) -> None:  # S-071
    done: list[int] = []
    job = Job("sweep", Period.DAILY, lambda: done.append(1))
    both = [Schedule(database, clock, (job,), ignore) for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: both[number % 2].run(job), range(8)))
    assert sum(answers) == len(done) == 1


def test_jobs_do_not_overlap(database: Database, clock: SettableClock) -> None:
    clock.set(datetime.now(UTC))
    at_work, most, lock = 0, 0, threading.Lock()
    release = threading.Event()

    def work() -> None:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        release.wait(0.2)
        with lock:
            at_work -= 1

    schedule = Schedule(database, clock, [Job(f"job{n}", Period.DAILY, work) for n in range(3)], ignore)
    schedule.start()
    until(lambda: len(rows(database)) == 3 and all(run.finished_at for run in rows(database)))
    schedule.stop()
    assert most == 1


def test_a_passing_fault_is_noted_and_the_next_slot_tries_again(database: Database, clock: SettableClock) -> None:
    def fail() -> None:
        raise Transient("the disk is busy")

    job = Job("sweep", Period.DAILY, fail)
    assert Schedule(database, clock, (job,), ignore).run(job)
    assert rows(database)[0].problem == "the disk is busy"


def test_a_broken_invariant_ends_the_process(database: Database, clock: SettableClock) -> None:
    clock.set(datetime.now(UTC))
    told: list[BaseException] = []

    def fail() -> None:
        raise Broken("the chain is damaged")

    schedule = Schedule(database, clock, (Job("witness", Period.HOURLY, fail),), told.append)
    schedule.start()
    until(lambda: told)
    schedule.stop()
    assert isinstance(told[0], Broken)
    assert rows(database)[0].problem == "the chain is damaged"
    clock.advance(hours=1)
    with pytest.raises(Broken):
        schedule.run(Job("witness", Period.HOURLY, fail))
