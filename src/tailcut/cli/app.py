"""The command ``tailcut``: its subcommands, and how errors reach the user.

An error that the user can mend is one line on stderr and exit code 2; a traceback is a bug of ours.
"""

from __future__ import annotations

import sys

import typer

from tailcut import __version__
from tailcut.cli import (
    bench,
    compare,
    demo,
    measure,
    replicate,
    report,
    sat,
    scenario,
    selectors,
    serve,
    state,
    token,
)
from tailcut.cli import run as run_command
from tailcut.errors import TailcutError

app = typer.Typer(
    name="tailcut",
    help="Online algorithm selection under censored feedback.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.command)
app.command("bench")(bench.command)
app.command("compare")(compare.command)
app.command("selectors")(selectors.command)
app.add_typer(scenario.app, name="scenario")
app.add_typer(sat.app, name="sat")
app.command("replicate")(replicate.command)
app.command("report")(report.command)
app.command("run")(run_command.command)
app.command("measure")(measure.command)
app.command("serve")(serve.command)
app.add_typer(state.app, name="state")
app.add_typer(token.app, name="token")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tailcut {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


def run() -> None:
    """Run the command line; errors of the user's making end it with code 2 and no traceback."""
    try:
        app()
    except TailcutError as error:
        sys.stderr.write(f"tailcut: {error}\n")
        sys.exit(2)
