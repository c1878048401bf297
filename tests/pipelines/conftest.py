"""The use cases run on both databases: what one writer hides, many show."""

from __future__ import annotations

import pytest

from pipelines.premises import Premises


@pytest.fixture
def premises(premises_on_both: Premises) -> Premises:
    """A whole narthex without the process around it; the test runs on SQLite and on PostgreSQL."""
    return premises_on_both
