"""kill -9 at every named point between two durable steps, then a restart: nothing acknowledged is missing or torn."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.crash.invariants import violations
from tests.crash.subject import Subject, until_killed
from tests.crash.under_test import BETWEEN
from tests.end_to_end.narthexd import ROOT
from tests.waiting import until

_STEPS: Final = ("extracted", "normalized", "proposed")
REVISING: Final = {"project.compared"}  # there must be a file to replace: an adopted note
RETRACTING: Final = {"project.removed"}  # there must be a memory to take back


def points() -> list[str]:
    """Every name that the sources hand to ``failpoint.reach``, so that a new one is tested without being listed."""
    found: set[str] = set()
    for folder in ("pipelines", "daemon"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "reach":
                    found |= _names(node.args[0])
    return sorted(found)


def _names(argument: ast.expr) -> set[str]:
    if isinstance(argument, ast.Constant):
        return {str(argument.value)}
    assert isinstance(argument, ast.JoinedStr)
    before, _, after = argument.values
    assert isinstance(before, ast.Constant)
    assert isinstance(after, ast.Constant)
    return {f"{before.value!s}{step}{after.value!s}" for step in _STEPS}


@pytest.fixture
def subject(tmp_path: Path) -> Iterator[Subject]:
    """A home of its own; nothing is left running."""
    made = Subject(tmp_path / "home")
    yield made
    made.close()


def approve_first(subject: Subject) -> Callable[[], None]:
    """The owner approves the first pending proposal."""

    def act() -> None:
        subject.approve(subject.pending()[0])

    return act


POINTS = points()


def test_the_points_were_found() -> None:
    assert {"capture.original_synced", "capture.committed", "promote.committed", "project.renamed"} <= set(POINTS)
    assert len(POINTS) >= 18


@pytest.mark.parametrize("point", [p for p in POINTS if not p.startswith(("promote.", "project."))])
def test_capturing_survives_a_kill_at(subject: Subject, point: str) -> None:  # F-001, S-048, P2, P3
    subject.armed(kill_at=point, nth=2)  # the second time: one capture is acknowledged, one is under way
    acts = [
        partial(subject.drop, 1),
        partial(subject.capture, 2),
        partial(subject.drop, 3),
        partial(subject.capture, 4),
    ]
    until_killed(subject, lambda: subject.as_owner, *acts)
    assert subject.broken_promises() == []


@pytest.mark.parametrize(
    "point", [p for p in POINTS if p.startswith(("promote.", "project.")) and p not in REVISING | RETRACTING]
)
def test_promoting_survives_a_kill_at(subject: Subject, point: str) -> None:  # F-037, P2
    subject.armed(kill_at=point)
    subject.capture(1)
    subject.capture(2)
    until(lambda: len(subject.pending()) == 2, seconds=60)
    until_killed(subject, approve_first(subject))
    assert subject.broken_promises() == []
    # whatever the crash left of the first approval: both can be, or are, memories now, once each
    subject.unarmed()
    for row in subject.pending():
        subject.approve(row)
    assert subject.stop() == 0
    assert violations(subject.home, subject.promised) == []


def a_memory_and_its_file(subject: Subject) -> Path:
    """One approved memory; the process is stopped again."""
    subject.unarmed()
    subject.capture(1)
    until(subject.pending, seconds=60)
    subject.approve(subject.pending()[0])
    assert subject.stop() == 0
    (note,) = subject.home.vault.rglob("*.md")
    return note


@pytest.mark.parametrize("point", sorted(REVISING | {"project.renamed", "promote.file_written"}))
def test_replacing_a_file_survives_a_kill_at(subject: Subject, point: str) -> None:  # F-037, F-046
    a_memory_and_its_file(subject)
    (subject.home.vault / "found.md").write_text("A note that somebody put there.\n", "utf-8")
    subject.armed(kill_at=point)
    until(subject.pending, seconds=60)
    until_killed(subject, approve_first(subject))
    assert subject.broken_promises() == []


@pytest.mark.parametrize("point", sorted(RETRACTING | {"promote.committed", "promote.file_written"}))
def test_retracting_survives_a_kill_at(subject: Subject, point: str) -> None:  # F-037
    a_memory_and_its_file(subject).unlink()
    subject.armed(kill_at=point)
    until(subject.pending, seconds=60)
    until_killed(subject, approve_first(subject))
    assert subject.broken_promises() == []


def test_the_rig_catches_an_event_written_outside_the_transaction(subject: Subject) -> None:  # the seeded bug
    subject.armed(kill_at=BETWEEN, nth=4, bug="event-outside")
    until_killed(subject, lambda: subject.as_owner, *[partial(subject.capture, number) for number in range(1, 5)])
    assert any("without its event" in wrong for wrong in subject.broken_promises())
