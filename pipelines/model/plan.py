"""The exact effect of a proposal: what is shown, digested, approved and written are one and the same value."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

_DOMAIN: Final = b"narthex plan 1"


@dataclass(frozen=True, slots=True)
class CurrentMemory:
    """The approved revision that a plan starts from."""

    memory_id: str
    revision_id: str
    path: str
    scope: str
    content: str


@dataclass(frozen=True, slots=True)
class Plan:
    """``content`` is the whole file text after the change, None when the file goes; ``path`` is below the vault."""

    action: str
    memory_id: str
    scope: str
    base_revision: str | None
    path: str
    before: str | None
    content: str | None

    @property
    def digest(self) -> str:
        """SHA-256 over every field, length-prefixed under a domain tag: two different plans never share it."""
        fields = (
            self.action,
            self.memory_id,
            self.scope,
            self.base_revision,
            self.path,
            self.before,
            self.content,
        )
        return digest_fields(_DOMAIN, fields)


class Payload(BaseModel):
    """What an action needs to know; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    incidental: ClassVar[frozenset[str]] = frozenset()
    exact: ClassVar[bool] = False
    """A file as it is: every byte counts when two suggestions are compared."""
    stays_rejected: ClassVar[bool] = True
    """A no holds for the same suggestion later on; otherwise the same may be asked again."""

    def fingerprint(self, action: str, scope: str) -> str:
        """Digest of what is suggested, whatever ids, path and day it was given: unless exact, by words alone."""
        meant = self.model_dump(mode="json", exclude=set(self.incidental))
        flat = json.dumps(meant, ensure_ascii=False, sort_keys=True)
        if self.exact:
            return digest_fields(b"narthex fingerprint 1", (action, scope, flat))
        folded = " ".join(unicodedata.normalize("NFKC", flat).casefold().replace("\\n", " ").split())
        return digest_fields(b"narthex fingerprint 1", (action, scope, folded))


PayloadType = TypeVar("PayloadType", bound=Payload)


@dataclass(frozen=True, slots=True)
class Action(Generic[PayloadType]):
    """A member of the family ``pipelines.actions``: a pure function from payload and current revision to a plan.

    ``plan`` raises ``Invalid`` for a payload that breaks a limit, ``Conflict`` when the target is not as it needs it.
    """

    payload: type[PayloadType]
    plan: Callable[[PayloadType, CurrentMemory | None], Plan]


def digest_fields(domain: bytes, fields: tuple[str | None, ...]) -> str:
    """SHA-256 in hexadecimal over length-prefixed UTF-8 fields; None and the empty text differ."""
    hasher = hashlib.sha256(len(domain).to_bytes(8, "big") + domain)
    for text in fields:
        encoded = b"\x00" if text is None else b"\x01" + text.encode("utf-8", "surrogatepass")
        hasher.update(len(encoded).to_bytes(8, "big") + encoded)
    return hasher.hexdigest()


def digest_text(text: str) -> str:
    """SHA-256 in hexadecimal of the text's UTF-8 bytes: the digest of a vault file with exactly this text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
