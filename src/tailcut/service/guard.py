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
from importlib.resources import files
from itertools import count
from pathlib import Path

from fastapi import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
FRESH = 0.2
"""Seconds after which the tokens are read again; until then a revoked one may still work."""
EAGER = 0.1
"""Seconds after which an unknown token, which may be new, makes the server read them again."""
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
        self._refresh(FRESH)
        scopes = scopes_of(token.strip(), self._tokens)
        if scopes is None and self._refresh(EAGER):
            scopes = scopes_of(token.strip(), self._tokens)
        return scopes

    def _refresh(self, age: float) -> bool:
        """Read the tokens again unless that was done just now; return whether they were read."""
        if time.monotonic() - self._read <= age:
            return False
        self._read = time.monotonic()
        try:
            self._tokens = self._file.all()
        except JournalError:  # locked for the moment: use what was read before
            return False
        return True


class Guard:
    """Checks every request before its route.

    `hosts` are the host names that this server accepts, None for any. This defeats DNS rebinding, where the
    name of another site points here. Starlette's own middleware for it does not know IPv6 addresses.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        access: Access,
        metrics: ServerMetrics,
        hosts: frozenset[str] | None,
        limits: ServiceLimits,
    ) -> None:
        self.app, self.access, self.metrics, self.hosts, self.limits = app, access, metrics, hosts, limits
        self.under_way = 0
        """Bytes of the bodies of all requests in progress."""
        self.too_large = f"the body is too large: at most {limits.body_bytes} bytes"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # nothing speaks websocket here
        exchange = _Exchange(scope, receive, send, self)
        refusal = self._refusal(scope)
        try:
            if refusal is not None:
                await refusal(scope, receive, exchange.send)
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

    def _refusal(self, scope: Scope) -> Response | None:
        """Return why a request is refused, before any of its body is read, or None."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
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
            fields = {
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "milliseconds": round(1e3 * seconds, 2),
                "request": exchange.id,
            }
            log.log(level, "request", extra={"fields": fields})


class _Exchange:
    """One request and its response."""

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
        """Pass on a piece of the response."""
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
