"""``tailcut sat``: the bundled domain: generate formulas, list families and solvers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Satisfiability, the bundled domain: generate formulas, list families and solvers.",
    no_args_is_help=True,
)
_AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON list instead of text.")]


@app.command("generate")
def generate(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write to; created if missing.")],
    count: Annotated[int, typer.Option(min=1, help="How many formulas.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Same seed and count, same formulas.")] = 0,
    family: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Take formulas of this family; repeat for more. Without: all."),
    ] = None,
    as_json: _AsJson = False,
) -> None:
    """Write a mixed stream of formulas as DIMACS files, FAMILY-NUMBER.cnf, numbered by position.

    If a file already exists with a different formula, nothing is written.
    """
    from rich.console import Console
    from rich.progress import Progress

    from tailcut.domains.sat.generators import write_stream

    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("generating", total=count)
        files = write_stream(out, count, seed, family, on_written=lambda _path: progress.advance(task))
    if as_json:
        rows = [
            {"file": str(file.path), "family": file.family, "seed": file.seed, "written": file.written}
            for file in files
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    there = sum(not file.written for file in files)
    same = f", {there} already existed" if there else ""
    typer.echo(f"{out}: {len(files) - there} formulas written{same}")


@app.command("families")
def families(as_json: _AsJson = False) -> None:
    """List the families of formulas and the kind of solver that suits each."""
    from tailcut.domains.sat.generators import FAMILIES

    rows = [{"name": name, "what": family.what, "suits": family.suits} for name, family in FAMILIES.items()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        typer.echo(f"{row['name']:<12} {row['what']} (suits {row['suits']})")


@app.command("solvers")
def solvers(as_json: _AsJson = False) -> None:
    """List the solvers: run one with `python -m tailcut.domains.sat.solve NAME FILE`."""
    from tailcut.domains.sat.solvers import SOLVERS

    if as_json:
        typer.echo(json.dumps([{"name": name, "what": what} for name, what in SOLVERS.items()], indent=2))
        return
    for name, what in SOLVERS.items():
        typer.echo(f"{name:<14} {what}")
