"""``tailcut token``: who may talk to the service; may be used while it runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from tailcut.cli.options import JSON, show
from tailcut.journal.tokens import Tokens

app = typer.Typer(help="Create, list and revoke the tokens of a state file.", no_args_is_help=True)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME")]


@app.command()
def create(
    file: FileArgument, name: NameArgument, scope: list[str] | None = typer.Option(None, metavar="SCOPE")
) -> None:
    """Create a token and print it once: only its hash is kept. Running servers accept it within a second."""
    typer.echo(Tokens(file).create(name, scope or ["read"]))


@app.command("list")
def listing(file: FileArgument, as_json: JSON = False) -> None:
    """List tokens: their names, scopes and whether they were revoked."""
    tokens = Tokens(file).all()
    rows, lines = [], []
    for t in tokens:
        rows.append({"name": t.name, "scopes": sorted(t.scopes), "created": t.created, "revoked": t.revoked})
        created = time.strftime("%Y-%m-%d %H:%M", time.localtime(t.created))
        state = "" if t.revoked is None else ", revoked"
        lines.append(f"{t.name}: {' and '.join(sorted(t.scopes))}, created {created}{state}")
    show(rows, lines, as_json=as_json)


@app.command()
def revoke(file: FileArgument, name: NameArgument) -> None:
    """Revoke a token. A running server refuses it within a second."""
    Tokens(file).revoke(name)
