"""How the drop folder is, in a sentence for the readiness check; names no file and decides nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from api.ports import Check
from daemon.drop.kept import KeptFiles
from daemon.drop.settle import SettlingTable


@dataclass(slots=True)
class Standing:
    """Kept up to date by the drop folder's thread; ``check`` may be called from any thread."""

    paused: str = "not started"
    """Why nothing is taken in now; empty while something is."""
    read_only: bool = False
    keeping: bool = False
    said: str = ""
    troubles: list[str] = field(default_factory=list)
    """Lines for STATUS.md."""

    later: tuple[float, ...] = ()
    """When each file that could not be had is tried again, by the monotonic clock."""

    def check(self, deaf: str) -> Check:
        """``deaf`` says why events do not tell everything, if they do not."""
        if self.paused:
            return Check(False, self.paused)
        said = (f"degraded: {deaf}" if deaf else "watching") + self.said
        later = self.later
        if later:
            seconds = max(0.0, min(later) - time.monotonic())
            said += f"; to be tried again: {len(later)}, the next in {seconds:.0f} s"
        return Check(True, said)

    def sum_up(self, table: SettlingTable, kept: KeptFiles, copying: list[str]) -> None:
        """Counts what there is; ``copying`` is how far each large copy has come."""
        said = [f"settling or waiting: {len(table)}"]
        stuck = kept.count(stuck=True)
        if self.read_only:
            said.append("the folder is read-only")
        if self.keeping:
            said.append(f"looked at and staying: {kept.count()}")
        elif stuck:
            said.append(f"not to be moved away: {stuck}")
        self.later = tuple(one.look_at for one in table.waiting() if one.tries and not one.claimed)
        said += [f"copying a file: {share}" for share in copying]
        self.said = "".join(f"; {one}" for one in said)
