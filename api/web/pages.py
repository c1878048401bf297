"""The review pages: list, one proposal, the owner's decision by form; inbox and sign in. Decides nothing by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from api.auth import cookie_name
from api.doorway import DeclaredRoute
from api.paging import DEFAULT_LIMIT, Cursor, cursor_of, last_id
from api.ports import Listener
from api.problems import request_id
from api.surface import Acting, Asking, Here, Surface
from api.web import card
from api.web.deciding import Desk, Seen, decide, proposal_page
from api.web.render import HERE, page
from pipelines import process, review
from pipelines.model.actor import Actor, Channel
from pipelines.model.errors import Broken, Busy, Unauthenticated
from pipelines.model.identity import check_id
from pipelines.model.lifecycle import ItemState, ProposalState, RejectReason
from pipelines.model.records import Item
from pipelines.premises import Premises
from pipelines.store import items

router = APIRouter(route_class=DeclaredRoute, include_in_schema=False, default_response_class=HTMLResponse)

Field = Annotated[str, Form(max_length=200)]
Number = Annotated[int, Form(ge=1, lt=2**31)]


@router.get("/", operation_id="open_start")
def open_start(request: Request) -> Response:
    """Leads to the review; a visitor from another site is shown where it leads, since no cookie came along."""
    if request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
        return page("start.html")
    return RedirectResponse("/review", 303)


@router.get("/login", operation_id="open_login")
def open_login() -> Response:
    """The form for the one-time code."""
    return page("login.html", problem="")


@router.post("/login", operation_id="enter_code")
def enter_code(here: Here, request: Request, code: Field) -> Response:
    """Exchanges the code for the cookie."""
    try:
        here.codes.redeem(code, Listener.TCP)
    except (Unauthenticated, Busy) as error:
        return page("login.html", error.status, problem=f"{error.message}; {error.hint}")
    secret, _ = here.credentials.open_session(Channel.PAGE, request_id(request.scope))
    answer = RedirectResponse("/review", 303)
    answer.set_cookie(cookie_name(here.port), secret, path="/", secure=True, httponly=True, samesite="strict")
    return answer


@router.post("/logout", operation_id="leave_session")
def leave_session(here: Here, caller: Asking, owner: Acting) -> Response:
    """Ends the session and forgets the cookie."""
    if caller.session_id is None:
        raise Broken("an owner without a session reached a page")
    here.credentials.close_session(caller.session_id, owner)
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(cookie_name(here.port), path="/", secure=True, httponly=True, samesite="strict")
    return answer


@router.get("/review", operation_id="open_review")
def open_review(here: Here, caller: Asking, owner: Acting, cursor: Cursor = None) -> Response:
    """What waits for a decision, newest first, and what is out of date."""
    shown = review.list_proposals(
        here.premises, owner, state=ProposalState.PENDING, limit=DEFAULT_LIMIT, cursor=last_id(cursor, "prp")
    )
    stale = review.list_proposals(here.premises, owner, state=ProposalState.STALE, limit=DEFAULT_LIMIT)
    return page(
        "review.html",
        csrf=caller.csrf,
        entries=[card.entry(view) for view in shown.rows],
        next_cursor=cursor_of(shown.next_cursor),
        stale=[card.entry(view) for view in stale.rows],
    )


@router.get("/review/{proposal_id}", operation_id="open_proposal")
def open_proposal(proposal_id: str, here: Here, caller: Asking, owner: Acting, file: str = "") -> Response:
    """One proposal with exactly the text that an approval would store, or what was decided about it."""
    desk = Desk(here, caller, owner)
    return proposal_page(desk, check_id(proposal_id, "prp"), written=file != "later")


@router.post("/review/{proposal_id}/approve", operation_id="approve_on_page")
def approve_on_page(
    proposal_id: str,
    here: Here,
    caller: Asking,
    owner: Acting,
    revision: Number,
    digest: Field,
    shown_at: Field,
) -> Response:
    """Approves what the form showed, once it was shown long enough; when the world moved, approves nothing."""

    def approve(look: int) -> bool:
        return review.approve(
            here.premises, proposal_id, revision=revision, digest=digest, shown_ms=look, owner=owner
        ).projected

    seen = Seen(proposal_id, revision, digest, shown_at)
    return decide(Desk(here, caller, owner), seen, ProposalState.PROMOTED, approve)


@router.post("/review/{proposal_id}/reject", operation_id="reject_on_page")
def reject_on_page(
    proposal_id: str,
    here: Here,
    caller: Asking,
    owner: Acting,
    revision: Number,
    digest: Field,
    shown_at: Field,
    reason_code: Annotated[RejectReason, Form()] = RejectReason.UNSPECIFIED,
) -> Response:
    """Rejects what the form showed, once it was shown long enough."""

    def reject(look: int) -> bool:
        review.reject(
            here.premises,
            proposal_id,
            revision=revision,
            digest=digest,
            shown_ms=look,
            owner=owner,
            code=reason_code,
        )
        return True

    seen = Seen(proposal_id, revision, digest, shown_at)
    return decide(Desk(here, caller, owner), seen, ProposalState.REJECTED, reject)


@router.get("/inbox", operation_id="open_inbox")
def open_inbox(here: Here, caller: Asking) -> Response:
    """What was captured: first what needs a person, with the next step, then the latest."""
    with here.premises.database.read() as session:
        helpless = items.list_items(session, state=ItemState.QUARANTINED, limit=DEFAULT_LIMIT, cursor=None)
        latest = items.list_items(session, state=None, limit=DEFAULT_LIMIT, cursor=None)
    return page(
        "inbox.html",
        csrf=caller.csrf,
        helpless=[card.item_entry(row) for row in helpless.rows],
        latest=[card.item_entry(row) for row in latest.rows],
    )


@router.post("/inbox/{item_id}/release", operation_id="release_on_page")
def release_on_page(item_id: str, here: Here, owner: Acting) -> Response:
    """Tries a quarantined item again."""
    return _moved(here, owner, item_id, process.release)


@router.post("/inbox/{item_id}/discard", operation_id="discard_on_page")
def discard_on_page(item_id: str, here: Here, owner: Acting) -> Response:
    """Takes an item out of the inbox; its original stays."""
    return _moved(here, owner, item_id, process.discard)


def _moved(here: Surface, owner: Actor, item_id: str, use_case: Callable[[Premises, str, Actor], Item]) -> Response:
    check_id(item_id, "itm")
    with here.premises.database.read() as session:
        items.item(session, item_id)
    use_case(here.premises, item_id, owner)
    here.daemon.wake()
    return RedirectResponse("/inbox", 303)


@router.get("/static/narthex.css", operation_id="read_style")
def read_style() -> Response:
    """The one style sheet."""
    return FileResponse(HERE / "static" / "narthex.css", media_type="text/css")


@router.get("/static/narthex.svg", operation_id="read_icon")
def read_icon() -> Response:
    """The icon."""
    return FileResponse(HERE / "static" / "narthex.svg", media_type="image/svg+xml")


@router.get("/static/login.js", operation_id="read_script")
def read_script() -> Response:
    """The one script; the pages work without it."""
    return FileResponse(HERE / "static" / "login.js", media_type="text/javascript")
