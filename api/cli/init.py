"""``narthex init``: sets up a narthex in a folder of its own, after showing what it will create and being told yes."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from api.cli._homes import home_at, is_home
from api.cli._session import Session, Usage
from api.cli._setup import Answers, SetupPlan, free_port, perform, plan_setup, template_names
from api.cli._terminal import confirmed
from api.cli._verbs import Verb
from pipelines.model.values import Home

_NO = 1


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default="", help="short name of this narthex; the default is its folder's")
    parser.add_argument("--use", action="store_true", default=False, help="from now on this one when no home is said")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="the default is 6278, or the next one free")
    parser.add_argument("-s", "--scope", action="append", default=[], help="whose memories there are; again for each")
    parser.add_argument("--profile-name", default="", metavar="TEXT", help="what you want to be called")
    parser.add_argument("--profile-work", default="", metavar="TEXT", help="what you work on")
    parser.add_argument("--profile-preference", default="", metavar="TEXT", help="one thing that you prefer")
    choices = ["none", *template_names()]
    parser.add_argument("--template", action="append", choices=choices, default=[], help="a draft to start from")
    parser.add_argument("--dry-run", action="store_true", default=False, help="show the plan, write nothing")
    parser.add_argument("--yes", action="store_true", default=False, help="ask nothing: defaults and options hold")


def _run(args: argparse.Namespace, session: Session) -> int:
    asks = session.around.terminal.interactive() and not args.yes and not args.dry_run
    if not asks and not args.yes and not args.dry_run:
        raise Usage("nobody is here to confirm the plan", hint="narthex init --yes, or --dry-run to see the plan")
    home = _folder(session, asks)
    if is_home(home):
        return _already_there(session, home)
    plan = _planned(args, session, home, asks)
    session.hint("narthex init will")
    for line in plan.lines():
        session.hint(line)
    if args.dry_run:
        return _done(session, plan, "planned")
    if asks and not confirmed(session.around.terminal, "Create this?"):
        session.hint("nothing was written")
        return _NO
    perform(plan, session.registry, session.around.new_key, session.around.clock)
    return _done(session, plan, "created")


def _planned(args: argparse.Namespace, session: Session, home: Home, asks: bool) -> SetupPlan:
    variables, registry = session.around.variables, session.registry
    answers = _answers(args, session, home)
    plan = plan_setup(home, args.name, answers, registry, variables, use=args.use)
    if not asks:
        return plan
    # planned before, so that what cannot be is refused before any question is asked
    return plan_setup(home, args.name, _asked(session, answers), registry, variables, use=args.use)


def _folder(session: Session, asks: bool) -> Home:
    variables = session.around.variables
    stated = session.home_option or variables.get("NARTHEX_HOME", "")
    if not stated and asks:
        stated = session.around.terminal.ask("Folder for everything [~/Narthex]: ").strip()
    named = session.registry.read().paths.get(stated)
    return Home(Path(named)) if named else home_at(stated or "~/Narthex", variables)


def _answers(args: argparse.Namespace, session: Session, home: Home) -> Answers:
    if not 0 <= args.port <= 65535:
        raise Usage(f"--port is {args.port}; a port is a number from 0 to 65535", hint="narthex init --help")
    homes = session.registry.read().keeping(session.around.variables, home.root)
    return Answers(
        name=args.profile_name.strip(),
        work=args.profile_work.strip(),
        preference=args.profile_preference.strip(),
        templates=tuple(name for name in dict.fromkeys(args.template) if name != "none"),
        port=args.port or free_port(homes, session.around.variables),
        scopes=tuple(dict.fromkeys(args.scope)) or Answers().scopes,
    )


def _asked(session: Session, answers: Answers) -> Answers:
    """Asks for what no option said; Enter skips each question."""
    ask = session.around.terminal.ask
    session.hint(
        "Three questions; Enter skips one. Answers become proposals that you approve or reject like any other."
    )
    answers = replace(answers, name=answers.name or ask("What do you want to be called? ").strip())
    answers = replace(answers, work=answers.work or ask("What do you work on? ").strip())
    return replace(answers, preference=answers.preference or ask("One thing that you prefer? ").strip())


def _already_there(session: Session, home: Home) -> int:
    homes = session.registry.read()
    named = homes.name_of(home.root)
    names = {"name": named, "current": homes.current}
    document = {"outcome": "already there", "home": str(home.root), **names, "creates": [], "captures": []}
    if not session.answered(document, [str(home.root)]):
        session.line(f"{home.root} is a narthex already; nothing was written")
        if not named:
            session.hint(f"it has no name yet: narthex homes add NAME {home.root}")
        elif homes.current != named:
            session.hint(f"{homes.current or 'no home'} is the current one; narthex homes use {named} changes that")
    return 0


def _done(session: Session, plan: SetupPlan, outcome: str) -> int:
    if session.answered(plan.document(outcome), [str(plan.home.root)]):
        return 0
    if outcome == "planned":
        session.line(f"nothing was written; narthex init --home {plan.home.root} creates this")
        return 0
    session.line(f"{plan.home.root} is ready")
    session.hint(f"  start it    narthexd --home {plan.home.root}")
    session.hint(f"  drop files  {plan.home.drop}")
    other = plan.homes.current != plan.name
    session.hint(
        f"  log in      narthex {f'--home {plan.name} ' if other else ''}login, with the code that narthexd prints"
    )
    if other:
        session.hint(f"  {plan.homes.current} stays the current one; narthex homes use {plan.name} changes that")
    return 0


INIT = Verb(
    name="init",
    help="set up a narthex in a folder of its own",
    examples=(
        "narthex init",
        "narthex init --home ~/Narthex --yes",
        'narthex init --home ~/Work/Narthex --name work --template project --profile-name "Ada" --dry-run',
    ),
    arguments=_arguments,
    run=_run,
)
