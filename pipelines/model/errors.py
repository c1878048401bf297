"""Every error of narthex, in five families that mean five reactions; never decides the reaction itself.

NarthexError
├── Refused      the caller is wrong; never retry          HTTP 4xx   exit 2 3 4
│   ├── Invalid · NotFound · NotPermitted · Unauthenticated · TooLarge · PreconditionMissing
├── Conflict     the world moved; look again               HTTP 409   exit 5
│   ├── StaleState · StaleProposal · DigestMismatch · Duplicate · RevisionMoved (412)
├── Unreadable   this content cannot be processed          HTTP 422   exit 4
├── Transient    try again later                           HTTP 503   exit 6
│   └── StorageFull (507) · Away · Busy (429)
└── Broken       an invariant fails; stop                  HTTP 500   exit 70

The reaction is decided in three places only: ``daemon.worker``, ``api.problems`` and ``api.cli.main``.
"""

from __future__ import annotations

from typing import ClassVar


class NarthexError(Exception):
    """What happened and why (``message``), and what to do about it (``hint``).

    ``code`` is stable: it names the problem type of the HTTP API. ``status`` is the HTTP status, ``exit_code`` the
    status of the command line.
    """

    code: ClassVar[str] = "error"
    title: ClassVar[str] = "Something went wrong"
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Refused(NarthexError):
    """The caller asked for something it may not have; asking again changes nothing."""

    code = "refused"
    title = "The request was refused"
    status = 400
    exit_code = 2


class Invalid(Refused):
    """A value is malformed or out of range; the message names it."""

    code = "invalid"
    title = "The request is not valid"
    status = 422


class NotFound(Refused):
    """No such thing, or none that this credential may know of."""

    code = "not-found"
    title = "Not found"
    status = 404
    exit_code = 3


class NotPermitted(Refused):
    """The credential is known and lacks the power."""

    code = "not-permitted"
    title = "Not permitted"
    status = 403
    exit_code = 4


class Unauthenticated(Refused):
    """No credential, or one that is unknown, expired or revoked."""

    code = "unauthenticated"
    title = "A credential is needed"
    status = 401
    exit_code = 4


class TooLarge(Refused):
    """More bytes than the stated limit."""

    code = "too-large"
    title = "Too large"
    status = 413


class PreconditionMissing(Refused):
    """A change to something that others may change too must say which version it saw."""

    code = "precondition-missing"
    title = "Say which version you saw"
    status = 428


class Conflict(NarthexError):
    """The world moved between looking and acting."""

    code = "conflict"
    title = "It changed meanwhile"
    status = 409
    exit_code = 5


class StaleState(Conflict):
    """The row is no longer in a state from which this move leads."""

    code = "stale-state"
    title = "It is no longer in that state"


class DigestMismatch(Conflict):
    """The digest named is not the digest of what is pending: something else was shown."""

    code = "digest-mismatch"
    title = "That is not what is pending"


class Duplicate(Conflict):
    """The same thing is pending or was decided already."""

    code = "duplicate"
    title = "This is already known"


class RevisionMoved(Conflict):
    """The version named (If-Match, proposal revision) is not the current one."""

    code = "revision-moved"
    title = "There is a newer version"
    status = 412


class Unreadable(NarthexError):
    """This content cannot be processed; ``reason`` is the quarantine code that the item gets."""

    code = "unreadable"
    title = "The content cannot be read"
    status = 422
    exit_code = 4

    def __init__(self, message: str, *, reason: str = "failed", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class Transient(NarthexError):
    """A passing fault: the same call may succeed later."""

    code = "transient"
    title = "Try again later"
    status = 503
    exit_code = 6


class Away(Transient):
    """Something that narthex lives on is not there now (unmounted, unplugged); nothing is wrong with the content."""

    code = "away"
    title = "Something is not there now"


class Busy(Transient):
    """Too much at once from this caller."""

    code = "busy"
    title = "Too many requests"
    status = 429


class StorageFull(Transient):
    """The disk refuses more bytes; reading goes on."""

    code = "storage-full"
    title = "There is no space left"
    status = 507


class Broken(NarthexError):
    """An invariant fails. The process stops (exit 70), restarts and recovers."""

    code = "broken"
    title = "narthex found itself broken"
    exit_code = 70
