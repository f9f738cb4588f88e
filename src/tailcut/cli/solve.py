"""``tailcut solve``: one instance in, the answering solver's output and exit code out."""

from __future__ import annotations

import typer

from tailcut.cli import SOLVE_DEFAULTS, solve_problem
from tailcut.errors import InputError


def command(
    file: str | None = typer.Argument(
        None, metavar="[FILE]", help="The instance. Without, or -: standard input."
    ),
    domain: str | None = typer.Option(
        None, metavar="NAME", help="Use the solvers that a domain brings, such as sat."
    ),
    portfolio: str | None = typer.Option(
        None, metavar="FILE", help="Use the solvers of a portfolio file (TOML)."
    ),
    state: str | None = typer.Option(
        None,
        metavar="FILE",
        help="State file: what was learned; any number of calls share it. Without: PORTFOLIO-solve.db, "
        "or NAME.db in the user's folder for state.",
    ),
    server: str | None = typer.Option(
        None,
        metavar="URL",
        help="Learn in a project of `tailcut serve` instead; TAILCUT_TOKEN holds a token that may write.",
    ),
    project: str = typer.Option(
        SOLVE_DEFAULTS["project"], metavar="NAME", help="Project of the server; created if missing."
    ),
    cutoff: float | None = typer.Option(
        None,
        metavar="S",
        help="Seconds for this instance, features included. Without: those that the state file was created "
        "with; a new one takes the portfolio's.",
    ),
    selector: str | None = typer.Option(
        None,
        metavar="NAME[:key=value,...]",
        help="Selector of a new state file. Without: the portfolio's, else tailcut_schedule.",
    ),
    seed: int = typer.Option(SOLVE_DEFAULTS["seed"], help="Seed of the selector of a new state file."),
    parallel: int = typer.Option(
        SOLVE_DEFAULTS["parallel"],
        metavar="K",
        help="Solvers at once, those that are best together; the first answer wins.",
    ),
    report: str | None = typer.Option(None, metavar="FILE", help="Write how it went, as one JSON object."),
    keep: float = typer.Option(
        SOLVE_DEFAULTS["keep"], metavar="S", help="Seconds that a newly started daemon stays when idle."
    ),
    stop: bool = typer.Option(False, "--stop", help="Solve nothing: end the daemon when its calls are done."),
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
