"""What the end-to-end tests share: narthexd as a process, gone when the test ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.narthexd import Narthexd


@pytest.fixture
def narthexd(tmp_path: Path) -> Iterator[Narthexd]:
    """On an empty home and a free port; the test starts it."""
    process = Narthexd(tmp_path / "home")
    yield process
    process.close()
