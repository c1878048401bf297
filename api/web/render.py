"""Turns templates into answers; every value is escaped. Holds no rule and reads no row."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

HERE: Final = Path(__file__).parent


@cache
def _templates() -> Environment:
    # autoescape for every file, whatever its name; an undefined name is an error, not an empty place
    return Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: object) -> HTMLResponse:
    """The page with ``values`` filled in."""
    return HTMLResponse(_templates().get_template(template).render(**values), status, headers)


def problem_page(title: str, detail: str, hint: str, status: int, headers: Mapping[str, str]) -> HTMLResponse:
    """What went wrong and what to do next, for a person."""
    return page("problem.html", status, headers, title=title, detail=detail, hint=hint)
