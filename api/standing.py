"""The shapes of what this narthex says about itself: health, status, settings, sessions, tokens; no stored secret."""

from __future__ import annotations

from datetime import datetime

from api.answers import Answer, example
from pipelines.model.actor import ActorKind, Capability

_AT = "2026-11-30T08:15:00Z"


class Alive(Answer):
    """The process answers."""

    model_config = example(status="ok")
    status: str


class Holds(Answer):
    """One readiness check, for anybody: a detail may name a file of the vault."""

    model_config = example(ok=True)
    ok: bool


class CheckAnswer(Answer):
    """One readiness check; ``detail`` is empty for anyone but the owner."""

    ok: bool
    detail: str


class Ready(Answer):
    """All readiness checks; ``status`` is ``ok`` or ``not ready``."""

    model_config = example(status="ok", checks={"database": {"ok": True}})
    status: str
    checks: dict[str, Holds]


class SessionOpened(Answer):
    """The bearer of the owner, shown once. ``expires_at`` moves on with each use."""

    model_config = example(token="nxs_…", expires_at=_AT)
    token: str
    expires_at: datetime


class CodeAnnounced(Answer):
    """Where the code can be read; it is never answered."""

    model_config = example(printed_on="the daemon's terminal or journal")
    printed_on: str


class LoginLink(Answer):
    """A link that opens one session in a browser; the code stands after ``#``."""

    model_config = example(url="http://narthex.localhost:6278/login#code=7K2M-Q9XA")
    url: str


class Inbox(Answer):
    """How many items are being worked on, and how many wait for a person."""

    working: int
    needs_help: int


class ProgressAnswer(Answer):
    """How the work gets on: ``captured`` ever, ``working`` now; ``seconds_left`` is null while nobody can tell."""

    captured: int
    working: int
    rate_per_minute: float
    seconds_left: int | None


class Review(Answer):
    """How many proposals wait for the owner."""

    pending: int
    stale: int
    oldest_submitted_at: datetime | None


class RunAnswer(Answer):
    """One scheduled run."""

    job: str
    slot: str
    started_at: datetime
    finished_at: datetime | None
    problem: str


class Chain(Answer):
    """The head of the event chain."""

    seq: int
    hash: str


class Status(Answer):
    """How this narthex is."""

    model_config = example(version="0.1.0", address="http://127.0.0.1:6278", inbox={"working": 0, "needs_help": 1})
    version: str
    home: str
    drop: str
    vault: str
    address: str
    uptime_s: int
    inbox: Inbox
    progress: ProgressAnswer
    review: Review
    memories: int
    checks: dict[str, CheckAnswer]
    runs: list[RunAnswer]
    chain: Chain


class SettingAnswer(Answer):
    """One setting and where its value comes from."""

    key: str
    value: str
    source: str


class TokenAnswer(Answer):
    """A credential, without its secret."""

    model_config = example(id="tok_01jq7r3k8v2m", name="laptop browser", kind="client", capabilities=["capture"])
    id: str
    name: str
    kind: ActorKind
    capabilities: list[Capability]
    scope: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


class TokenMade(TokenAnswer):
    """A new credential; ``secret`` is shown this once."""

    secret: str


class Recorded(Answer):
    """It was written down."""

    model_config = example(recorded=True)
    recorded: bool
