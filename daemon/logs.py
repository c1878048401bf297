"""Log lines on stderr, as JSON or, on a terminal, as plain text: what happened, never the content or the name of
anything captured."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final

from pipelines.model.unseen import shown

_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
_QUIET: Final = ("uvicorn.error", "apscheduler", "watchdog", "asyncio", "alembic", "sqlalchemy", "multipart")


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, what was passed as ``extra``, and a traceback's places."""

    def format(self, record: logging.LogRecord) -> str:
        """A line without a line break; an exception shows its type and where it came from, not the values it names."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _FIELDS}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = type(record.exc_info[1]).__name__
            line["where"] = _places(record.exc_info[1])
        return _written(line)


class PlainLines(logging.Formatter):
    """For a person at a terminal: the time of day, what is worth a warning, and the message; extras behind it."""

    def format(self, record: logging.LogRecord) -> str:
        """A line without a line break; as little of an exception as ``JsonLines`` shows."""
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        level = "" if record.levelno <= logging.INFO else f"{record.levelname.lower()}: "
        extras = [f"{key}={_written(value)}" for key, value in vars(record).items() if key not in _FIELDS]
        if record.exc_info and record.exc_info[1] is not None:
            extras.append(f"{type(record.exc_info[1]).__name__} at {' < '.join(_places(record.exc_info[1])[::-1])}")
        line = f"{at} {level}{record.getMessage()}" + (f"  ({', '.join(extras)})" if extras else "")
        return shown(line.replace("\n", " "))


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, default=lambda value: type(value).__name__)


def _places(error: BaseException) -> list[str]:
    places = []
    trace = error.__traceback__
    while trace is not None:
        places.append(f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}")
        trace = trace.tb_next
    return places


def start_logging(level: str) -> None:
    """Sends everything to stderr at ``level``; libraries speak from warnings upwards only.

    That a request was answered is worth a line at ``debug`` alone: it would push the code off the terminal.
    """
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(PlainLines() if sys.stderr.isatty() else JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [lines]
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    access = logging.getLogger("uvicorn.access")
    access.handlers.clear()
    access.propagate = False  # a path or a query can hold what a person searched for
