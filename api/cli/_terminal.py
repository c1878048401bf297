"""The person at the terminal: whether there is one, what is shown to them and what they answer."""

from __future__ import annotations

import os
import sys
from typing import Final, Protocol

from api.cli._session import Usage
from api.cli._visible import visible


class Terminal(Protocol):
    """Where questions are asked; an argument of every verb, so that a test can answer."""

    def interactive(self) -> bool:
        """Whether a person can both read here and answer."""

    def show(self, text: str) -> None:
        """Puts text before the person; what it says to the terminal itself is made visible first."""

    def ask(self, question: str) -> str:
        """One typed line without its end, empty at the end of input."""


_REAL_ONLY: Final = "a question needs a terminal"


class RealTerminal:
    """Standard input and standard error; standard output stays free for what the verb answers."""

    def interactive(self) -> bool:
        """Both ends are a terminal, and it is one that can be read and not only pretended by a redirect."""
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    def show(self, text: str) -> None:
        """Writes at once, so that what is asked next stands below it."""
        sys.stderr.write(visible(text))
        sys.stderr.flush()

    def ask(self, question: str) -> str:
        """Drops what was typed before the question was on the screen: nobody agrees to what they have not seen."""
        if not self.interactive():
            raise Usage(_REAL_ONLY)
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        self.show(question)
        line = os.fsdecode(sys.stdin.buffer.readline())
        if not line.endswith("\n"):  # the end of input leaves the cursor behind the question
            self.show("\n")
        return line.rstrip("\r\n")


def confirmed(terminal: Terminal, question: str) -> bool:
    """Whether the person typed yes; anything else is no."""
    return terminal.ask(f"{question} [y/N] ").strip().lower() in {"y", "yes"}
