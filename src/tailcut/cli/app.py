"""The command ``tailcut``: its subcommands, and how errors reach the user.

Only the module of the command that is called is imported: one needs SciPy, another FastAPI, and help should
not wait for either. So names and summaries are listed here, and a test compares them with the docstrings of
the commands.

An error that the user can fix is one line on stderr and exit code 2; a traceback is a bug of ours.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from tailcut import __version__
from tailcut.errors import TailcutError

COMMANDS = {
    "demo": "Show what Tailcut does, in about three minutes: first live, then compared with everything else.",
    "bench": "Replay scenarios through selectors and report what each would have cost.",
    "compare": "Compare the selectors of a result file over its scenarios, by mean PAR10.",
    "selectors": "List every selector with its parts and hyperparameters.",
    "scenario": "List, describe, check, create and fetch ASlib scenarios.",
    "domains": "List the domains, the solvers found for each, and what installs the others.",
    "sat": "Satisfiability, the bundled domain: generate formulas, list families and solvers.",
    "replicate": "Run the published PAR10 table again and compare it cell by cell.",
    "report": "Turn a result file, or a live run, into tables, figures and one self-contained page.",
    "run": "Run the solvers of a portfolio on instances, choosing for each by what was learned so far.",
    "solve": "Solve one instance with the most promising solvers, as if they were a single solver.",
    "measure": "Run every solver of a portfolio on every instance and write a scenario that `tailcut bench` "
    "reads.",
    "watch": "Show a run as it happens: solved so far, running now, results by solver.",
    "serve": "Serve the projects of a state file over HTTP.",
    "state": "Verify, export, compact and repair state files; let projects learn recorded runs.",
    "token": "Create, list and revoke the tokens of a state file.",
}
"""Every command, `tailcut.cli.<name>`, and its summary: that of its function `command` or its group `app`."""


class _LazyGroup(TyperGroup):
    """Knows the names and summaries of its commands; imports the one that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Put the real command in the place of its summary."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = loaded(args[0])
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="tailcut",
    cls=_LazyGroup,
    help="Online algorithm selection under censored feedback.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: Rich takes as long to import as all the rest
    context_settings={"help_option_names": ["-h", "--help"]},
)


def loaded(name: str) -> Any:
    """Return a command, or group of them, from its module."""
    module = import_module(f"tailcut.cli.{name}")
    holder = typer.Typer(rich_markup_mode=None)
    if hasattr(module, "app"):
        holder.add_typer(module.app, name=name)
    else:
        holder.command(name)(module.command)
    found = get_group(holder).commands[name]
    for one in getattr(found, "commands", {}).values():
        one.short_help = one.get_short_help_str(limit=1000)  # else cut off after 45 characters
    return found


def _announced() -> None:
    """Stand in for a command that is not loaded."""


for _name, _summary in COMMANDS.items():
    app.command(_name, help=_summary, short_help=_summary)(_announced)


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


_format_warning = warnings.formatwarning


def _on_one_line(message: Warning | str, category: type[Warning], *place: Any, **line: Any) -> str:
    """Return a warning that is meant for the user without the place in the code."""
    for_user = category is UserWarning
    return f"tailcut: {message}\n" if for_user else _format_warning(message, category, *place, **line)


def run() -> None:
    """Run the command line; errors of the user's making end it with code 2 and no traceback."""
    warnings.formatwarning = _on_one_line
    try:
        app()
    except TailcutError as error:
        sys.stderr.write(f"tailcut: {error}\n")
        sys.exit(2)
