"""Running the service: a socket, a process, and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import logging
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import uvicorn
from fastapi import FastAPI

from tailcut.errors import InputError
from tailcut.journal import Journal, Tokens
from tailcut.service.application import LOCAL, build
from tailcut.service.connections import IdleConnections, LimitedConnection
from tailcut.service.service_limits import ServiceLimits

FIRST_TOKEN = "first"
"""The name of the first token."""
GRACE = 10
"""Seconds that requests in progress have when the server stops."""
BACKLOG = 4_096
"""Connections that may wait to be accepted."""
SPARE_FILES = 100
"""Open files that are not connections."""
SWITCH = 0.001
"""The interpreter's switch interval, so that the writer does not block the network thread for long."""
YOUNG = 10_000
"""New objects between two runs of the garbage collector: a batch makes thousands, all freed without it."""

log = logging.getLogger("tailcut.service")


def first_token(path: Path) -> str | None:
    """Create the file and the first token if missing; return the token if it is new."""
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}")
    Journal(path).close()
    tokens = Tokens(path)
    return None if tokens.all() else tokens.create(FIRST_TOKEN, ["read", "write"])


def open_files() -> int:
    """Raise this process's limit of open files to the maximum, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return 2**31 if hard == resource.RLIM_INFINITY else hard


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise with the reason if that fails."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host} port {port}: {reason}", field="host") from None
    listener.setblocking(False)
    return listener


def known_hosts(host: str, more: list[str]) -> frozenset[str] | None:
    """Return the accepted host names: for a local server its own, otherwise those given, or any.

    >>> sorted(known_hosts("127.0.0.1", []) or []), known_hosts("0.0.0.0", [])
    (['127.0.0.1', '[::1]', 'localhost'], None)
    """
    if is_local(host):
        return LOCAL | {host.lower()} | {name.lower() for name in more}
    return frozenset(name.lower() for name in more) or None


def is_local(host: str) -> bool:
    """Return whether a server on this address is local."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def address_of(listener: socket.socket) -> str:
    """Return the address of a listener."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Started(NamedTuple):
    """What to report about a server that has started."""

    address: str
    token: str | None
    """The first token, if it is new."""
    local: bool
    """Whether it is local."""


def serve_state(
    path: Path,
    *,
    host: str,
    port: int,
    allowed_hosts: list[str],
    limits: ServiceLimits,
    started: Callable[[Started], None],
) -> None:
    """Serve the projects of a state file until SIGTERM or SIGINT; the file is created if missing."""
    with bound(host, port) as listener:
        token = first_token(path)  # only after the port is taken: it is shown only once
        about = Started(address_of(listener), token, is_local(host))
        hosts = known_hosts(host, allowed_hosts)
        serve(prepared(path, limits=limits, hosts=hosts, ready=lambda: started(about)), listener)


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
    idle = IdleConnections(min(limits.connections, open_files() - SPARE_FILES))
    connection: Any = partial(LimitedConnection, limits=limits, idle=idle)  # uvicorn only calls it
    config = uvicorn.Config(
        app,
        http=connection,
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nothing depends on where a request came from
        date_header=False,
        ws="none",
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=int(limits.idle_seconds),
    )
    return HttpServer(config, app, ready)


class HttpServer(uvicorn.Server):
    """Ends live streams when it stops, and then exits normally."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.application, self._ready = app, ready
        self.loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, then report it."""
        await super().startup(sockets)
        self.loop = asyncio.get_running_loop()
        if self.started:
            log.info("ready")
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: what is in progress is finished first."""
        log.info("stopping")
        super().handle_exit(sig, frame)
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.application.state.context.stopping.set)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle both signals, and do not raise them again at the end: stopping is not a failure."""
        if threading.current_thread() is not threading.main_thread():
            yield  # signals are for the main thread
            return
        before = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
