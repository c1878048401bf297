"""The settings in force and where each comes from; changes none, shows no secret."""

from __future__ import annotations

from fastapi import APIRouter

from api.doorway import DeclaredRoute
from api.paging import Listing
from api.standing import SettingAnswer
from api.surface import Here

router = APIRouter(route_class=DeclaredRoute, tags=["settings"], prefix="/v1/settings")


@router.get("", operation_id="list_settings")
def list_settings(here: Here) -> Listing[SettingAnswer]:
    """Every setting, in one piece."""
    return Listing(items=[SettingAnswer.model_validate(line) for line in here.daemon.settings_table()])
