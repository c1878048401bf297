"""Family: a file is a kind of change. Each is a pure function from payload and current revision to a plan."""

from __future__ import annotations

import sys
from typing import Any

from pipelines.model.family import Family
from pipelines.model.plan import Action

actions: Family[Action[Any]] = Family(sys.modules[__name__], Action)
