"""Records that a program on this machine would not let its user approve; changes nothing else."""

from __future__ import annotations

from fastapi import APIRouter

from api.doorway import DeclaredRoute
from api.schemas import RefusedApproval
from api.standing import Recorded
from api.surface import Acting, Here
from pipelines import review

router = APIRouter(route_class=DeclaredRoute, tags=["events"], prefix="/v1/refused-approvals")


@router.post("", operation_id="report_refused_approval", status_code=202)
def report_refused_approval(body: RefusedApproval, here: Here, actor: Acting) -> Recorded:
    """Appends one event."""
    review.note_refused(here.premises, actor, because=body.because, program=body.program)
    return Recorded(recorded=True)
