"""Credentials of devices and agents: made, listed and revoked by the owner; the secret is shown once."""

from __future__ import annotations

from datetime import timedelta

from fastapi import APIRouter
from starlette.responses import Response

from api.doorway import DeclaredRoute
from api.paging import Listing
from api.schemas import MakeToken
from api.standing import TokenAnswer, TokenMade
from api.surface import Acting, Here
from pipelines import credentials
from pipelines.model.identity import check_id

router = APIRouter(route_class=DeclaredRoute, tags=["tokens"], prefix="/v1/tokens")


@router.get("", operation_id="list_tokens")
def list_tokens(here: Here) -> Listing[TokenAnswer]:
    """All tokens, revoked ones too, newest first, in one piece."""
    return Listing(items=[TokenAnswer.model_validate(row) for row in credentials.list_tokens(here.premises)])


@router.post("", operation_id="make_token", status_code=201)
def make_token(body: MakeToken, here: Here, owner: Acting) -> TokenMade:
    """Makes a token. An Idempotency-Key means nothing here: the secret is not kept, so it cannot be answered twice."""
    row, secret = here.credentials.make_token(
        name=body.name,
        kind=body.kind,
        capabilities=frozenset(body.capabilities),
        scope=body.scope or here.premises.policy.default_scope,
        lifetime=None if body.expires_days is None else timedelta(days=body.expires_days),
        owner=owner,
    )
    return TokenMade(**dict(TokenAnswer.model_validate(row)), secret=secret)


@router.delete("/{token_id}", operation_id="revoke_token", status_code=204, response_class=Response)
def revoke_token(token_id: str, here: Here, owner: Acting) -> Response:
    """From the next request on the token is refused; revoking twice changes nothing."""
    check_id(token_id, "tok")
    credentials.revoke_token(here.premises, token_id, owner)
    return Response(status_code=204)
