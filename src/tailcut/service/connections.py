"""Connections: limits on size, time and number before a client is authenticated, which uvicorn does not have.

An idle connection costs only a few kilobytes, so there may be many. Work is limited:
bytes of headers here, bytes of bodies in the guard, requests that wait in the writer's queues.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tailcut.service.guard import HEADERS, POLICY
from tailcut.service.responses import error_response
from tailcut.service.service_limits import ServiceLimits

HEADER_BYTES = 32 * 1024
"""Of a request's first line and headers together."""
LINGER_SECONDS, LINGER_BYTES = 1.0, 1_000_000
"""How long, and how many bytes, are still read and discarded after a refusal."""
_TOO_LARGE = f"the headers are too large: at most {HEADER_BYTES} bytes"
_HEADERS_LATE = "the headers did not arrive in time"


class LimitedConnection(HttpToolsProtocol):
    """A connection with limits on the size of its requests and the time they take to arrive.

    `idle` holds the connections that wait for their next request, the one that has waited longest first; if
    there are more than `most` connections, that one is closed.
    """

    def __init__(
        self,
        *uvicorn: Any,
        limits: ServiceLimits,
        most: int,
        idle: dict[LimitedConnection, None],
        **more: Any,
    ) -> None:
        super().__init__(*uvicorn, **more)
        self._limits, self._most, self._idle = limits, most, idle
        self._in_message = self._reading_head = self._refused = False
        self._received = self._head = 0
        self._refusal = 400, "this is not HTTP/1.1"
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._most and self._idle:
            oldest = next(iter(self._idle))
            del self._idle[oldest]
            oldest.transport.close()
        self._idle[self] = None
        self._expect(self._limits.header_seconds, _HEADERS_LATE)

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle.pop(self, None)
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
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
        if self._reading_head and self._received > HEADER_BYTES:
            self._refuse(431, _TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._idle.pop(self, None)
        self._in_message = self._reading_head = True
        self._received = self._head = 0
        self._expect(self._limits.header_seconds, _HEADERS_LATE)

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > HEADER_BYTES:
            self._refusal = 431, _TOO_LARGE
            raise ValueError(_TOO_LARGE)  # ends the parsing

    def on_headers_complete(self) -> None:
        self._reading_head = False
        self._expect(self._limits.body_seconds, "the body did not arrive in time")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_message = False
        self._expect_nothing()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._idle[self] = None

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        self._refuse(*self._refusal)

    def _expect(self, seconds: float, otherwise: str) -> None:
        self._expect_nothing()
        self._timer = self.loop.call_later(seconds, self._too_late, otherwise)

    def _expect_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self, message: str) -> None:
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
            response = error_response(status, message)
            headers = [*response.raw_headers, *HEADERS, POLICY, (b"connection", b"close")]
            lines = b"".join(b"%b: %b\r\n" % header for header in headers)
            self.transport.write(STATUS_LINE[status] + lines + b"\r\n" + bytes(response.body))
        self._idle.pop(self, None)
        self._expect_nothing()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)
