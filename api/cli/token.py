"""``narthex token``: credentials for devices and agents; none of them can approve anything."""

from __future__ import annotations

import argparse
import re
from typing import Final

from api.cli._documents import rows, text, words
from api.cli._ids import remember, resolve
from api.cli._problems import each, failed
from api.cli._session import Session, Usage
from api.cli._verbs import Verb
from api.client import Json, JsonObject

_CAPABILITIES: Final = ("capture", "read", "propose")
_DAYS: Final = re.compile(r"([1-9][0-9]{0,3})d")


def _arguments(parser: argparse.ArgumentParser) -> None:
    actions = ("list", "new", "revoke")
    parser.add_argument("action", nargs="?", choices=actions, default="list", help="the default is list")
    parser.add_argument("words", nargs="*", metavar="NAME|ID", default=[], help="NAME for new, ID for revoke")
    parser.add_argument("-c", "--can", action="append", choices=_CAPABILITIES, default=[], help="again for each power")
    parser.add_argument("--kind", choices=("client", "agent"), default="client", help="who will hold it")
    parser.add_argument("-s", "--scope", default="", help="confines what it reads and writes")
    parser.add_argument("--expires", default="", metavar="90d", help="after so many days; the default is never")


def _run(args: argparse.Namespace, session: Session) -> int:
    typed: list[str] = args.words
    if args.action == "list":
        return _list(session)
    if args.action == "revoke":
        return _revoke(session, typed)
    return _new(args, session, typed)


def _list(session: Session) -> int:
    page = session.client.call("GET", "/v1/tokens")
    found = rows(page)
    remember(session, [text(row, "id") for row in found])
    if not session.answered(page, [text(row, "id") for row in found]):
        session.table([[str(place), *_columns(row)] for place, row in enumerate(found, 1)])
    return 0


def _columns(token: JsonObject) -> list[str]:
    powers, scope = ",".join(words(token, "capabilities")), text(token, "scope") or "all scopes"
    ended = "revoked" if text(token, "revoked_at") else ""
    return [text(token, "id"), text(token, "name"), text(token, "kind"), powers, scope, ended]


def _new(args: argparse.Namespace, session: Session, typed: list[str]) -> int:
    if len(typed) != 1:
        raise Usage("say one NAME for the new token", hint='narthex token new "laptop browser" --can capture')
    if not args.can:
        raise Usage("say what it --can do", hint="narthex token new NAME --can capture")
    body: dict[str, Json] = {"name": typed[0], "kind": args.kind, "capabilities": args.can}
    if args.scope:
        body["scope"] = args.scope
    if args.expires:
        days = _DAYS.fullmatch(args.expires)
        if not days:
            raise Usage(f"--expires takes days, such as 90d, not {args.expires[:20]!r}")
        body["expires_days"] = int(days[1])
    token = session.client.call("POST", "/v1/tokens", body)
    # the id alone would lose the secret, which nobody can show again: for this verb, quiet means the secret alone
    if not session.answered(token, [text(token, "secret")]):
        session.line(text(token, "secret"))
        session.hint(
            f"{text(token, 'id')}  {text(token, 'name')}: this is shown once; keep it where its holder reads it"
        )
    return 0


def _revoke(session: Session, typed: list[str]) -> int:
    if not typed:
        raise Usage("say which token to revoke", hint="narthex token revoke ID")
    ids = [resolve(session, word, ("tok",)) for word in typed]
    answers, status = each(session, ids, lambda one: {**session.client.call("DELETE", f"/v1/tokens/{one}"), "id": one})
    revoked = [text(one, "id") for one in answers if not failed(one)]
    if not session.answered({"items": answers}, revoked):
        for one in revoked:
            session.line(f"{one}  revoked")
    return status


TOKEN = Verb(
    name="token",
    help="list, make and revoke credentials of devices and agents",
    examples=(
        "narthex token",
        'narthex token new "laptop browser" --can capture --expires 365d',
        "narthex token revoke 2",
    ),
    arguments=_arguments,
    run=_run,
)
