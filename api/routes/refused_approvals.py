"""Records that a program on this machine would not let its user approve; changes nothing else."""

from __future__ import annotations

from fastapi import APIRouter

from api.doorway import DeclaredRoute
from api.schemas import RefusedApproval
from api.standing import Recorded
from api.surface import Acting, Here
from pipelines.store import events

router = APIRouter(route_class=DeclaredRoute, tags=["events"], prefix="/v1/refused-approvals")


@router.post("", operation_id="report_refused_approval", status_code=202)
def report_refused_approval(body: RefusedApproval, here: Here, actor: Acting) -> Recorded:
    """Appends one event."""
    now = here.premises.clock()
    reason = f"{body.because}: {body.program}"
    here.premises.database.write(
        lambda session: events.append(session, actor, "approval_refused", "approval", now=now, reason=reason)
    )
    return Recorded(recorded=True)
