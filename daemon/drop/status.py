"""STATUS.md: what became of the last dropped files, what waits for what. For people; nothing else reads it back."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from daemon.drop.filing import put_in_place
from daemon.drop.intake import Line
from daemon.drop.names import STATUS, shown, twins
from daemon.drop.settle import Candidate

_LINES: Final = 20
_PAUSE: Final = 2.0  # seconds between two writes
_RECENT: Final = "## Last files\n"
_HEAD: Final = "# Drop folder\n"
_TEMPORARY: Final = ".STATUS.md.nx-tmp"


class StatusFile:
    """One thread owns it: the drop folder's."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._recent: deque[str] = deque(_earlier_lines(root / STATUS), maxlen=_LINES)
        self._written: str | None = None
        self._not_before = 0.0

    def add(self, line: Line) -> None:
        """Notes what happened to one file; the oldest line goes."""
        when = line.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        self._recent.appendleft(f"- {when} {_quoted(line.name)} {_plain(line.what)} → {_quoted(line.place)}")

    def write(self, waiting: Iterable[Candidate], troubles: Iterable[str], now: float) -> float | None:
        """Writes if anything changed, at most every two seconds of ``now`` (monotonic); answers when to call again.

        A folder that cannot be written changes nothing for the files: the next call tries again.
        """
        text = self._text(waiting, troubles)
        if text == self._written:
            return None
        if now < self._not_before:
            return self._not_before
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

    def _text(self, waiting: Iterable[Candidate], troubles: Iterable[str]) -> str:
        parts = [
            _HEAD,
            "Put files here. narthex moves each one away once it is safe. This page is written anew.\n",
        ]
        lines = [f"- {trouble}" for trouble in troubles]
        lines += [f"- {_quoted('/'.join(c.parts))} waiting: {_plain(c.why)}{_tried(c.tries)}" for c in waiting]
        if lines:
            parts.append("## Waiting\n\n" + "\n".join(lines[:200]) + "\n")
        parts.append(_RECENT + "\n" + "\n".join(self._recent or ["- none yet"]) + "\n")
        return "\n".join(parts)


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


def _tried(tries: int) -> str:
    return f" ({tries} tries)" if tries > 1 else " (1 try)" if tries else ""
