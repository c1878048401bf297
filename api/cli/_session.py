"""What a verb is given: the home, its daemon, the person, and the two streams. Answers go out here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, TextIO

from api.cli._documents import json_text
from api.cli._homes import Bearers, HomesRegistry, config_folder, locate_home
from api.cli._visible import one_line, visible
from api.client import Client, Json
from pipelines.model.errors import Refused
from pipelines.model.values import Home

if TYPE_CHECKING:
    from api.cli._agents import ProcessTable
    from api.cli._terminal import Terminal


class Usage(Refused):
    """The command line itself is wrong or lacks something that nobody can be asked for."""

    code = "usage"
    title = "That command cannot be followed"


@dataclass(frozen=True)
class Surroundings:
    """Everything that a command takes from outside, so that a test can bring its own."""

    variables: Mapping[str, str]
    output: TextIO
    notes: TextIO
    terminal: Terminal
    processes: ProcessTable
    clock: Callable[[], datetime]
    new_key: Callable[[], str]


@dataclass(frozen=True)
class Session:
    """One run of one verb. Standard output carries what was asked for, standard error what else there is to know."""

    around: Surroundings
    home_option: str = ""
    token_option: str = ""
    as_json: bool = False
    quiet: bool = False

    @cached_property
    def registry(self) -> HomesRegistry:
        """The homes that this user has named."""
        return HomesRegistry(config_folder(self.around.variables))

    @cached_property
    def home(self) -> Home:
        """The narthex that this command is about. Raises ``Invalid`` when the registry cannot be read."""
        return locate_home(self.home_option, self.around.variables, self.registry)

    @property
    def starting(self) -> str:
        """What to type to start the daemon of the home that was meant."""
        return f"narthexd --home {self.home_option}" if self.home_option else "narthexd"

    @cached_property
    def bearers(self) -> Bearers:
        """The owner sessions that ``narthex login`` stored."""
        return Bearers(config_folder(self.around.variables))

    @property
    def stated_bearer(self) -> str:
        """The credential that was named for this run, else empty."""
        return self.token_option or self.around.variables.get("NARTHEX_TOKEN", "")

    @cached_property
    def client(self) -> Client:
        """The daemon of the home, with the credential named for this run or else the stored one."""
        return Client(self.home, self.around.variables, self.stated_bearer or self.bearers.of(self.home))

    def answered(self, document: Json, ids: Iterable[str] = ()) -> bool:
        """Prints the document or the ids when those were asked for; else the verb goes on and prints for a person."""
        if self.as_json:
            print(json_text(document, self.around.output.encoding), file=self.around.output)
        elif self.quiet:
            for identifier in ids:
                self.line(identifier)
        return self.as_json or self.quiet

    def line(self, text: str = "") -> None:
        """One line for a person on standard output."""
        print(one_line(text), file=self.around.output)

    def text(self, text: str, margin: str = "") -> None:
        """Several lines for a person, each behind ``margin``, so that they cannot pass for lines of ours."""
        for line in visible(text).split("\n"):
            print(f"{margin}{line}", file=self.around.output)

    def hint(self, text: str) -> None:
        """A line on standard error."""
        print(one_line(text), file=self.around.notes, flush=True)

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as their longest cell; the last one is not padded."""
        shown = [[one_line(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        for row in shown:
            cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
            print("  ".join([*cells, row[-1]]).rstrip(), file=self.around.output)
