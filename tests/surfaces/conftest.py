"""The rig of the surfaces, over a whole narthex on SQLite."""

from __future__ import annotations

import pytest

from pipelines.premises import Premises
from tests.clock import SettableClock
from tests.surfaces.rig import Rig, make_rig


@pytest.fixture
def rig(premises: Premises, clock: SettableClock) -> Rig:
    """A fresh application and its clients."""
    return make_rig(premises, clock)
