"""The power goes: what was acknowledged before is there afterwards, byte for byte. Root only: it mounts a disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.power import Disk, disk
from tests.crash.subject import Subject
from tests.need import need
from tests.waiting import until

CAPTURES = 12


@pytest.fixture
def powered(tmp_path: Path) -> Iterator[Disk]:
    """A small ext4 disk with its power on."""
    need("root")
    with disk(tmp_path) as made:
        yield made


def run_until_the_cut(powered: Disk, bug: str = "") -> Subject:
    """Captures, drops and approvals, then the cut, the end of the process and the power back on.

    Only what was acknowledged before the cut counts as promised: nothing is asked of narthex after it.
    """
    subject = Subject(powered.mount / "home")
    subject.armed(bug=bug)
    for number in range(1, CAPTURES):
        subject.capture(number)
    until(lambda: len(subject.pending()) == CAPTURES - 1, seconds=60)
    for row in subject.pending()[:4]:
        subject.approve(row)
    subject.drop(100)
    until(lambda: not (subject.home.drop / "dropped-100.md").exists(), seconds=60)
    powered.cut()
    subject.kill()
    powered.power_on()
    return subject


@pytest.mark.parametrize("cut", range(3))
def test_nothing_acknowledged_is_lost_by_a_power_cut(powered: Disk, cut: int) -> None:  # P1, S-064
    subject = run_until_the_cut(powered)
    try:
        assert subject.broken_promises() == [], f"cut {cut}"
    finally:
        subject.close()


def test_the_rig_catches_bytes_that_were_never_synced(powered: Disk) -> None:  # the seeded bug
    subject = run_until_the_cut(powered, bug="no-fsync")
    try:
        assert any("missing or torn" in wrong for wrong in subject.broken_promises())
    finally:
        subject.close()
