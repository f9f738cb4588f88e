"""``tailcut serve``: one selector for many workers, over HTTP."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path

import typer

from tailcut.errors import MissingExtraError
from tailcut.service.service_limits import ServiceLimits

_DEFAULT = ServiceLimits()


class LogLevel(StrEnum):
    debug = "debug"
    info = "info"
    warning = "warning"


def command(
    state: Path = typer.Option(..., metavar="FILE"),
    host: str = typer.Option("127.0.0.1", metavar="ADDRESS"),
    port: int = typer.Option(8765, min=0, max=65535),
    allowed_host: list[str] | None = typer.Option(None, metavar="NAME"),
    max_projects: int = typer.Option(_DEFAULT.projects, min=1),
    max_pending: int = typer.Option(_DEFAULT.pending, min=1),
    max_body: int = typer.Option(_DEFAULT.body_bytes, min=1024),
    snapshot_every: int = typer.Option(_DEFAULT.snapshot_every, min=1),
    log_json: bool = typer.Option(False, "--log-json"),
    log_level: LogLevel = typer.Option(LogLevel.info),
) -> None:
    """Serve the projects of a state file over HTTP.

    Everything is on disk before the response. The first start creates a token and prints it once; `tailcut
    token` creates more. On SIGTERM or Ctrl-C, requests in progress are completed before the server exits.
    """
    try:
        from tailcut.service import http_server
    except ModuleNotFoundError as error:
        needed = "fastapi httptools orjson prometheus_client pydantic pydantic_core starlette uvicorn"
        if error.name not in needed.split():
            raise
        raise MissingExtraError(
            "tailcut serve needs the extra 'service': pip install 'tailcut[service]'"
        ) from None

    def started() -> None:
        name, number = listener.getsockname()[:2]
        address = f"http://[{name}]:{number}" if ":" in name else f"http://{name}:{number}"
        typer.echo(f"Tailcut serves {state} at {address}")
        typer.echo(f"dashboard: {address}/")
        if token is not None:
            typer.echo(f"token, shown only now: {token}")
        if not http_server.is_local(host):
            typer.echo("warning: other machines can connect, and nothing is encrypted", err=True)
        sys.stdout.flush()

    http_server.configure_log(level=log_level.value, as_json=log_json)
    limits = ServiceLimits(
        body_bytes=max_body, projects=max_projects, pending=max_pending, snapshot_every=snapshot_every
    )
    with http_server.bound(host, port) as listener:
        token = http_server.first_token(state)  # only after the port is taken: it is shown only once
        hosts = http_server.accepted_hosts(host, allowed_host or [])
        http_server.serve(http_server.prepared(state, limits=limits, hosts=hosts, ready=started), listener)
