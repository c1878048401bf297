"""Files, functions and names keep the shape that a reader can follow: the tail is limited, not the average."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from tests.house.source_tree import CODE, HAND_WRITTEN, ROOT, Source, assert_none, files_below, functions, sources

FILE_LINES: Final = 300
FUNCTION_LINES: Final = 40
BANNED_MODULES: Final = frozenset(
    {"base", "common", "core", "handler", "handlers", "helper", "helpers", "lib", "manager", "misc", "service"}
    | {"services", "util", "utils"}
)
TYPED: Final = frozenset({"api/cli/service.py"})
"""Verbs of the command line: a file is named by what a person types, and this one does what they know by that name."""
BANNED_PREFIXES: Final = ("get_", "handle_", "manage_", "process_")
BANNED_NAMES: Final = frozenset({"data", "info", "obj", "result"})
OVERRIDES: Final = frozenset(
    {
        # what SQLAlchemy calls on a column type
        "process_bind_param",
        "process_result_value",
        # what html.parser calls on a parser
        *(
            f"handle_{part}"
            for part in ("starttag", "endtag", "startendtag", "data", "comment", "entityref", "charref")
        ),
        # what FastAPI asks of a route class
        "get_route_handler",
        # what socketserver and uvicorn call on a server
        "handle_error",
        "handle_exit",
    }
)
"""Names that a foreign base class gave, not we."""
FOREIGN_PARAMETERS: Final = frozenset({("handle_data", "data"), ("handle_comment", "data")})


def long_files() -> Iterator[str]:
    """Hand-written files with too many lines."""
    for path in files_below(*CODE, "tests"):
        if path.suffix in HAND_WRITTEN:
            lines = len(path.read_text("utf-8").splitlines())
            if lines > FILE_LINES:
                yield f"{path.relative_to(ROOT)} has {lines} lines"


def shape_problems(source: Source) -> Iterator[str]:
    """What is wrong with one file's functions, docstring and names."""
    name = source.module.rpartition(".")[2]
    if name in BANNED_MODULES and source.path not in TYPED:
        yield f"{source.path}: '{name}' says nothing about what lives there"
    if source.text.strip() and not ast.get_docstring(source.tree):
        yield f"{source.path}: no docstring says what this module is responsible for"
    for function in functions(source.tree):
        place = f"{source.path}:{function.lineno} {function.name}"
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > FUNCTION_LINES:
            yield f"{place} has {lines} lines"
        if function.name.startswith(BANNED_PREFIXES) and function.name not in OVERRIDES:
            yield f"{place}: a verb of the domain instead of {function.name.partition('_')[0]}_"
        for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
            if argument.arg in BANNED_NAMES and (function.name, argument.arg) not in FOREIGN_PARAMETERS:
                yield f"{place}: '{argument.arg}' does not say what it is"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in BANNED_NAMES:
            yield f"{source.path}:{node.lineno}: '{node.id}' does not say what it is"


def test_no_file_is_too_long() -> None:
    assert_none(long_files())


def test_every_file_keeps_the_shape() -> None:
    assert_none(problem for source in sources() for problem in shape_problems(source))


def test_the_rule_catches_what_it_forbids() -> None:  # the seeded violations
    long_function = "def long() -> None:\n" + "    pass\n" * 40
    seeded = {
        "pipelines/utils.py": '"""Doc."""\n',
        "pipelines/without.py": "x = 1\n",
        "pipelines/long.py": '"""Doc."""\n' + long_function,
        "pipelines/verb.py": '"""Doc."""\ndef get_item() -> None: ...\n',
        "pipelines/argument.py": '"""Doc."""\ndef read(data: bytes) -> None: ...\n',
        "pipelines/name.py": '"""Doc."""\nresult = 1\n',
    }
    for path, text in seeded.items():
        assert len(list(shape_problems(Source(path, text)))) == 1, path
    fine = '"""Doc."""\n' + "def fits() -> None:\n" + "    pass\n" * 39
    assert not list(shape_problems(Source("pipelines/fits.py", fine)))
