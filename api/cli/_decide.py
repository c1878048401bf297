"""Approving and rejecting at a terminal: shows exactly what would be stored, asks, and tells the daemon what was shown.

Never decides without a person who can see: no terminal, or a program that acts for itself among the parents, ends it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from api.cli._agents import agent_in
from api.cli._documents import number, rows, text, words
from api.cli._ids import resolve
from api.cli._problems import PARTLY_DONE, each
from api.cli._session import Session
from api.cli._terminal import confirmed
from api.client import Json, JsonObject
from pipelines.model.errors import NarthexError, NotPermitted, StaleState
from pipelines.model.lifecycle import PROPOSAL_UNDECIDED, ProposalState

_NO: Final = 1
_MARGIN: Final = "  | "


@dataclass(frozen=True, slots=True)
class Answer:
    """What the owner is about to say to each proposal: ``action`` for the daemon, ``question`` for the person."""

    action: str
    question: str
    done: str
    not_done: str
    from_states: frozenset[ProposalState]
    reasons: JsonObject = field(default_factory=dict)


def approving() -> Answer:
    """Yes: exactly the text shown becomes a memory."""
    return Answer(
        "approve", "Store exactly this?", "approved", "nothing was stored", frozenset({ProposalState.PENDING})
    )


def rejecting(reasons: JsonObject) -> Answer:
    """No, with the reason that the person gave."""
    return Answer("reject", "Reject this?", "rejected", "nothing was rejected", PROPOSAL_UNDECIDED, reasons)


def add_ids(parser: argparse.ArgumentParser) -> None:
    """The ids that both verbs take."""
    parser.add_argument("ids", nargs="+", metavar="ID", help="an id, its last four characters or more, or a row number")


def decide(session: Session, typed: Sequence[str], answer: Answer) -> int:
    """Shows and asks for each, one after the other. 1: the person said no; 7: some were decided and some were not."""
    _require_a_person(session)
    documents, status = each(session, typed, lambda word: _decide_one(session, word, answer))
    decided = [one for one in documents if one.get("outcome") == answer.done]
    if not session.answered({"items": documents}, [text(one, "proposal_id") for one in decided]):
        for one in decided:
            facts = [text(one, "proposal_id"), answer.done, text(one, "memory_id"), text(one, "path")]
            session.line("  ".join(fact for fact in facts if fact))
    if len(decided) == len(documents) or status not in {0, PARTLY_DONE}:
        return status
    return PARTLY_DONE if decided else _NO


def _require_a_person(session: Session) -> None:
    """Raises ``NotPermitted``, after telling the daemon, which records the attempt and shows it to the owner."""
    found = agent_in(session.around.processes.lineage())
    if found is None and session.around.terminal.interactive():
        return
    because = "agent in the process tree" if found else "no terminal"
    report: JsonObject = {"because": because, "program": (found or "narthex")[:200]}
    recorded = "the attempt is recorded"
    try:
        session.client.anonymous().call("POST", "/v1/refused-approvals", report)
    except NarthexError:  # the refusal stands, whatever hinders its record
        recorded = "no daemon answers that could record the attempt"
    raise NotPermitted(
        f"only a person at a terminal decides ({because}{': ' + found if found else ''}); {recorded}",
        hint="Decide in a terminal of your own, or on the review page: narthex open",
    )


def _decide_one(session: Session, word: str, answer: Answer) -> JsonObject:
    identifier = resolve(session, word, ("prp",))
    proposal = session.client.call("GET", f"/v1/proposals/{identifier}")
    if text(proposal, "state") not in answer.from_states:
        raise StaleState(f"{identifier} is {text(proposal, 'state')}", hint=f"narthex show {identifier}")
    if answer.action == "approve" and not text(proposal, "after") and not text(proposal, "before"):
        raise StaleState(f"{identifier} has no effect to be shown: {text(proposal, 'problem') or 'its target is gone'}")
    session.around.terminal.show(shown_proposal(proposal))
    since = time.monotonic()
    if not confirmed(
        session.around.terminal, f"{answer.question} {text(proposal, 'action')} {text(proposal, 'title')}"
    ):
        session.hint(f"{answer.not_done}; {identifier} waits as before")
        return {"proposal_id": identifier, "outcome": "left as it is"}
    body: dict[str, Json] = {
        "action": answer.action,
        "revision": number(proposal, "revision"),
        "digest": text(proposal, "digest"),
        "shown_ms": int((time.monotonic() - since) * 1000),
        **answer.reasons,
    }
    headers = {"Idempotency-Key": session.around.new_key()}
    decision = session.client.call("POST", f"/v1/proposals/{identifier}/decision", body, headers=headers)
    return {**decision, "proposal_id": identifier, "outcome": answer.done}


def shown_proposal(proposal: JsonObject) -> str:
    """Everything a person needs to decide, the text to be stored in full.

    Each of its lines stands behind a bar: none can pass for a question of ours. Who prints it makes control characters
    visible.
    """
    lines = ["", f"{text(proposal, 'id')}  {text(proposal, 'action')}  {_flat(text(proposal, 'title'))}"]
    for name, value in _facts(proposal):
        if value:
            lines.append(f"  {name:<9}{_flat(value)}")
    for one in rows(proposal, "evidence"):
        place = "not found there verbatim" if one.get("inferred") else f"characters {one.get('start')}-{one.get('end')}"
        lines.append(f'  from     {text(one, "item_id")} {place}: "{_flat(text(one, "quote"))}"')
    if text(proposal, "before") and text(proposal, "diff"):
        lines += ["  changes", *_behind_bar(text(proposal, "diff"))]
    after = text(proposal, "after")
    if text(proposal, "before") and not after:
        lines += ["  would be removed", *_behind_bar(text(proposal, "before"))]
    else:
        lines += [f"  would be stored ({len(after)} characters)", *_behind_bar(after)]
    return "\n".join(lines) + "\n"


def _facts(proposal: JsonObject) -> list[tuple[str, str]]:
    producer = " ".join(filter(None, (text(proposal, "producer"), text(proposal, "producer_version"))))
    return [
        ("state", f"{text(proposal, 'state')}, revision {text(proposal, 'revision')}"),
        ("scope", text(proposal, "scope")),
        ("path", text(proposal, "path")),
        ("by", f"{producer or text(proposal, 'submitted_by')}, confidence {text(proposal, 'confidence') or '-'}"),
        ("source", text(proposal, "source_label")),
        ("flags", ", ".join(words(proposal, "flags"))),
        ("why", text(proposal, "rationale")),
        ("problem", text(proposal, "problem")),
        ("digest", text(proposal, "digest")),
    ]


def _behind_bar(content: str) -> list[str]:
    # split at line feeds alone: what else breaks lines is made visible later
    return [f"{_MARGIN}{line}" for line in content.split("\n")]


def _flat(value: str) -> str:
    return " ".join(value.split("\n"))
