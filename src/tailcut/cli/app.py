"""The command ``tailcut``: its subcommands, and how errors reach the user.

Only the module of the command that is called is imported: one needs SciPy, another FastAPI, and help should
not wait for either. So names and summaries are listed here, and a test compares them with the docstrings of
the commands. What the help says of options and arguments is in `help.toml`.

An error that the user can fix is one line on stderr and exit code 2; a traceback is a bug of ours.
"""

from __future__ import annotations

import errno
import sys
import tomllib
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
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
"""Every command and its summary, that of a function `command` or of a group `app` in its module."""


class _LazyGroup(TyperGroup):
    """Knows the names and summaries of its commands; imports the one that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = loaded(args[0])
        return super().resolve_command(ctx, args)


class _GroupedCommand(TyperCommand):
    """Lists options in the help by their group, `rich_help_panel`, which plain help would ignore."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


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
    """Return a command, or group of them, from its module, with the texts of its help."""
    module = import_module(f"tailcut.cli.{name}")
    holder = typer.Typer(rich_markup_mode=None)
    if hasattr(module, "app"):
        holder.add_typer(module.app, name=name)
    else:
        holder.command(name, cls=_GroupedCommand)(module.command)
    command: Any = get_group(holder).commands[name]
    groups = {one: group for group, names in getattr(module, "OPTION_GROUPS", {}).items() for one in names}
    texts = tomllib.loads(Path(__file__).with_name("help.toml").read_text(encoding="utf-8"))
    for one in getattr(command, "commands", {"": command}).values():
        own = texts["shared"] | (texts[name] if one is command else texts[name][one.name])
        for parameter in one.params:
            parameter.help = parameter.help or own.get(parameter.opts[0])
            parameter.rich_help_panel = groups.get(parameter.name)
        if one is not command:
            one.short_help = one.get_short_help_str(limit=1000)  # else cut off after 45 characters
    return command


for _name, _summary in COMMANDS.items():
    app.command(_name, help=_summary, short_help=_summary)(lambda: None)  # stands in until it is loaded


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
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        sys.stderr.write(f"tailcut: {error.filename or 'output'}: {error.strerror}\n")
        sys.exit(2)
