"""``tailcut state``: look after the file that ``tailcut serve`` and ``tailcut run`` write."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tailcut.errors import InputError
from tailcut.journal import Journal, upkeep

app = typer.Typer(help="Check, export and compact state files.", no_args_is_help=True)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="State file.")]
ProjectOption = Annotated[
    list[str] | None,
    typer.Option("--project", metavar="NAME", help="Project; repeat for more. Without: all."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print a JSON list instead of text.")]


@app.command()
def verify(file: FileArgument, project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Repeat every project's history and compare: decisions, selector and counts, bit for bit.

    Ends with code 1 where anything differs. May run while a server writes.
    """
    with Journal(file, read_only=True) as journal:
        found = list(upkeep.verify(journal, project or []))
    if as_json:
        typer.echo(json.dumps([one._asdict() for one in found], indent=2))
    else:
        for one in found:
            typer.echo(f"{one.project}: {one.problem or f'{one.events} events, all the same'}")
        if not found:
            typer.echo("there are no projects")
    if any(one.problem for one in found):
        raise typer.Exit(1)


@app.command()
def export(
    file: FileArgument,
    project: ProjectOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write there instead of to standard output.")
    ] = None,
) -> None:
    """Write projects and events as JSON lines. May run while a server writes."""
    with Journal(file, read_only=True) as journal:
        lines = (json.dumps(line, allow_nan=False) for line in upkeep.export(journal, project or []))
        if out is None:
            for line in lines:
                sys.stdout.write(line + "\n")
            return
        try:
            with out.open("x", encoding="utf-8") as stream:
                stream.writelines(f"{line}\n" for line in lines)
        except FileExistsError:
            raise InputError(f"{out}: there is such a file already") from None
        except OSError as error:
            raise InputError(f"{out}: cannot be written: {error.strerror}") from None


@app.command()
def compact(file: FileArgument, project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Replace past events by a snapshot and give the room back to the disk.

    Selectors go on bit for bit. Remarks, decisions that wait and the answers to the latest keys are kept; the
    rest of the history is gone, so export it first if you need it. Refused while another process writes.
    """
    if not file.is_file():
        raise InputError(f"{file}: there is no such state file")
    before = file.stat().st_size
    with Journal(file) as journal:
        found = list(upkeep.compact(journal, project or []))
    after = file.stat().st_size
    if as_json:
        sizes = {"bytes_before": before, "bytes_after": after}
        typer.echo(json.dumps({**sizes, "projects": [one._asdict() for one in found]}, indent=2))
        return
    for one in found:
        typer.echo(f"{one.project}: {one.dropped} events dropped, {one.kept} kept")
    typer.echo(f"{before / 1e6:.1f} MB before, {after / 1e6:.1f} MB after")
