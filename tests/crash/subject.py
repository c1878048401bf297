"""A narthexd that will be killed, and the promises it has made by then."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from api.client import Client, Json
from pipelines.model.errors import NarthexError
from tests.crash.invariants import Promised, violations
from tests.end_to_end.narthexd import Narthexd
from tests.waiting import until

TEXT = "Fact number {0}: seeds of kind {0} keep best at {0} degrees, dark and dry."


@dataclass(frozen=True)
class Settled:
    """What still moves: names in the drop folder, and how many items are worked on."""

    waiting: list[str]
    working: int

    def __bool__(self) -> bool:
        return not self.waiting and not self.working


class Subject(Narthexd):
    """``promised`` grows with every acknowledgement; after the crash ``broken_promises`` compares it with the disk."""

    def __init__(self, root: Path, variables: Mapping[str, str] | None = None) -> None:
        super().__init__(root, variables)
        self.promised = Promised()
        self._bearer = ""

    def armed(self, *, kill_at: str = "", nth: int = 1, bug: str = "") -> Subject:
        """Starts it with an end, a bug, or both built in."""
        options = ["--kill-at", kill_at, "--nth", str(nth)] if kill_at else []
        options += ["--bug", bug] if bug else []
        self.entry = ("-m", "tests.crash.under_test", *options, "--")
        self.start()
        return self

    def unarmed(self) -> Subject:
        """Starts it as it is."""
        self.entry = ("-m", "daemon.main")
        self.start()
        return self

    @property
    def as_owner(self) -> Client:
        """One owner session for the whole life of the home: it outlasts restarts."""
        if not self._bearer:
            answer = self.client().call("POST", "/v1/session", {"code": self.code, "client": "crash rig"})
            self._bearer = str(answer["token"])
        return self.client(self._bearer)

    def capture(self, number: int) -> None:
        """Captures a text over the API; the promise counts only once it is answered."""
        text = TEXT.format(number)
        answer = self.as_owner.call("POST", "/v1/captures", {"kind": "text", "text": text})
        self.promised.captures[str(answer["id"])] = hashlib.sha256(text.encode()).hexdigest()

    def drop(self, number: int) -> None:
        """Puts a file into the drop folder, whole and on the disk; narthex must take it, whatever happens."""
        content = f"# Dropped {number}\n\n{TEXT.format(number)}\n".encode()
        name = f"dropped-{number}.md"
        self.promised.dropped[name] = content
        with (self.home.drop / f".{name}").open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        (self.home.drop / f".{name}").rename(self.home.drop / name)

    def approve(self, row: Mapping[str, Json]) -> None:
        """Approves a proposal over the API; the promise counts only once it is answered."""
        decision: dict[str, Json] = {
            "action": "approve",
            "revision": row["revision"],
            "digest": row["digest"],
            "shown_ms": 500,
        }
        self.as_owner.call("POST", f"/v1/proposals/{row['id']}/decision", decision)
        self.promised.approvals.append(str(row["id"]))

    def pending(self) -> list[Mapping[str, Json]]:
        """What waits for the owner."""
        answer = self.as_owner.call("GET", "/v1/proposals", query={"state": "pending", "limit": "200"})
        rows = answer["items"]
        assert isinstance(rows, list)
        return rows

    def killed(self) -> bool:
        """Waits for the end that was built in; False when it did not come within the time of a start."""
        return self.wait(60) == -signal.SIGKILL

    def settled(self) -> Settled:
        """True once the drop folder is empty and every item waits for a person."""
        waiting = [path.name for path in self.home.drop.iterdir() if path.name.startswith("dropped-")]
        inbox = self.as_owner.call("GET", "/v1/status")["inbox"]
        assert isinstance(inbox, Mapping)
        return Settled(waiting, int(str(inbox["working"])))

    def broken_promises(self, seconds: float = 60) -> list[str]:
        """Starts it unarmed, lets it settle, stops it, and looks at the disk."""
        self.unarmed()
        until(self.settled, seconds=seconds)
        assert self.stop() == 0, self.said()
        return violations(self.home, self.promised)


def until_killed(subject: Subject, *acts: object) -> None:
    """Runs the acts, each a callable, until the process is gone; what fails because of that is no acknowledgement."""
    for act in acts:
        try:
            act()  # type: ignore[operator]
        except (NarthexError, OSError):
            break
    assert subject.killed(), subject.said()
