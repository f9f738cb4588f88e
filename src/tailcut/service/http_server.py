"""The application, its routes behind a guard, and running it: a socket, a process, a log, an orderly end."""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import json
import logging
import resource
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tailcut import __version__
from tailcut.errors import InputError, TailcutError
from tailcut.journal import Journal, Tokens
from tailcut.service import reading, responses, routes
from tailcut.service.guard import ASSETS, OPEN, PAGE, READING, Access, Guard, LimitedConnection
from tailcut.service.journal_writer import JournalWriter
from tailcut.service.routes import ServiceContext
from tailcut.service.service_limits import ServiceLimits
from tailcut.service.statistics import Estimates, ServerMetrics

LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""The host names of a local server."""
_DESCRIPTION = (
    "Which algorithm to run on which instance, learned from the outcomes. Every decision and outcome is on "
    "disk before it is answered. All requests but /v1/health need a token: 'Authorization: Bearer TOKEN'. "
    "The whole description is at /v1/openapi.json."
)
FIRST_TOKEN = "first"
BACKLOG = 4_096
"""Connections that may wait to be accepted."""
SPARE_FILES = 100
"""Open files that are not connections."""
SWITCH = 0.001
"""The interpreter's switch interval, so that the writer does not block the network thread for long."""
YOUNG = 10_000
"""New objects between two runs of the garbage collector: a batch makes thousands, all freed without it."""

log = logging.getLogger("tailcut.service")


def build(
    path: Path, *, limits: ServiceLimits | None = None, hosts: frozenset[str] | None = LOCAL
) -> FastAPI:
    """Return the application for a state file, which exists; it is opened when the application starts."""
    limits, metrics, access = limits or ServiceLimits(), ServerMetrics(), Access(path)

    def open_files() -> tuple[JournalWriter, Journal]:
        return JournalWriter(path, limits, metrics), Journal(path, read_only=True)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        writer, reading_journal = getattr(app.state, "files", None) or open_files()
        try:
            with reading_journal as journal, ThreadPoolExecutor(1, "journal reader") as thread:
                async with contextlib.aclosing(Estimates(path)) as estimates:
                    app.state.context = ServiceContext(writer, journal, thread, access, estimates)
                    yield
        finally:
            writer.stop()

    routers = (routes.step, routes.manage, reading.server, reading.router)  # the busiest first
    app = FastAPI(
        title="Tailcut",
        version=__version__,
        summary="Online algorithm selection over HTTP",
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        lifespan=lifespan,
        redirect_slashes=False,
        routes=[*(route for router in routers for route in router.routes), *_PAGES],
        exception_handlers={
            TailcutError: responses.of_error,
            RequestValidationError: responses.of_validation,
            HTTPException: responses.of_http,
        },
    )
    app.state.open_files = open_files
    app.openapi = partial(_openapi, app)  # type: ignore[method-assign]
    app.add_middleware(Guard, access=access, metrics=metrics, hosts=hosts, limits=limits)
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document: FastAPI's, with the scopes."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if (method.upper(), path) not in OPEN:
                    operation["security"] = [{"token": []}]
                    scope = "read" if method.upper() in READING else "write"
                    operation["description"] += f"\n\nNeeds a token with the scope `{scope}`."
    return FastAPI.openapi(app)


def _page(path: str, name: str, kind: str) -> Route:
    return Route(path, Response((PAGE / name).read_bytes(), media_type=kind), methods=["GET"])


async def _docs(request: Request) -> Response:
    """List the routes; without scripts, styles or pictures, so the strictest policy holds."""
    document = request.app.openapi()
    rows = [
        f"<tr><td><code>{method.upper()} {escape(path)}</code><td>{escape(operation.get('summary', ''))}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    title, text = escape(f"Tailcut {__version__}"), escape(document["info"]["description"])
    return HTMLResponse(
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>"
        f"<meta name='viewport' content='width=device-width'><h1>{title}</h1>"
        f"<p>{text}</p><table>{''.join(rows)}</table></html>"
    )


# The dashboard is a page without data, which asks for a token and then loads data with it.
_PAGES = [
    Route("/docs", _docs, methods=["GET"]),
    _page("/", "index.html", "text/html"),
    *(_page(f"/page/{name}", name, kind) for name, kind in ASSETS.items()),
]


def first_token(path: Path) -> str | None:
    """Create the file and the first token if missing; return the token if it is new."""
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}")
    Journal(path).close()
    tokens = Tokens(path)
    return None if tokens.all() else tokens.create(FIRST_TOKEN, ["read", "write"])


def bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host} port {port}: {reason}", field="host") from None
    listener.setblocking(False)
    return listener


def accepted_hosts(host: str, more: list[str]) -> frozenset[str] | None:
    """Return the accepted host names: for a local server its own, otherwise those given, or any.

    >>> sorted(accepted_hosts("127.0.0.1", []) or []), accepted_hosts("0.0.0.0", [])
    (['127.0.0.1', '[::1]', 'localhost'], None)
    """
    names = frozenset(name.lower() for name in more)
    return LOCAL | {host.lower()} | names if is_local(host) else names or None


def is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def serve(server: HttpServer, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH)
    gc.set_threshold(YOUNG, *thresholds[1:])
    try:
        server.run(sockets=[listener])
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)


def prepared(
    path: Path,
    *,
    limits: ServiceLimits | None = None,
    hosts: frozenset[str] | None = LOCAL,
    ready: Callable[[], None] = lambda: None,
) -> HttpServer:
    """Return a server for a state file with tokens; `ready` is called when it listens."""
    limits = limits or ServiceLimits()
    app = build(path, limits=limits, hosts=hosts)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    connections = limits.connections
    if most != resource.RLIM_INFINITY:
        connections = min(connections, most - SPARE_FILES)
    connection: Any = partial(LimitedConnection, limits=limits, most=connections, idle={})
    config = uvicorn.Config(
        app,
        http=connection,  # uvicorn only calls it
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nothing depends on where a request came from
        date_header=False,
        ws="none",
        timeout_graceful_shutdown=limits.grace_seconds,
        timeout_keep_alive=int(limits.idle_seconds),
    )
    return HttpServer(config, app, ready)


class HttpServer(uvicorn.Server):
    """Ends live streams when it stops, and then exits normally: to be stopped by a signal is no failure."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.application, self._ready = app, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # In the application's own start, an error would be a traceback in the log.
        self.application.state.files = self.application.state.open_files()
        await super().startup(sockets)
        if self.started:
            log.info("ready")
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Stop, without raising the signal again at the end, as uvicorn would."""
        log.info("stopping")
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.application.state.context.stopping.set()
        await super().shutdown(sockets)


def configure_log(*, level: str, as_json: bool) -> None:
    """Send the log of the server and its libraries to standard error, one line per event."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LogLine(as_json))
    for name, lowest in (("tailcut.service", level.upper()), ("uvicorn.error", "WARNING")):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(lowest)


class _LogLine(logging.Formatter):
    """A line of text with the fields of a request as words, or a JSON object, with a traceback as a field."""

    converter = staticmethod(time.gmtime)

    def __init__(self, as_json: bool) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        if not self._as_json:
            return " ".join([super().format(record), *(f"{name}={_word(fields[name])}" for name in fields)])
        at, level = round(record.created, 6), record.levelname.lower()
        content = {"at": at, "level": level, "message": record.getMessage(), **fields}
        if record.exc_info:
            content["traceback"] = self.formatException(record.exc_info)
        return json.dumps(content)


def _word(value: object) -> str:
    r"""Return a value as one word, so that client input cannot forge a log line.

    >>> _word("/v1/health"), _word("/x\n2026 INFO all is well")
    ('/v1/health', '"/x\\n2026 INFO all is well"')
    """
    text = str(value)
    return text if text.isprintable() and " " not in text and '"' not in text else json.dumps(text)
