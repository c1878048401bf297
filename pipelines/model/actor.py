"""Who acts, through which door, with which powers; always taken from the credential, never from a payload."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ActorKind(StrEnum):
    """The four kinds of actor that a lifecycle table names."""

    OWNER = "owner"
    CLIENT = "client"
    AGENT = "agent"
    DAEMON = "daemon"


class Channel(StrEnum):
    """The door a request came through."""

    DROP = "drop"
    API = "api"
    CLI = "cli"
    PAGE = "page"
    VAULT = "vault"
    DAEMON = "daemon"


class Capability(StrEnum):
    """What a token may do. No capability approves: only an owner session decides."""

    CAPTURE = "capture"
    READ = "read"
    PROPOSE = "propose"


@dataclass(frozen=True, slots=True)
class Actor:
    """``name`` is the token's or program's name; ``scope`` confines reads and writes (None: the owner's all)."""

    kind: ActorKind
    name: str
    channel: Channel
    scope: str | None = None
    request_id: str = ""

    @property
    def is_owner(self) -> bool:
        """Whether this is the person, proved by a session."""
        return self.kind is ActorKind.OWNER


def daemon_actor(channel: Channel = Channel.DAEMON, name: str = "narthexd") -> Actor:
    """The daemon acting by itself; it may move items and project, never decide."""
    return Actor(ActorKind.DAEMON, name, channel)
