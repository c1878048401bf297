"""A file that grows for half a minute, with pauses longer than the settle time, on the settings that a newcomer has."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.end_to_end.narthexd import Narthexd
from tests.end_to_end.test_straight_line import rows
from tests.waiting import until

_PAUSES = "0 1 0 2 5 0.5 3 5 0 4 0.1 5 4.5"  # thirty seconds; the settle time is two
_WRITER = f'exec >> "$1"; for pause in {_PAUSES}; do echo "a line, then $pause s of nothing"; sleep $pause; done'


def test_a_file_growing_for_thirty_seconds_is_one_whole_item(tmp_path: Path) -> None:  # S-047, F-001
    narthexd = Narthexd(tmp_path / "home", {"NARTHEX_SETTLE_SECONDS": "2"})
    try:
        owner = narthexd.start().owner()
        place = narthexd.home.drop / "slow.txt"
        with subprocess.Popen(["sh", "-c", _WRITER, "sh", str(place)]) as writer:
            writer.wait()
        assert rows(owner, "/v1/items") == []
        whole = place.read_bytes()
        until(lambda: not place.exists(), seconds=30)
        (item,) = rows(owner, "/v1/items")
        assert (item["size"], len(whole.splitlines())) == (len(whole), len(_PAUSES.split()))
        (filed,) = narthexd.home.drop.glob("_done/*/slow.txt")
        assert filed.read_bytes() == whole
    finally:
        narthexd.close()
