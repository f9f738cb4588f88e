"""The guard runs before every route, so that none can be forgotten.

In this order: the host that was asked for, the token, its scope, the size of the body. Reading needs the
scope ``read``, everything else ``write``. It also puts the security headers on every response, counts and
logs requests, and turns uncaught errors into a 500 that contains only an id.

Even before that, connections are limited. An idle one costs only a few kilobytes, so there may be many. Work
is limited: bytes of headers in the connection, bytes of bodies in the guard, requests in the writer's queues.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import secrets
import time
from dataclasses import dataclass
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

from fastapi import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tailcut.errors import JournalError
from tailcut.journal.tokens import Tokens, scopes_of
from tailcut.service.responses import error_response
from tailcut.service.service_limits import ServiceLimits
from tailcut.service.statistics import ServerMetrics

PAGE = files("tailcut.service") / "page"
_TYPES = {"css": "text/css; charset=utf-8", "svg": "image/svg+xml", "js": "text/javascript; charset=utf-8"}
ASSETS = {
    file.name: _TYPES[kind]
    for file in sorted(PAGE.iterdir(), key=lambda file: file.name)
    if (kind := file.name.rpartition(".")[2]) in _TYPES
}
"""The dashboard's files and their types: a fixed list, so that a request cannot read any other file."""
PAGES = frozenset({"/", "/docs"} | {f"/page/{name}" for name in ASSETS})
"""Paths of static pages, which contain no data."""
OPEN = frozenset({("GET", "/v1/health")} | {("GET", page) for page in PAGES})
"""Paths that need no token."""
READING = frozenset({"GET", "HEAD"})
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'")
PAGE_POLICY = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    b"require-trusted-types-for 'script'; trusted-types 'none'",
)
"""Policy for pages: load only from this server, and never treat text as HTML."""
LARGE = 100_000
"""Bytes of a body whose memory is freed at once if the request fails."""
SLOW = 1.0
"""Seconds after which a request counts as slow and is logged."""
FRESH, EAGER = 0.2, 0.1
"""Seconds after which the tokens are read again: for one that may be revoked, and for one that may be new."""
HEADER_BYTES = 32 * 1024
"""Of a request's first line and headers together."""
LINGER_SECONDS, LINGER_BYTES = 1.0, 1_000_000
"""How long, and how many bytes, are still read and discarded after a refusal."""
_TOO_LARGE = f"the headers are too large: at most {HEADER_BYTES} bytes"
_HEADERS_LATE = "the headers did not arrive in time"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_PROCESS, _COUNT = secrets.token_hex(4), count(1)
"""What the ids of requests are made of: which run of the server, and which request."""

log = logging.getLogger("tailcut.service")


class Access:
    """The scopes of a state file's tokens."""

    def __init__(self, path: Path) -> None:
        self._file = Tokens(path)
        self._tokens, self._read = self._file.all(), time.monotonic()

    def scopes(self, header: str | None) -> frozenset[str] | None:
        """Return the scopes of an ``Authorization`` header; None if the token is unknown."""
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return None
        scopes = scopes_of(token.strip(), self._tokens)
        if time.monotonic() - self._read > (EAGER if scopes is None else FRESH):
            self._read = time.monotonic()
            with contextlib.suppress(JournalError):  # locked for the moment: use what was read before
                self._tokens = self._file.all()
            scopes = scopes_of(token.strip(), self._tokens)
        return scopes


@dataclass(eq=False)
class Guard:
    """Checks every request before its route.

    `hosts` are the host names that this server accepts, None for any. This defeats DNS rebinding, where the
    name of another site points here.
    """

    app: ASGIApp
    access: Access
    metrics: ServerMetrics
    hosts: frozenset[str] | None
    limits: ServiceLimits
    under_way: int = 0
    """Bytes of the bodies of all requests in progress."""

    @property
    def too_large(self) -> str:
        return f"the body is too large: at most {self.limits.body_bytes} bytes"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # nothing speaks websocket here
        exchange = _Exchange(scope, receive, send, self)
        try:
            await (self._refusal(scope) or self.app)(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            exchange.status = exchange.status or 499  # nobody is there to respond to
        except Exception:
            log.exception("request %s failed: %s %s", exchange.id, scope["method"], scope["path"])
            if exchange.status is None:
                text = f"a fault of the server; its log says more under {exchange.id}"
                await error_response(500, text, exchange.id)(scope, receive, exchange.send)
        finally:
            self.under_way -= exchange.taken
        if exchange.taken > LARGE and (exchange.status or 500) >= 400:
            gc.collect(1)  # an error's traceback refers to itself and to the body
        self._account(scope, exchange)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return why a request is refused, before any of its body is read, or None."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if sum(name == b"host" for name, _ in scope["headers"]) > 1:
            return error_response(400, "there is more than one Host header")
        if self.hosts is not None and _host(headers.get(b"host", "")) not in self.hosts:
            return error_response(421, "this server does not answer to that host")
        if (scope["method"], scope["path"]) not in OPEN:
            header = headers.get(b"authorization", "")
            scopes = self.access.scopes(header)
            if scopes is None:
                text = "send a token: 'Authorization: Bearer TOKEN'"
                if header.lower().startswith("bearer "):
                    text = "this token is wrong, or was revoked"
                return error_response(401, text, headers={"WWW-Authenticate": "Bearer"})
            wanted = "read" if scope["method"] in READING else "write"
            if wanted not in scopes:
                return error_response(403, f"this token may not {wanted}")
        length = headers.get(b"content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self.limits.body_bytes:
            return error_response(413, self.too_large)
        return None

    def _account(self, scope: Scope, exchange: _Exchange) -> None:
        seconds = time.perf_counter() - exchange.since
        route = getattr(scope.get("route"), "path", "none")
        status = exchange.status or 500
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.metrics.request(method, route, status, seconds)
        level = logging.DEBUG if status < 400 and seconds < SLOW else logging.INFO
        if log.isEnabledFor(level):
            fields = {"method": scope["method"], "path": scope["path"], "status": status}
            fields |= {"milliseconds": round(1e3 * seconds, 2), "request": exchange.id}
            log.log(level, "request", extra={"fields": fields})


class _Exchange:
    def __init__(self, scope: Scope, receive: Receive, send: Send, guard: Guard) -> None:
        self.since, self.id = time.perf_counter(), f"{_PROCESS}-{next(_COUNT):x}"
        self.status: int | None = None
        self.taken = 0
        """Bytes of the body that have arrived."""
        self._policy = PAGE_POLICY if scope["path"] in PAGES else POLICY
        self._receive, self._send, self._guard = receive, send, guard

    async def receive(self) -> Message:
        """Pass on a piece of the body, unless it becomes too large; chunked bodies have no length."""
        message = await self._receive()
        if message["type"] == "http.request":
            size, guard = len(message.get("body", b"")), self._guard
            if self.taken + size > guard.limits.body_bytes:
                raise HTTPException(413, guard.too_large)
            if guard.under_way + size > guard.limits.bytes_under_way:
                text = "too many requests are in progress; try again"
                raise HTTPException(503, text, headers={"Retry-After": "1"})
            guard.under_way += size
            self.taken += size
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = [*HEADERS, (b"x-request-id", self.id.encode()), self._policy]
            message["headers"] = [*message.get("headers", ()), *own]
        await self._send(message)


def _host(header: str) -> str:
    """Return the name in a ``Host`` header, without the port: that may be forwarded from another.

    >>> _host("localhost:8000"), _host("[::1]:8000"), _host("127.0.0.1")
    ('localhost', '[::1]', '127.0.0.1')
    """
    if header.startswith("["):
        return header.partition("]")[0].lower() + "]"
    return header.rpartition(":")[0].lower() if ":" in header else header.lower()


class LimitedConnection(HttpToolsProtocol):
    """A connection with limits on the size of its requests and the time they take to arrive.

    With httptools, uvicorn has neither of them. Where its `limit_concurrency` would answer with 503, here the
    first of the `idle` connections, which has waited longest, is closed if there are more than `most`.
    """

    def __init__(
        self, *args: Any, limits: ServiceLimits, most: int, idle: dict[LimitedConnection, None], **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self._limits, self._most, self._idle = limits, most, idle
        self._received = self._head = 0
        """Bytes since the last message ended, or since a refusal; and those of the head, parsed."""
        self._reading_body = self._refused = False
        self._refusal = 400, "this is not HTTP/1.1"
        self._late_refusal: tuple[int, str] | None = None
        """A refusal that waits until earlier requests of a pipeline are answered."""
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
        if not self._refused:
            super().data_received(data)
            if not self._reading_body and self._received > HEADER_BYTES:
                self._refuse(431, _TOO_LARGE)
        elif self._received > LINGER_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._idle.pop(self, None)
        self._head = 0
        self._expect(self._limits.header_seconds, _HEADERS_LATE)

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + 4)  # also of a chunked body's trailer
        super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > HEADER_BYTES:
            self._refusal = 431, _TOO_LARGE
            raise ValueError(_TOO_LARGE)  # ends the parsing

    def on_headers_complete(self) -> None:
        self._reading_body = True
        self._expect(self._limits.body_seconds, "the body did not arrive in time")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._received, self._reading_body = 0, False
        self._expect_nothing()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        last = not self.pipeline
        super().on_response_complete()
        if self._late_refusal is not None and last:
            self._send_refusal(*self._late_refusal)
        elif not self.transport.is_closing():
            self._idle[self] = None

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        self._refuse(*self._refusal)

    def _expect(self, seconds: float, otherwise: str) -> None:
        self._expect_nothing()
        self._timer = self.loop.call_later(seconds, self._too_late, otherwise)

    def _expect_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

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
        if self.cycle is None or self.cycle.response_complete or self._reading_body:
            self._send_refusal(status, message)
        else:
            self._late_refusal = status, message
            self.flow.resume_reading()
            self._expect_nothing()

    def _send_refusal(self, status: int, message: str) -> None:
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
