"""Entry of the command ``narthex``: reads the line, runs one verb, and decides what an error becomes: three lines
and an exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from api.cli._agents import KernelProcessTable
from api.cli._documents import json_text
from api.cli._problems import of_system, problem_document, three_lines
from api.cli._session import Session, Surroundings, Usage
from api.cli._terminal import RealTerminal
from api.cli._verbs import Parser, add_shared_options, load, parser_of, verb_names
from api.client import environment, wall_clock
from pipelines.model.errors import Broken, NarthexError

_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs with the real terminal, process table, clock and environment."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a narrow locale must not cost the answer
    variables = environment()
    around = Surroundings(
        variables=variables,
        output=sys.stdout,
        notes=sys.stderr,
        terminal=RealTerminal(),
        processes=KernelProcessTable(variables),
        clock=wall_clock,
        new_key=lambda: os.urandom(16).hex(),
    )
    status = run(sys.argv[1:] if argv is None else argv, around)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more at its end
    return status


def run(argv: Sequence[str], around: Surroundings) -> int:
    """The exit status of one command line; every error ends here."""
    try:
        return _run_verb(argv, around)
    except NarthexError as error:
        return _report(error, argv, around)
    except BrokenPipeError:
        return 0  # who reads has seen enough
    except OSError as error:
        return _report(of_system(error), argv, around)
    except KeyboardInterrupt:
        print("\nnarthex: interrupted; nothing is half-written", file=around.notes)
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001  # one of the three reaction points: a defect of ours must read as one
        import traceback

        traceback.print_exc(file=around.notes)
        return _report(Broken(f"{type(error).__name__}: {error}"), argv, around)


def _run_verb(argv: Sequence[str], around: Surroundings) -> int:
    front = Parser(prog="narthex", add_help=False, allow_abbrev=False)
    add_shared_options(front)
    front.add_argument("-h", "--help", action="store_true", default=False)
    front.add_argument("--version", action="store_true", default=False)
    front.add_argument("verb", nargs="?", default="")
    front.add_argument("rest", nargs=argparse.REMAINDER)
    options = front.parse_args(list(argv))
    rest = _rest(argv, len(options.rest))
    if options.version:
        return _version(around)
    if options.help or not options.verb:
        return _overview(around, asked=options.help)
    verb = load(options.verb)
    parser = parser_of(verb)
    if {"-h", "--help"} & set(_before_dashes(rest)):
        print(parser.format_help(), end="", file=around.output)
        return 0
    options = parser.parse_args(rest, options)
    return verb.run(options, _session(options, around))


def _rest(argv: Sequence[str], length: int) -> list[str]:
    """The words after the verb, with the ``--`` that argparse took away when it stood right behind it."""
    start = len(argv) - length
    return list(argv[start - 1 if start and argv[start - 1] == "--" else start :])


def _before_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[: words.index("--")] if "--" in words else words


def _session(options: argparse.Namespace, around: Surroundings) -> Session:
    stated = vars(options)
    return Session(
        around,
        home_option=stated.get("home", ""),
        token_option=stated.get("token", ""),
        as_json=stated.get("json", False),
        quiet=stated.get("quiet", False),
    )


def _overview(around: Surroundings, *, asked: bool) -> int:
    if not asked:
        raise Usage("say what to do", hint="narthex --help")
    lines = ["usage: narthex [--home HOME] VERB ...", "", "verbs:"]
    lines += [f"  {verb.name:<11}{verb.help}" for verb in map(load, verb_names())]
    lines += ["", "Each explains itself: narthex VERB --help. With --json an answer is one JSON document.", ""]
    lines += [
        "exit status: 0 done · 1 the answer is no · 2 usage · 3 not found · 4 not permitted or unreadable ·",
        "  5 changed meanwhile · 6 no daemon, or try later · 7 partly done · 70 broken · 130 interrupted",
    ]
    print("\n".join(lines), file=around.output)
    return 0


def _version(around: Surroundings) -> int:
    from importlib.metadata import version

    print(f"narthex {version('narthex')}", file=around.output)
    return 0


def _report(error: NarthexError, argv: Sequence[str], around: Surroundings) -> int:
    if "--json" in _before_dashes(argv):
        print(json_text(problem_document(error), around.output.encoding), file=around.output)
    for line in three_lines(error):
        print(line, file=around.notes)
    return error.exit_code
