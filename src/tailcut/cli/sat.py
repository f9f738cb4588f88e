"""``tailcut sat``: the bundled domain: generate formulas, list families and solvers."""

from __future__ import annotations

from pathlib import Path

import typer

from tailcut.cli.options import JSON, show

app = typer.Typer(
    help="Satisfiability, the bundled domain: generate formulas, list families and solvers.",
    no_args_is_help=True,
)


@app.command("generate")
def generate(
    out: Path = typer.Option(..., metavar="DIR"),
    count: int = typer.Option(100, min=1),
    seed: int = typer.Option(0, min=0),
    family: list[str] | None = typer.Option(None, metavar="NAME"),
    as_json: JSON = False,
) -> None:
    """Write a mixed stream of formulas as DIMACS files, FAMILY-NUMBER.cnf, numbered by position.

    If a file already exists with a different formula, nothing is written.
    """
    from tailcut.cli.views import bars_on_stderr
    from tailcut.domains.sat.generators import write_stream

    with bars_on_stderr() as progress:
        task = progress.add_task("generating", total=count)
        rows = write_stream(out, count, seed, family, on_written=lambda _path: progress.advance(task))
    there = sum(not row["written"] for row in rows)
    same = f", {there} already existed" if there else ""
    show(rows, [f"{out}: {len(rows) - there} formulas written{same}"], as_json=as_json)


@app.command("families")
def families(as_json: JSON = False) -> None:
    """List the families of formulas and the kind of solver that suits each."""
    from tailcut.domains.sat.generators import FAMILIES

    rows = [{"name": name, "what": family.what, "suits": family.suits} for name, family in FAMILIES.items()]
    show(rows, (f"{row['name']:<12} {row['what']} (suits {row['suits']})" for row in rows), as_json=as_json)


@app.command("solvers")
def solvers(as_json: JSON = False) -> None:
    """List the solvers: run one with `python -m tailcut.domains.sat.solve NAME FILE`."""
    from tailcut.domains.sat.solvers import SOLVERS

    rows = [{"name": name, "what": what} for name, what in SOLVERS.items()]
    show(rows, (f"{name:<14} {what}" for name, what in SOLVERS.items()), as_json=as_json)
