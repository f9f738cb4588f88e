"""``tailcut solve``: one instance in, the answering solver's output and exit code out."""

from __future__ import annotations

import typer

from tailcut.cli import SOLVE_DEFAULTS, solve_problem
from tailcut.errors import InputError


def command(
    file: str | None = typer.Argument(None, metavar="[FILE]"),
    domain: str | None = typer.Option(None, metavar="NAME"),
    portfolio: str | None = typer.Option(None, metavar="FILE"),
    state: str | None = typer.Option(None, metavar="FILE"),
    server: str | None = typer.Option(None, metavar="URL"),
    project: str = typer.Option(SOLVE_DEFAULTS["project"], metavar="NAME"),
    cutoff: float | None = typer.Option(None, metavar="S"),
    selector: str | None = typer.Option(None, metavar="NAME[:key=value,...]"),
    seed: int | None = typer.Option(None, metavar="N"),
    parallel: int = typer.Option(SOLVE_DEFAULTS["parallel"], metavar="K"),
    report: str | None = typer.Option(None, metavar="FILE"),
    keep: float = typer.Option(SOLVE_DEFAULTS["keep"], metavar="S"),
    stop: bool = typer.Option(False, "--stop"),
) -> None:
    """Solve one instance with the most promising solvers, as if they were a single solver.

    Standard output and exit code are those of the solver that answered; SAT: 10 and 20, and 0 for unknown.
    Calls learn from each other, whether concurrent or consecutive. The first starts a daemon that owns the
    state file; it ends when idle. Killing a call ends its solver; nothing learned is lost, whatever is
    killed.
    """
    given = {**locals(), "file": None if file == "-" else file}
    problem = solve_problem(given)
    if problem is not None:
        raise InputError(problem)
    from tailcut.solve.thin_client import run

    raise typer.Exit(run(given))
