"""Running the service: a socket, a process, and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from tailcut.errors import InputError
from tailcut.journal import Journal, Tokens
from tailcut.service.app import LOCAL, build
from tailcut.service.keeper import SNAPSHOT_EVERY
from tailcut.service.limits import Limits

FIRST_TOKEN = "first"
"""The name of the token that is made when there is none."""
GRACE = 10
"""Seconds that requests under way are given when the server is told to stop."""
SWITCH = 0.001
"""Seconds after which the thread that decides lets the one that talks to clients have a turn."""

log = logging.getLogger("tailcut.service")


def first_token(path: Path) -> str | None:
    """Make the file if need be, and a token if there is none; return the token if it is new."""
    Journal(path).close()  # also brings an old one to the present format
    tokens = Tokens(path)
    return None if tokens.all() else tokens.create(FIRST_TOKEN, ["read", "write"])


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host} port {port}: {reason}") from None
    listener.setblocking(False)
    return listener


def answered_hosts(host: str, more: list[str]) -> frozenset[str] | None:
    """Return the names to answer to: on this machine alone its own ones, elsewhere those given, or any.

    >>> sorted(answered_hosts("127.0.0.1", []) or []), answered_hosts("0.0.0.0", [])
    (['127.0.0.1', '[::1]', 'localhost'], None)
    """
    if is_local(host):
        return LOCAL | {host.lower()} | {name.lower() for name in more}
    return frozenset(name.lower() for name in more) or None


def is_local(host: str) -> bool:
    """Tell whether a server that listens there is for this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def address_of(listener: socket.socket) -> str:
    """Return where a listener is found."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(server: Server, listener: socket.socket) -> None:
    """Serve until told to stop by SIGTERM or SIGINT."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        server.run(sockets=[listener])
    finally:
        sys.setswitchinterval(before)


def prepared(
    path: Path,
    *,
    limits: Limits | None = None,
    hosts: frozenset[str] | None = LOCAL,
    snapshot_every: int = SNAPSHOT_EVERY,
    ready: Callable[[], None] = lambda: None,
) -> Server:
    """Return a server for a state file that has tokens; `ready` is called when it answers."""
    app = build(path, limits=limits, hosts=hosts, snapshot_every=snapshot_every)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        ws="none",
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=60,
        limit_concurrency=1_000,
    )
    return Server(config, app, ready)


class Server(uvicorn.Server):
    """Ends live streams when it is told to stop, and then ends as a program that did its work."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.application, self._ready = app, ready
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, then say so."""
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        if self.started:
            log.info("ready")
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: what is under way is finished first."""
        log.info("stopping")
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.application.state.context.stopping.set)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take both signals, and do not send them again at the end: being stopped is no failure."""
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
