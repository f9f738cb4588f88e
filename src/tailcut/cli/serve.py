"""``tailcut serve``: one selector for many workers, over HTTP."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailcut.errors import MissingExtraError
from tailcut.service.service_limits import ServiceLimits

if TYPE_CHECKING:
    from tailcut.service.http_server import Started

_DEFAULT = ServiceLimits()


class LogLevel(StrEnum):
    """How much is logged."""

    debug = "debug"
    info = "info"
    warning = "warning"


def command(
    state: Annotated[Path, typer.Option(metavar="FILE", help="State file; created if missing.")],
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free one.")] = 8765,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Host name that clients may use; repeat for more."),
    ] = None,
    max_projects: Annotated[int, typer.Option(min=1, help="Maximum number of projects.")] = _DEFAULT.projects,
    max_pending: Annotated[
        int, typer.Option(min=1, help="Decisions of a project that may wait for their outcome.")
    ] = _DEFAULT.pending,
    max_body: Annotated[
        int, typer.Option(min=1024, help="Maximum size of a request's body in bytes.")
    ] = _DEFAULT.body_bytes,
    snapshot_every: Annotated[
        int,
        typer.Option(
            min=1, help="Events between two snapshots; at most this many are replayed after a crash."
        ),
    ] = _DEFAULT.snapshot_every,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log JSON lines.")] = False,
    log_level: Annotated[
        LogLevel, typer.Option(help="debug logs every request, info those that failed or were slow.")
    ] = LogLevel.info,
) -> None:
    """Serve the projects of a state file over HTTP.

    Everything is on disk before the response. The first start creates a token and prints it once; `tailcut
    token` creates more. On SIGTERM or Ctrl-C, requests in progress are completed before the server exits.
    """
    try:
        from tailcut.service import http_server
    except ModuleNotFoundError as error:
        needed = {
            "fastapi",
            "httptools",
            "orjson",
            "prometheus_client",
            "pydantic",
            "pydantic_core",
            "starlette",
            "uvicorn",
        }
        if error.name not in needed:
            raise
        raise MissingExtraError(
            "tailcut serve needs the extra 'service': pip install 'tailcut[service]'"
        ) from None

    def started(server: Started) -> None:
        typer.echo(f"Tailcut serves {state} at {server.address}")
        typer.echo(f"dashboard: {server.address}/")
        if server.token is not None:
            typer.echo(f"token, shown only now: {server.token}")
        if not server.local:
            typer.echo("warning: other machines can connect, and nothing is encrypted", err=True)
        sys.stdout.flush()

    http_server.configure_log(level=log_level.value, as_json=log_json)
    limits = ServiceLimits(
        body_bytes=max_body, projects=max_projects, pending=max_pending, snapshot_every=snapshot_every
    )
    http_server.serve_state(
        state, host=host, port=port, allowed_hosts=allowed_host or [], limits=limits, started=started
    )
