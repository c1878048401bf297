"""Idempotency-Key: the first answer to a key is the answer to every repetition. Stores answers, never requests."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse

from api.access import LOCAL_NAME
from api.auth import OWNER_NAME
from api.problems import StillRunning
from pipelines.model.actor import Actor
from pipelines.model.errors import Invalid
from pipelines.premises import Premises
from pipelines.store import answers

_KEY: Final = re.compile(r"[\x21-\x7e]{1,128}")


class Running:
    """The keys whose first request is being answered now, in this process (one process writes a home)."""

    def __init__(self) -> None:
        self._keys: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    @contextmanager
    def alone(self, actor_name: str, key: str) -> Iterator[None]:
        """Raises ``StillRunning`` when the same key is inside already."""
        entry = (actor_name, key)
        with self._lock:
            if entry in self._keys:
                raise StillRunning("the first request with this Idempotency-Key has not been answered yet")
            self._keys.add(entry)
        try:
            yield
        finally:
            with self._lock:
                self._keys.discard(entry)


def idempotency_key(request: Request) -> str | None:
    """The key that was sent, or None. Raises ``Invalid`` for one that is empty, long or not printable."""
    keys = request.headers.getlist("idempotency-key")
    if not keys:
        return None
    if len(keys) > 1 or not _KEY.fullmatch(keys[0]):
        raise Invalid("an Idempotency-Key is sent once and has 1 to 128 printable ASCII characters")
    return keys[0]


def source_key(request: Request, actor: Actor) -> str | None:
    """Identity of a capture with a key: a repetition finds its item even if the first answer was never stored."""
    key = idempotency_key(request)
    if key is None:
        return None
    # the command line queues what it could not send, or had sent without an answer: the queue is read as the owner's
    return local_key(key) if actor.name in (OWNER_NAME, LOCAL_NAME) else f"api:{actor.name}:{key}"


def local_key(key: str) -> str:
    """The same for what the owner's command line sends and for what it leaves in the queue."""
    return f"queue:{key}"


def body_digest(request: Request, content: bytes) -> str:
    """What makes two requests the same: method, path and content."""
    head = f"{request.method} {request.url.path}\n".encode()
    return hashlib.sha256(head + hashlib.sha256(content).digest()).hexdigest()


def answer_once(
    premises: Premises,
    running: Running,
    request: Request,
    actor: Actor,
    work: Callable[[], tuple[int, BaseModel]],
    *,
    content: bytes | None = None,
) -> JSONResponse:
    """Runs ``work`` (status, answer) unless its first answer is known; errors are not kept, a retry may succeed.

    Raises ``Invalid`` for the same key with another request, and ``StillRunning``.
    """
    key = idempotency_key(request)
    if key is None:
        return _response(work())
    digest = body_digest(request, request.state.body if content is None else content)
    with running.alone(actor.name, key):
        with premises.database.read() as session:
            first = answers.recall(session, actor.name, key, digest, premises.clock())
        if first is not None:
            return JSONResponse(first.body, first.status, {"Idempotency-Replayed": "true"})
        response = _response(answered := work())
        status, body = answered[0], answered[1].model_dump(mode="json")
        premises.database.write(
            lambda session: answers.keep(session, actor.name, key, digest, status, body, premises.clock())
        )
    return response


def _response(answered: tuple[int, BaseModel]) -> JSONResponse:
    return JSONResponse(answered[1].model_dump(mode="json"), answered[0])
