"""HTTP/1.1 on one connection: what cannot be read as a request is answered with a problem, too, and never with a reset.

Knows no route: a request that can be read goes to the application as it is.
"""

from __future__ import annotations

import contextlib
import json
import sys
from http import HTTPStatus
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.problems import MEDIA_TYPE, Malformed

_LINGER_SECONDS: Final = 1.0
_LINGER_BYTES: Final = 16 * 1024 * 1024
_HEADERS: Final = (
    (b"content-type", MEDIA_TYPE.encode()),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"connection", b"close"),
)


class ProblemProtocol(H11Protocol):
    """What uvicorn does, with our answer to bytes that are no request."""

    _refused = False
    _left = _LINGER_BYTES

    def data_received(self, piece: bytes) -> None:
        """Called by the loop."""
        if not self._refused:
            super().data_received(piece)
            return
        self._left -= len(piece)
        if self._left < 0:
            self.transport.close()

    def eof_received(self) -> bool | None:  # type: ignore[override]  # asyncio takes True for: keep it open
        """Called by the loop when the client sends no more; a request that breaks off is answered all the same."""
        if self._refused or not self._in_the_middle():
            return None
        self.conn.receive_data(b"")
        self.handle_events()
        return True

    def _in_the_middle(self) -> bool:
        buffered, _ = self.conn.trailing_data
        return self.conn.their_state is h11.SEND_BODY or (self.conn.their_state is h11.IDLE and bool(buffered))

    def send_400_response(self, msg: str) -> None:
        """Called where the parser gave up; the connection ends, but not before the client could read why."""
        if self._refused:
            return
        self._refused = True
        status = _status_of(sys.exc_info()[1])
        if self.cycle is not None:  # what was being answered cannot go on: its body ended in nonsense
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            for event in _answer(status):
                self.transport.write(self.conn.send(event) or b"")
        # closing while bytes are unread resets the connection, and the client would lose the answer
        if self.transport.can_write_eof():
            with contextlib.suppress(OSError):  # the client is gone already
                self.transport.write_eof()
        self.transport.resume_reading()
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)


def _status_of(error: BaseException | None) -> int:
    hint = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else Malformed.status
    return hint if 400 <= hint < 500 else Malformed.status


def _answer(status: int) -> list[h11.Event]:
    large = status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    document = {
        "type": "urn:narthex:problem:" + ("headers-too-large" if large else Malformed.code),
        "title": "The headers are too large" if large else Malformed.title,
        "status": status,
        "detail": "the request line and the headers are too long" if large else "that is no valid HTTP/1.1 request",
        "instance": "",  # no request was read, so there is none that could have an id
        "retryable": False,
    }
    body = json.dumps(document).encode()
    headers = [*_HEADERS, (b"content-length", str(len(body)).encode())]
    reason = HTTPStatus(status).phrase.encode()
    return [h11.Response(status_code=status, headers=headers, reason=reason), h11.Data(data=body), h11.EndOfMessage()]
