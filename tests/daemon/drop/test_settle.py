"""When a file counts as finished, told by times that the test makes."""

from __future__ import annotations

import stat
from dataclasses import replace

from daemon.drop.probe import Signature
from daemon.drop.settle import Candidate, SettlingTable, Verdict


def seen(size: int = 5, changed: int = 1) -> Signature:
    """A regular file."""
    return Signature(1, 2, size, changed, changed, stat.S_IFREG | 0o600, 1)


def only(table: SettlingTable, now: float) -> Candidate:
    """The one candidate that is due."""
    (candidate,) = table.due(now)
    return candidate


def test_a_file_is_ready_when_it_did_not_change_for_the_settle_time() -> None:
    table = SettlingTable(2.0)
    table.listed(("a",), 0.0)
    assert table.judge(only(table, 0.0), seen(), 0.0) is Verdict.WAIT
    assert table.due(1.9) == []
    assert table.judge(only(table, 2.0), seen(changed=2), 2.0) is Verdict.WAIT  # written meanwhile
    assert table.judge(only(table, 4.0), seen(changed=2), 4.0) is Verdict.READY
    table.listed(("a",), 4.1)
    assert table.due(100.0) == []  # claimed: neither events nor listings bring it up again


def test_a_hint_while_it_is_taken_is_the_next_files_arrival() -> None:
    table = SettlingTable(0.0)
    table.hint(("a",), 0.0)
    candidate = only(table, 0.0)
    table.judge(candidate, seen(), 0.0)
    assert table.judge(only(table, 0.0), seen(), 0.0) is Verdict.READY
    table.hint(("a",), 0.5)
    table.forget(candidate, 1.0)
    assert [one.parts for one in table.due(1.0)] == [("a",)]


def test_an_empty_file_waits_and_a_change_brings_it_up_at_once() -> None:  # B-W01 B-W02
    table = SettlingTable(1.0)
    table.listed(("a",), 0.0)
    table.judge(only(table, 0.0), seen(0), 0.0)
    table.judge(only(table, 1.0), seen(0), 1.0)
    assert table.waiting() == []
    assert table.next_look() == 11.0
    table.judge(only(table, 11.0), seen(0), 11.0)
    assert [candidate.why for candidate in table.waiting()] == ["empty"]
    table.listed(("a",), 12.0)
    assert table.due(13.0) == []
    table.hint(("a",), 12.0)
    assert table.judge(only(table, 13.0), seen(3, 2), 13.0) is Verdict.WAIT
    assert table.waiting() == []
    assert table.judge(only(table, 14.0), seen(3, 2), 14.0) is Verdict.READY


def test_pauses_after_faults_grow_and_end_with_a_change() -> None:  # B-W05
    table = SettlingTable(2.0)
    table.listed(("a",), 0.0)
    now, pauses = 0.0, []
    table.judge(only(table, now), seen(), now)
    for _ in range(6):
        now = table.next_look() or 0.0
        candidate = only(table, now)
        assert table.judge(candidate, seen(), now) is Verdict.READY
        table.try_later(candidate, "busy", now)
        pauses.append((table.next_look() or 0.0) - now)
    assert pauses == [5.0, 20.0, 80.0, 300.0, 300.0, 300.0]
    assert (table.waiting()[0].why, table.waiting()[0].tries) == ("busy", 6)


def test_what_is_touched_for_ever_is_taken_some_time() -> None:  # S-052
    table = SettlingTable(1.0)
    table.listed(("a",), 0.0)
    now, verdict = 0.0, Verdict.WAIT
    while verdict is Verdict.WAIT and now < 60.0:
        now = table.next_look() or 0.0
        verdict = table.judge(only(table, now), seen(changed=int(now * 10) + 1), now)  # new times at every look
    assert verdict is Verdict.READY
    assert 9.0 <= now <= 13.0


def test_what_goes_on_growing_is_waited_for() -> None:  # S-047
    table = SettlingTable(1.0)
    table.listed(("a",), 0.0)
    for size in range(1, 100):
        now = table.next_look() or 0.0
        assert table.judge(only(table, now), seen(size, size), now) is Verdict.WAIT


def test_other_permissions_are_no_news() -> None:  # S-052: attribute-only events
    table = SettlingTable(1.0)
    table.listed(("a",), 0.0)
    before = seen()
    table.judge(only(table, 0.0), before, 0.0)
    after = replace(before, mode=stat.S_IFREG | 0o644, moved_ns=99)
    assert table.judge(only(table, 1.0), after, 1.0) is Verdict.READY


def test_what_is_gone_or_a_folder_is_forgotten() -> None:
    table = SettlingTable(1.0)
    for there in (None, Signature(1, 2, 4096, 1, 1, stat.S_IFDIR | 0o700, 2)):
        table.listed(("a",), 0.0)
        assert table.judge(only(table, 0.0), there, 0.0) is Verdict.GONE
        assert len(table) == 0
