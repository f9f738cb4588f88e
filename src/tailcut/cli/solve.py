"""``tailcut solve``: one instance in, the answering solver's output and exit code out."""

from __future__ import annotations

from typing import Annotated

import typer

from tailcut.cli.solve_options import USUAL, problem_of
from tailcut.errors import InputError


def command(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="The instance. Without, or -: standard input.")
    ] = None,
    domain: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use the solvers that a domain brings, such as sat.")
    ] = None,
    portfolio: Annotated[
        str | None, typer.Option(metavar="FILE", help="Use the solvers of a portfolio file (TOML).")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="State file: what was learned; any number of calls share it. Without: PORTFOLIO-solve.db, "
            "or NAME.db in the user's folder for state.",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Learn in a project of `tailcut serve` instead; TAILCUT_TOKEN holds a token that may write.",
        ),
    ] = None,
    project: Annotated[
        str, typer.Option(metavar="NAME", help="Project of the server; created if missing.")
    ] = USUAL["project"],
    cutoff: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Seconds for this instance, features included. Without: those that the state file was "
            "created "
            "with; a new one takes the portfolio's.",
        ),
    ] = None,
    selector: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:key=value,...]",
            help="Selector of a new state file. Without: the portfolio's, else tailcut_schedule.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the selector of a new state file.")] = USUAL["seed"],
    parallel: Annotated[
        int,
        typer.Option(
            metavar="K", help="Solvers at once, those that are best together; the first answer wins."
        ),
    ] = USUAL["parallel"],
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write how it went, as one JSON object.")
    ] = None,
    keep: Annotated[
        float,
        typer.Option(metavar="S", help="Seconds that a newly started daemon stays when idle."),
    ] = USUAL["keep"],
    stop: Annotated[
        bool, typer.Option("--stop", help="Solve nothing: end the daemon when its calls are done.")
    ] = False,
) -> None:
    """Solve one instance with the most promising solvers, as if they were a single solver.

    Standard output and exit code are those of the solver that answered; SAT: 10 and 20, and 0 for unknown.
    Calls learn from each other, whether concurrent or consecutive. The first starts a daemon that owns the
    state file; it ends when idle. Killing a call ends its solver; nothing learned is lost, whatever is
    killed.
    """
    given = {
        "file": None if file == "-" else file,
        "domain": domain,
        "portfolio": portfolio,
        "state": state,
        "server": server,
        "project": project,
        "cutoff": cutoff,
        "selector": selector,
        "seed": seed,
        "parallel": parallel,
        "report": report,
        "keep": keep,
        "stop": stop,
    }
    problem = problem_of(given)
    if problem is not None:
        raise InputError(problem)
    from tailcut.solve.thin_client import run

    raise typer.Exit(run(given))
