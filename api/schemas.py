"""The shapes that the API takes: what is not declared here is refused. Answers are in ``api.answers``."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pipelines.model.actor import ActorKind, Capability
from pipelines.model.lifecycle import RejectReason

_DAYS: Final = 3660
_LONGEST_LOOK: Final = 7 * 24 * 3600 * 1000

Text = Annotated[str, Field(max_length=20_000)]
Tags = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=50)]
Milliseconds = Annotated[int, Field(strict=True, ge=0, le=_LONGEST_LOOK)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Body(BaseModel):
    """What every request body has in common: a field that is not declared makes it invalid."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", frozen=True, json_schema_extra={"examples": [fields]})


class OpenSession(Body):
    """A one-time code for an owner session. ``client`` names the program, for the log."""

    model_config = _example(code="7K2M-Q9XA", client="narthex")

    code: str = Field(min_length=1, max_length=40)
    client: str = Field(default="", max_length=60, pattern=r"^[\x20-\x7e]*$")


class Empty(Body):
    """Nothing needs to be said."""

    model_config = _example()


class CaptureItem(Body):
    """A text or a link. ``scope`` defaults to the credential's."""

    model_config = _example(kind="text", text="Seeds keep longest at 4 °C, dry.", title="Seed storage", tags=["garden"])

    kind: Literal["text", "link"]
    text: str | None = None
    url: str | None = None
    title: Annotated[str, Field(max_length=1000)] = ""
    note: Text = ""
    tags: Tags = Field(default_factory=list)
    scope: str | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> CaptureItem:
        wanted, other = (self.text, self.url) if self.kind == "text" else (self.url, self.text)
        if wanted is None or other is not None:
            raise ValueError("kind text needs 'text' and no 'url'; kind link needs 'url' and no 'text'")
        return self


class Quote(Body):
    """A passage of an item; narthex looks for it there and marks what it does not find as inferred."""

    item_id: str
    quote: str = Field(min_length=1, max_length=4000)


class SubmitProposal(Body):
    """One suggested change, always pending: state, approval and author are not the sender's to choose."""

    model_config = _example(
        action="create_memory",
        payload={
            "title": "Seed storage",
            "type": "concept",
            "l0": "Seeds keep longest cold and dry.",
            "l1": "At 4 °C.",
        },
        rationale="Two sources agree.",
        evidence=[{"item_id": "itm_01jq7r3k8v2m", "quote": "Seeds keep longest at 4 °C, dry."}],
    )

    action: str = Field(max_length=60, pattern=r"^[a-z_]+$")
    payload: dict[str, Any]
    rationale: str = Field(default="", max_length=2000)
    evidence: list[Quote] = Field(default_factory=list, max_length=50)


class DecideProposal(Body):
    """The owner's answer to exactly what was shown: its revision (or If-Match), its digest, and for how long."""

    model_config = _example(action="approve", revision=1, digest="0" * 64, shown_ms=2140)

    action: Literal["approve", "reject"]
    revision: Annotated[int, Field(strict=True, ge=1, lt=2**31)] | None = None
    digest: Digest
    shown_ms: Milliseconds
    reason_code: RejectReason | None = None
    reason: str = Field(default="", max_length=2000)

    @model_validator(mode="after")
    def _reasons_are_for_rejecting(self) -> DecideProposal:
        if self.action == "approve" and (self.reason_code is not None or self.reason):
            raise ValueError("only a rejection has a reason")
        return self


class MakeToken(Body):
    """A credential for a device or an agent. There is no capability that approves."""

    model_config = _example(name="laptop browser", kind="client", capabilities=["capture"], expires_days=365)

    name: str = Field(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f\x7f]+$")
    kind: Literal[ActorKind.CLIENT, ActorKind.AGENT]
    capabilities: list[Capability] = Field(min_length=1, max_length=len(Capability))
    scope: str | None = None
    expires_days: Annotated[int, Field(strict=True, ge=1, le=_DAYS)] | None = None


class RefusedApproval(Body):
    """Why a program would not let its user approve; only recorded."""

    model_config = _example(because="no terminal", program="sh")

    because: Literal["no terminal", "agent in the process tree"]
    program: str = Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
