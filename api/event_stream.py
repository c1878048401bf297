"""Tells one reader what happens, as it happens, in the form of server-sent events. Tells numbers and ids, never a text.

It asks the database only after a commit, ends with its session and with the process, and waits for no slow reader.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import anyio
import anyio.to_thread
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pipelines.model.errors import Busy
from pipelines.model.records import Event
from pipelines.premises import Premises
from pipelines.store import events, tokens

log = logging.getLogger("narthex.api")

_BATCH: Final = 200
_TICK: Final = 0.3  # seconds between looks at a number in memory
_SHARED_TICK: Final = 0.5  # seconds between questions to a database that other processes write too
_HEARTBEAT: Final = 15.0
_PATIENCE: Final = 5.0  # seconds for a reader to take one batch; less than the process waits for answers at its end
_MOST: Final = 32


class Streams:
    """All open streams of one application."""

    def __init__(self) -> None:
        self.open = 0
        self.ending = False

    def end(self) -> None:
        """Every stream ends within a moment, and none begins. From any thread."""
        self.ending = True

    def check_room(self) -> None:
        """Raises ``Busy``."""
        if self.open >= _MOST:
            raise Busy(f"{_MOST} readers follow the events already", hint="close one")

    @contextmanager
    def one(self) -> Iterator[None]:
        """Counts a stream while it runs."""
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1


class EventStream(Response):
    """What follows the event ``seq``; with ``follow`` it goes on until the reader, its session or the process ends."""

    media_type = "text/event-stream"

    def __init__(
        self,
        premises: Premises,
        streams: Streams,
        *,
        seq: int,
        session_id: str,
        follow: bool,
        heartbeat: float = _HEARTBEAT,
        patience: float = _PATIENCE,
    ) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._premises = premises
        self._streams = streams
        self._seq = seq
        self._session_id = session_id
        self._follow = follow
        self._heartbeat = heartbeat
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        taken = True
        with self._streams.one():
            async with anyio.create_task_group() as group:
                group.start_soon(_until_gone, receive, group.cancel_scope)
                taken = await self._tell(send)
                group.cancel_scope.cancel()
        if taken:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:  # without an end, for which nobody waits: the server closes the connection
            log.warning("a reader of events was too slow and is cut off", extra={"seq": self._seq})

    async def _tell(self, send: Send) -> bool:
        """Goes on until there is a reason to end; False when the reader did not take what was sent."""
        taken = await self._put(send, b"retry: 2000\n\n")
        told_at = asked_at = anyio.current_time()
        commits = -1
        while taken and not self._streams.ending:
            now = anyio.current_time()
            if self._may_be_news(commits, now - asked_at) or now - told_at >= self._heartbeat:
                asked_at, commits = now, self._premises.database.commits
                stands, found = await anyio.to_thread.run_sync(self._read)
                if not stands:
                    break
                if found or now - told_at >= self._heartbeat:
                    taken = await self._put(send, b"".join(map(_lines, found)) or b": still here\n\n")
                    told_at = now
                if len(found) == _BATCH:
                    commits = -1
                    continue
                if not self._follow:
                    break
            await anyio.sleep(_TICK)
        return taken

    def _may_be_news(self, commits: int, since: float) -> bool:
        if commits < 0 or commits != self._premises.database.commits:
            return True
        return self._premises.database.dialect != "sqlite" and since >= _SHARED_TICK

    def _read(self) -> tuple[bool, list[Event]]:
        """Whether the session still stands, and what happened. A closed session is an event too, so this sees it."""
        idle = self._premises.policy.session_idle
        with self._premises.database.read() as session:
            if not tokens.session_stands(session, self._session_id, self._premises.clock(), idle):
                return False, []
            found = events.after(session, self._seq, _BATCH)
        if found:
            self._seq = found[-1].seq
        return True, found

    async def _put(self, send: Send, body: bytes) -> bool:
        with anyio.move_on_after(self._patience) as limit:
            await send({"type": "http.response.body", "body": body, "more_body": True})
        return not limit.cancelled_caught


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _lines(event: Event) -> bytes:
    told = {
        "seq": event.seq,
        "at": event.at.isoformat(),
        "actor": event.actor_name,
        "channel": event.channel,
        "subject": event.subject,
        "action": event.action,
    }
    return f"id: {event.seq}\nevent: {event.action}\ndata: {json.dumps(told)}\n\n".encode()
