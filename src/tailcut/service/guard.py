"""The guard runs before every route, so that none can be forgotten.

In this order: the host that was asked for, the token, its scope, the size of the body. Reading needs the
scope ``read``, everything else ``write``. It also puts the security headers on every response, counts and
logs requests, and turns uncaught errors into a 500 that contains only an id.
"""

from __future__ import annotations

import gc
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from itertools import count
from typing import Any

from fastapi import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from tailcut.service.access import Access
from tailcut.service.assets import ASSETS
from tailcut.service.error_responses import error_response
from tailcut.service.prometheus import ServerMetrics
from tailcut.service.service_limits import ServiceLimits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

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
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Policy for pages: load only from this server, and never treat text as HTML."""
LARGE = 100_000
"""Bytes of a body whose memory is freed at once if the request fails."""
SLOW = 1.0
"""Seconds after which a request counts as slow and is logged."""

log = logging.getLogger("tailcut.service")


class Guard:
    """Checks every request before its route."""

    def __init__(
        self,
        app: App,
        *,
        access: Access,
        metrics: ServerMetrics,
        hosts: frozenset[str] | None,
        limits: ServiceLimits,
    ) -> None:
        self.app, self.access, self.metrics = app, access, metrics
        self.hosts = hosts
        """Host names that this server accepts, None for any. This defeats DNS rebinding, where the name of
        another site points here."""
        self.limits, self.body_bytes = limits, limits.body_bytes
        self.under_way = 0
        """Bytes of the bodies of all requests in progress."""

    def take_in(self, size: int) -> None:
        """Count bytes of a body; raise if all bodies together are too large."""
        if self.under_way + size > self.limits.bytes_under_way:
            raise HTTPException(
                503, "too many requests are in progress; try again", headers={"Retry-After": "1"}
            )
        self.under_way += size

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one connection of ASGI."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # nothing speaks websocket here
        exchange = _Exchange(scope, receive, send, self)
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refusal(scope, headers)
        try:
            if refused is not None:
                await refused(scope, receive, exchange.send)
            else:
                await self.app(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            exchange.status = exchange.status or 499  # nobody is there to respond to
        except Exception:
            log.exception("request %s failed: %s %s", exchange.id, scope["method"], scope["path"])
            if exchange.status is None:
                text = f"a fault of the server; its log says more under {exchange.id}"
                await error_response(500, text, request_id=exchange.id)(scope, receive, exchange.send)
        finally:
            self.under_way -= exchange.taken
        if exchange.taken > LARGE and (exchange.status or 500) >= 400:
            gc.collect(1)  # an error's traceback refers to itself and to the body
        self._account(scope, exchange)

    def _refusal(self, scope: MutableMapping[str, Any], headers: dict[bytes, str]) -> Response | None:
        """Return why a request is refused, before any of its body is read, or None."""
        if self.hosts is not None and _host(headers.get(b"host", "")) not in self.hosts:
            return error_response(421, "this server does not answer to that host")
        if (scope["method"], scope["path"]) not in OPEN:
            scopes = self.access.scopes(headers.get(b"authorization"))
            if scopes is None:
                given = headers.get(b"authorization", "").lower().startswith("bearer ")
                text = (
                    "this token is wrong, or was revoked"
                    if given
                    else "send a token: 'Authorization: Bearer TOKEN'"
                )
                return error_response(401, text, headers={"WWW-Authenticate": "Bearer"})
            wanted = "read" if scope["method"] in READING else "write"
            if wanted not in scopes:
                return error_response(403, f"this token may not {wanted}")
        length = headers.get(b"content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self.body_bytes:
            return error_response(413, f"the body is too large: at most {self.body_bytes} bytes")
        return None

    def _account(self, scope: MutableMapping[str, Any], exchange: _Exchange) -> None:
        seconds = time.perf_counter() - exchange.since
        route = getattr(scope.get("route"), "path", "none")
        status = exchange.status or 500
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.metrics.request(method, route, status, seconds)
        level = logging.DEBUG if status < 400 and seconds < SLOW else logging.INFO
        if log.isEnabledFor(level):
            fields = {
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "milliseconds": round(1e3 * seconds, 2),
                "request": exchange.id,
            }
            log.log(level, "request", extra={"fields": fields})


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


_PROCESS, _COUNT = secrets.token_hex(4), count(1)
"""What the ids of requests are made of: which run of the server, and which request."""


class _Exchange:
    """One request and its response."""

    def __init__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send, guard: Guard) -> None:
        self.since = time.perf_counter()
        self.id = f"{_PROCESS}-{next(_COUNT):x}"
        self.status: int | None = None
        self._page = scope["path"] in PAGES
        self._receive, self._send = receive, send
        self._guard = guard
        self.taken = 0
        """Bytes of the body that have arrived."""

    async def receive(self) -> Message:
        """Pass on a piece of the body, unless it becomes too large; chunked bodies have no length."""
        message = await self._receive()
        if message["type"] == "http.request":
            size = len(message.get("body", b""))
            if self.taken + size > self._guard.body_bytes:
                raise HTTPException(413, f"the body is too large: at most {self._guard.body_bytes} bytes")
            self._guard.take_in(size)
            self.taken += size
        return message

    async def send(self, message: Message) -> None:
        """Pass on a piece of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = message["headers"] = [*message.get("headers", ()), *HEADERS]
            headers.append((b"x-request-id", self.id.encode()))
            headers.append((b"content-security-policy", PAGE_POLICY.encode()) if self._page else POLICY)
        await self._send(message)


def _host(header: str) -> str:
    """Return the name in a ``Host`` header, without the port: that may be forwarded from another.

    >>> _host("localhost:8000"), _host("[::1]:8000"), _host("127.0.0.1")
    ('localhost', '[::1]', '127.0.0.1')
    """
    if header.startswith("["):
        return header.partition("]")[0].lower() + "]"
    return header.rpartition(":")[0].lower() if ":" in header else header.lower()
