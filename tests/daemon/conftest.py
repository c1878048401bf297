"""What the tests of the process share: a drop folder on real premises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pipelines.premises import Premises
    from tests.daemon.drop_rig import DropRig


@pytest.fixture
def drop(premises: Premises) -> DropRig:
    """A drop folder that the test starts, on an open narthex."""
    from tests.daemon.drop_rig import DropRig

    return DropRig(premises)
