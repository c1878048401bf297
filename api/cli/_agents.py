"""Whether a program that acts for itself started this command: names and marks in the process tree, never a proof.

A process of the same user cannot be kept from deciding with certainty; this makes it loud and hard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

_PROGRAMS: Final = frozenset(
    {
        "aider", "amp", "auggie", "claude", "claude-code", "cline", "codex", "copilot", "crush", "cursor-agent",
        "devin", "droid", "gemini", "goose", "goosed", "kilocode", "kiro-cli", "opencode", "openhands", "plandex",
        "qwen", "roo",
    }
)  # fmt: skip
_INTERPRETERS: Final = ("node", "bun", "deno", "python", "npx", "uv", "uvx")
_MARKS: Final = frozenset(
    {
        "AI_AGENT", "AMP_CURRENT_THREAD_ID", "AUGMENT_AGENT", "CLAUDECODE", "CLAUDE_CODE",
        "CLAUDE_CODE_ENTRYPOINT", "CLINE_ACTIVE", "CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED",
        "CODEX_THREAD_ID", "COPILOT_AGENT", "CURSOR_AGENT", "GEMINI_CLI", "GOOSE_TERMINAL", "OPENCODE",
        "OPENCODE_CLIENT", "QWEN_CODE",
    }
)  # fmt: skip
_LONGEST_TREE: Final = 256


@dataclass(frozen=True, slots=True)
class Process:
    """One ancestor: its command line, and the names (not the values) of its environment as far as they may be read."""

    pid: int
    name: str
    command: tuple[str, ...] = ()
    variables: frozenset[str] = frozenset()


class ProcessTable(Protocol):
    """Who started this process; an argument, so that a test can have other parents."""

    def lineage(self) -> Sequence[Process]:
        """This process first, then its parent, up to the first of the system."""


def agent_in(lineage: Iterable[Process]) -> str | None:
    """What gave an agent away, as a short text for a person and for the event; None when nothing did."""
    for process in lineage:
        for word in _names(process):
            if word in _PROGRAMS:
                return f"{word} (process {process.pid})"
        for mark in sorted(process.variables & _MARKS):
            return f"{mark} in the environment of {process.name} (process {process.pid})"
    return None


def _names(process: Process) -> Iterator[str]:
    """The program, and behind an interpreter the script that it runs with the package that the script lies in."""
    yield process.name
    paths = [PurePosixPath(word) for word in process.command]
    yield from (path.name for path in paths[:1])
    if paths and paths[0].name.rstrip("0123456789.").startswith(_INTERPRETERS):
        for path in paths[1:]:
            yield path.stem
            if "node_modules" in path.parts:
                yield from path.parts[path.parts.index("node_modules") :]


class KernelProcessTable:
    """Reads ``/proc``; where there is none, only the environment of this process can be seen."""

    def __init__(self, variables: Iterable[str], proc: Path = Path("/proc")) -> None:
        self._variables = frozenset(variables)
        self._proc = proc

    def lineage(self) -> Sequence[Process]:
        """As far as the kernel lets this user look; a parent that ends meanwhile ends the list."""
        found = [Process(0, "narthex", (), self._variables)]
        pid = self._parent("self")
        while pid > 0 and len(found) < _LONGEST_TREE:
            found.append(self._process(pid))
            pid = self._parent(str(pid))
        return found

    def _parent(self, pid: str) -> int:
        # the name stands in parentheses and may hold spaces and parentheses itself
        fields = self._bytes(pid, "stat").rpartition(b")")[2].split()
        return int(fields[1]) if len(fields) > 1 else 0

    def _process(self, pid: int) -> Process:
        command = self._bytes(str(pid), "cmdline").decode("utf-8", "replace").split("\0")
        pairs = self._bytes(str(pid), "environ").decode("utf-8", "replace").split("\0")
        name = self._bytes(str(pid), "comm").decode("utf-8", "replace").strip()
        return Process(pid, name, tuple(command[:8]), frozenset(pair.partition("=")[0] for pair in pairs))

    def _bytes(self, pid: str, file: str) -> bytes:
        try:
            return (self._proc / pid / file).read_bytes()
        except OSError:  # another user's process, or one that is gone: nothing to see is what there is to say
            return b""
