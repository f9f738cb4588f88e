"""Connections: limits on size, time and number before a client is authenticated.

An idle connection costs only a few kilobytes, so there may be many. Work is limited:
bytes of headers here, bytes of bodies in the guard, requests that wait in the writer's queues.
"""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_core import to_json
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from tailcut.service.guard import HEADERS, POLICY
from tailcut.service.service_limits import ServiceLimits

HEADER_BYTES = 32 * 1024
"""Of a request's first line and headers together."""
LINGER_SECONDS, LINGER_BYTES = 1.0, 1_000_000
"""How long, and how many bytes, are still read and discarded after a refusal."""


class IdleConnections:
    """The connections that wait for their next request, the one that has waited longest first."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._idle: dict[LimitedConnection, None] = {}

    def add(self, connection: LimitedConnection) -> None:
        """Add an idle connection."""
        self._idle.pop(connection, None)
        self._idle[connection] = None

    def discard(self, connection: LimitedConnection) -> None:
        """Remove a connection that is busy or closed."""
        self._idle.pop(connection, None)

    def make_room(self, count: int) -> None:
        """Close the one that has been idle longest if there are too many connections."""
        if count > self.limit and self._idle:
            oldest = next(iter(self._idle))
            self.discard(oldest)
            oldest.transport.close()


class LimitedConnection(HttpToolsProtocol):
    """A connection with limits on the size of its requests and the time they take to arrive."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ServiceLimits,
        idle: IdleConnections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits, self._waiting = limits, idle
        self._in_message = self._reading_head = False
        self._received = self._head = 0
        self._refused = False
        self._refusal: tuple[int, str] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._waiting.make_room(len(self.connections))
        self._waiting.add(self)
        self._expect(self._limits.header_seconds, "the headers did not arrive in time")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._waiting.discard(self)
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive data, up to the limit."""
        if self.parser is None or self.transport.is_closing():
            return
        self._received += len(data)
        if self._refused:
            if self._received > LINGER_BYTES:
                self.transport.close()
            return
        fresh = not self._in_message
        super().data_received(data)
        if fresh and self._in_message:
            self._received = len(data)  # all of it belongs to the request that began in it
        if self._reading_head and self._received > HEADER_BYTES and not self._refused:
            self._refuse(431, _TOO_LARGE)

    def on_message_begin(self) -> None:
        """Begin to read a request."""
        super().on_message_begin()
        self._waiting.discard(self)
        self._in_message = self._reading_head = True
        self._received = self._head = 0
        self._expect(self._limits.header_seconds, "the headers did not arrive in time")

    def on_url(self, url: bytes) -> None:
        """Receive a piece of the URL."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Receive a header or a trailer."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > HEADER_BYTES:
            self._refusal = (431, _TOO_LARGE)
            raise ValueError(_TOO_LARGE)  # ends the parsing

    def on_headers_complete(self) -> None:
        """Start handling the request."""
        self._reading_head = False
        self._expect(self._limits.body_seconds, "the body did not arrive in time")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait for nothing more of this request."""
        self._in_message = False
        self._expect_nothing()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._waiting.add(self)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Refuse what is not HTTP."""
        self._refuse(*(self._refusal or (400, "this is not HTTP/1.1")))

    def _expect(self, seconds: float, otherwise: str) -> None:
        self._expect_nothing()
        self._timer = self.loop.call_later(seconds, self._too_late, otherwise)

    def _expect_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self, message: str) -> None:
        self._timer = None
        if self._received:
            self._refuse(408, message)
        else:
            self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        """Respond as the routes do, and close after a delay, so that the client can read the response."""
        if self._refused or self.transport.is_closing():
            return
        self._refused, self._received = True, 0
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            content = to_json({"status": status, "message": message, "errors": [], "id": None})
            headers = [
                *HEADERS,
                POLICY,
                (b"content-type", b"application/json"),
                (b"content-length", str(len(content)).encode()),
                (b"connection", b"close"),
            ]
            lines = b"".join(b"%b: %b\r\n" % header for header in headers)
            self.transport.write(STATUS_LINE[status] + lines + b"\r\n" + content)
        self._waiting.discard(self)
        self._expect_nothing()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)


_TOO_LARGE = f"the headers are too large: at most {HEADER_BYTES} bytes"
