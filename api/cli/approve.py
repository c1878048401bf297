"""``narthex approve``: shows what would be stored and makes it a memory when the person says yes."""

from __future__ import annotations

import argparse

from api.cli._decide import add_ids, approving, decide
from api.cli._session import Session
from api.cli._verbs import Verb


def _run(args: argparse.Namespace, session: Session) -> int:
    return decide(session, args.ids, approving())


APPROVE = Verb(
    name="approve",
    help="see exactly what would be stored, then store it",
    examples=("narthex approve 1", "narthex approve prp_01jq7r3k8v2m", "narthex approve 8v2m 91ks"),
    arguments=add_ids,
    run=_run,
)
