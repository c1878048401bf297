"""STATUS.md: what became of the last dropped files, what waits for what. For people; nothing else reads it back."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from daemon.drop.filing import put_in_place
from daemon.drop.intake import Line
from daemon.drop.names import STATUS, shown, twins
from daemon.drop.settle import Candidate
from pipelines.model.identity import Clock

_LINES: Final = 20
_PAUSE: Final = 2.0  # seconds between two writes
_RECENT: Final = "## Last files\n"
_HEAD: Final = "# Drop folder\n"
_TEMPORARY: Final = ".STATUS.md.nx-tmp"
MOVES: Final = "narthex moves each one away once it is safe."
KEEPS: Final = "narthex takes a copy of each one and leaves it where it is."


class StatusFile:
    """One thread owns it: the drop folder's."""

    def __init__(self, root: Path, clock: Clock) -> None:
        self._root = root
        self._clock = clock
        self._recent: deque[str] = deque(maxlen=_LINES)
        self._written: str | None = None
        self._not_before = 0.0
        self.promise = MOVES
        """What becomes of a dropped file, for the head of the page."""

    def read_back(self) -> None:
        """The folder may be another one than before: the lines of its own page stand."""
        self._recent = deque(_earlier_lines(self._root / STATUS), maxlen=_LINES)
        self._written = None

    def add(self, line: Line) -> None:
        """Notes what happened to one file; the oldest line goes."""
        when = line.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        self._recent.appendleft(f"- {when} {_quoted(line.name)} {_plain(line.what)} → {_quoted(line.place)}")

    def write(self, waiting: Iterable[Candidate], troubles: Iterable[str], now: float) -> float | None:
        """Writes if anything changed, at most every two seconds of ``now`` (monotonic); answers when to call again.

        ``troubles`` are whole lines. A folder that cannot be written changes nothing for the files: the next call tries
        again.
        """
        if now < self._not_before:
            return self._not_before  # not even put together: it is asked for after every single file
        text = self._text(waiting, troubles, now)
        if text == self._written:
            return None
        self._not_before = now + _PAUSE
        with suppress(OSError):
            temporary = self._root / _TEMPORARY
            temporary.write_text(text, "utf-8")
            if put_in_place(self._root, _TEMPORARY, STATUS) is not None:
                self._clear(temporary)
            self._written = text
            return None
        return self._not_before

    def _clear(self, old: Path) -> None:
        """Removes the page before this one. If it is none, somebody dropped a file of that name: it is taken in."""
        with old.open("rb") as file:
            ours = file.read(len(_HEAD)) == _HEAD.encode()
        if ours:
            old.unlink()
            return
        for name in twins(STATUS):
            if name != STATUS and not (self._root / name).exists():
                old.rename(self._root / name)
                return

    def _text(self, waiting: Iterable[Candidate], troubles: Iterable[str], now: float) -> str:
        parts = [_HEAD, f"Put files here. {self.promise} This page is written anew.\n"]
        lines = [f"- {trouble}" for trouble in troubles]
        for one in waiting:
            lines.append(f"- {_quoted('/'.join(one.parts))} waiting: {_plain(one.why)}{self._tried(one, now)}")
        if lines:
            parts.append("## Waiting\n\n" + "\n".join(lines[:200]) + "\n")
        parts.append(_RECENT + "\n" + "\n".join(self._recent or ["- none yet"]) + "\n")
        return "\n".join(parts)

    def _tried(self, waiting: Candidate, now: float) -> str:
        """How often it was tried, and when next: a time of day, so that the page need not be written every second."""
        if not waiting.tries:
            return ""
        tries = "1 try" if waiting.tries == 1 else f"{waiting.tries} tries"
        if waiting.claimed or waiting.look_at == float("inf"):
            return f" ({tries}, now once more)"
        if waiting.next_try is None:
            waiting.next_try = self._clock() + timedelta(seconds=waiting.look_at - now)
        return f" ({tries}, next {waiting.next_try.astimezone():%H:%M:%S})"


def _earlier_lines(path: Path) -> list[str]:
    """The lines that an earlier run left; whatever else stands in the file is not ours."""
    try:
        text = path.read_bytes()[:100_000].decode("utf-8", "replace")
    except OSError:
        return []
    _, _, recent = text.partition(_RECENT)
    return [line[:1000] for line in recent.splitlines() if re.match(r"- \d{4}-\d\d-\d\d ", line)][:_LINES]


def _quoted(name: str) -> str:
    return "`" + shown(name).replace("`", "'") + "`"


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[<>\[\]`|]", " ", text).split())[:300]
