"""``tailcut serve``: one selector for many workers, over HTTP."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tailcut.errors import InputError, MissingExtraError


class LogLevel(StrEnum):
    """How much is logged."""

    debug = "debug"
    info = "info"
    warning = "warning"


def command(
    state: Annotated[Path, typer.Option(metavar="FILE", help="State file; made if there is none.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free one.")] = 8765,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Name that clients may ask for; repeat for more."),
    ] = None,
    max_projects: Annotated[int, typer.Option(min=1, help="Projects at most.")] = 100,
    max_pending: Annotated[
        int, typer.Option(min=1, help="Decisions of a project that may wait for their outcome.")
    ] = 100_000,
    max_body: Annotated[int, typer.Option(min=1024, help="Bytes of a request's body at most.")] = 16 * 2**20,
    snapshot_every: Annotated[
        int, typer.Option(min=1, help="Events between two snapshots: so many are repeated after a crash.")
    ] = 5_000,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log JSON lines.")] = False,
    log_level: Annotated[
        LogLevel, typer.Option(help="debug logs every request, info those that went wrong or took long.")
    ] = LogLevel.info,
) -> None:
    """Serve the projects of a state file over HTTP.

    Everything is on disk before it is answered. The first start makes a token and prints it once; `tailcut
    token` makes more. SIGTERM or Ctrl-C: what is under way is finished, then it ends.
    """
    try:
        from tailcut.service import logs, server
        from tailcut.service.limits import Limits
    except ModuleNotFoundError as error:
        if error.name not in {"fastapi", "uvicorn", "pydantic", "pydantic_core", "starlette"}:
            raise
        raise MissingExtraError(
            "tailcut serve needs the extra 'service': pip install 'tailcut[service]'"
        ) from None
    if not state.parent.is_dir():
        raise InputError(f"{state}: there is no folder {state.parent}")
    logs.configure(level=log_level.value, as_json=log_json)
    token = server.first_token(state)
    with server.bound(host, port) as listener:
        address = server.address_of(listener)

        def ready() -> None:
            typer.echo(f"Tailcut serves {state} at {address}")
            typer.echo(f"dashboard: {address}/")
            if token is not None:
                typer.echo(f"token, shown only now: {token}")
            if not server.is_local(host):
                typer.echo("warning: not only this machine can connect, and nothing is encrypted", err=True)
            sys.stdout.flush()

        limits = Limits(body_bytes=max_body, projects=max_projects, pending=max_pending)
        hosts = server.answered_hosts(host, allowed_host or [])
        prepared = server.prepared(
            state, limits=limits, hosts=hosts, snapshot_every=snapshot_every, ready=ready
        )
        server.serve(prepared, listener)
