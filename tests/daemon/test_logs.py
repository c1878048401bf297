"""Log lines are JSON, one a line, and an exception shows its places and never its words."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import pytest

from daemon.logs import JsonLines, PlainLines
from tests.house.source_tree import ROOT


def line(message: str, *arguments: object, error: BaseException | None = None, **extra: object) -> dict[str, object]:
    """What one log call writes."""
    caught = None if error is None else (type(error), error, error.__traceback__)
    record = logging.getLogger("x").makeRecord("x", logging.INFO, "f", 1, message, arguments, caught, extra=extra)
    written = JsonLines().format(record)
    assert "\n" not in written
    read = json.loads(written)
    assert isinstance(read, dict)
    return read


def test_a_line_holds_what_happened_and_what_was_passed() -> None:
    written = line("swept %d", 3, seq=7, strange=object())
    assert (written["message"], written["level"], written["seq"]) == ("swept 3", "info", 7)
    assert written["strange"] == "object"


def test_an_exception_shows_where_and_not_what() -> None:
    try:
        raise ValueError("the text of a captured page")
    except ValueError as error:
        written = line("stopped", error=error)
    assert written["error"] == "ValueError"
    assert str(written["where"]).startswith("['tests.daemon.test_logs:") or sys.version_info < (3, 11)
    assert "captured page" not in json.dumps(written)


def test_line_breaks_and_half_characters_stay_inside_the_line() -> None:
    assert line("two\nlines \udcff")["message"] == "two\nlines \udcff"


def test_on_a_terminal_a_line_is_plain_text_and_as_discreet() -> None:
    try:
        raise ValueError("the text of a captured page")
    except ValueError as error:
        caught = (ValueError, error, error.__traceback__)
    record = logging.getLogger("x").makeRecord(
        "x", logging.WARNING, "f", 1, "swept\n%s", ("\x1b[2J",), caught, extra={"seq": 7}
    )
    written = PlainLines().format(record)
    assert " warning: swept " in written
    assert "(seq=7, ValueError at tests.daemon.test_logs:" in written
    assert not {"\n", "\x1b", "{"} & set(written)
    assert "captured page" not in written


@pytest.mark.parametrize("level", ["debug", "info"])
def test_an_answered_request_is_worth_a_line_at_debug_alone(level: str) -> None:
    program = (
        f"from daemon.logs import start_logging; start_logging({level!r}); from api.guard import log; log.debug('x')"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert bool(done.stderr) == (level == "debug")
