"""``tailcut sat``: the bundled domain: generate formulas, list families and solvers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.progress import track

from tailcut.domains.sat.arms import ARMS
from tailcut.domains.sat.cnf import dump, write
from tailcut.domains.sat.generators import FAMILIES, plan
from tailcut.domains.sat.generators import generate as make
from tailcut.errors import InputError

app = typer.Typer(
    help="Satisfiability, the bundled domain: generate formulas, list families and solvers.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
_AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON list instead of text.")]


class _Planned(NamedTuple):
    path: Path
    family: str
    seed: int

    @property
    def comment(self) -> str:
        return f"tailcut.domains.sat.generators.generate({self.family!r}, {self.seed})"


@app.command("generate")
def generate(
    out: Annotated[Path, typer.Option(help="Folder to write to; made if there is none.")],
    count: Annotated[int, typer.Option(min=1, help="How many formulas.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Same seed and count, same formulas.")] = 0,
    family: Annotated[
        list[str] | None, typer.Option(help="Take formulas of this family; repeat for several; default: all.")
    ] = None,
    as_json: _AsJson = False,
) -> None:
    """Write a mixed stream of formulas as DIMACS files, FAMILY-NUMBER.cnf; the number is the place.

    A file that is there already must hold the same formula, or nothing is written.
    """
    planned = [
        _Planned(out / f"{name}.cnf", kind, number) for name, kind, number in plan(count, seed, family)
    ]
    there = [item for item in planned if item.path.exists()]
    missing = [item for item in planned if item not in there]
    for item in there:
        _check_same(item)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for item in track(
            missing, "generating", console=Console(stderr=True), disable=not sys.stderr.isatty()
        ):
            write(item.path, make(item.family, item.seed), item.comment)
    except OSError as error:
        raise InputError(f"{error.filename or out}: cannot be written: {error.strerror or error}") from None
    if as_json:
        rows = [
            {"file": str(item.path), "family": item.family, "seed": item.seed, "written": item in missing}
            for item in planned
        ]
        typer.echo(json.dumps(rows, indent=2))
    else:
        same = f", {len(there)} were there already" if there else ""
        typer.echo(f"{out}: {len(missing)} formulas written{same}")


def _check_same(item: _Planned) -> None:
    try:
        same = item.path.read_bytes() == dump(make(item.family, item.seed), item.comment)
    except OSError as error:
        raise InputError(f"{item.path}: cannot be read: {error.strerror or error}") from None
    if not same:
        raise InputError(f"{item.path}: is there and holds something else; choose another folder")


@app.command("families")
def families(as_json: _AsJson = False) -> None:
    """List the families of formulas and the kind of solver that suits each."""
    rows = [{"name": name, "what": family.what, "suits": family.suits} for name, family in FAMILIES.items()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        typer.echo(f"{row['name']:<12} {row['what']} (suits {row['suits']})")


@app.command("solvers")
def solvers(as_json: _AsJson = False) -> None:
    """List the solvers: run one with `python -m tailcut.domains.sat.solve NAME FILE`."""
    if as_json:
        typer.echo(json.dumps([{"name": name, "what": what} for name, what in ARMS.items()], indent=2))
        return
    for name, what in ARMS.items():
        typer.echo(f"{name:<14} {what}")
