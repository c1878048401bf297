"""How the drop folder is, in a sentence for the readiness check; names no file and decides nothing."""

from __future__ import annotations

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

    def check(self, deaf: str) -> Check:
        """``deaf`` says why events do not tell everything, if they do not."""
        if self.paused:
            return Check(False, self.paused)
        return Check(True, (f"degraded: {deaf}" if deaf else "watching") + self.said)

    def sum_up(self, table: SettlingTable, kept: KeptFiles, copying: list[str], now: float) -> None:
        """Counts what there is; ``copying`` is how far each large copy has come."""
        said = [f"settling or waiting: {len(table)}"]
        stuck = kept.count(stuck=True)
        if self.read_only:
            said.append("the folder is read-only")
        if self.keeping:
            said.append(f"looked at and staying: {kept.count()}")
        elif stuck:
            said.append(f"not to be moved away: {stuck}")
        later = [one.look_at - now for one in table.waiting() if one.tries and not one.claimed]
        if later:
            said.append(f"to be tried again: {len(later)}, the next in {max(0.0, min(later)):.0f} s")
        said += [f"copying a file: {share}" for share in copying]
        self.said = "".join(f"; {one}" for one in said)
