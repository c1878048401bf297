"""``narthex reject``: shows what was proposed and refuses it when the person says yes; the same does not come back."""

from __future__ import annotations

import argparse

from api.cli._decide import add_ids, decide, rejecting
from api.cli._session import Session
from api.cli._verbs import Verb
from pipelines.model.lifecycle import RejectReason


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_ids(parser)
    parser.add_argument("-m", "--message", default="", metavar="WHY", help="in your words, kept with the decision")
    reasons = [reason.value for reason in RejectReason]
    parser.add_argument("--reason", choices=reasons, default=RejectReason.UNSPECIFIED.value, help="the kind of reason")


def _run(args: argparse.Namespace, session: Session) -> int:
    return decide(session, args.ids, rejecting({"reason_code": args.reason, "reason": args.message}))


REJECT = Verb(
    name="reject",
    help="refuse a proposal, with a reason",
    examples=(
        "narthex reject 2",
        'narthex reject 8v2m -m "that is the old address"',
        "narthex reject 3 4 --reason already_known",
    ),
    arguments=_arguments,
    run=_run,
)
