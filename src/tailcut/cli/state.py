"""``tailcut state``: look after the file that ``tailcut serve`` and ``tailcut run`` write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tailcut.cli.options import ASLIB, JSON, recorded_runs, show
from tailcut.errors import InputError

app = typer.Typer(
    help="Verify, export, compact and repair state files; let projects learn recorded runs.",
    no_args_is_help=True,
)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE")]
ProjectOption = Annotated[list[str] | None, typer.Option("--project", metavar="NAME")]


@app.command()
def verify(file: FileArgument, project: ProjectOption = None, as_json: JSON = False) -> None:
    """Replay every project's history and compare decisions, selector and counts, bit for bit.

    Exits with code 1 if anything differs. May run while a server writes.
    """
    from tailcut.journal import Journal, upkeep

    with Journal(file, read_only=True) as journal:
        found = list(upkeep.verify(journal, project or []))
    words = [
        f"{one.project}: {one.problem or f'{one.events} events replayed, no difference'}" for one in found
    ]
    _print_projects(found, words, as_json)


def _print_projects(found: Sequence[Any], words: list[str], as_json: bool) -> None:
    """Print what was found about each project; exit with code 1 if there is a problem with one."""
    show([one._asdict() for one in found], words or ["there are no projects"], as_json=as_json)
    if any(one.problem for one in found):
        raise typer.Exit(1)


@app.command()
def fit(
    file: FileArgument,
    project: str = typer.Argument(..., metavar="PROJECT"),
    where: str = typer.Argument(..., metavar="WHERE"),
    aslib: Path | None = ASLIB,
    as_json: JSON = False,
) -> None:
    """Let a project learn recorded runs, once for each source.

    Solvers and features are matched by name; mismatches are reported. If interrupted, run the same command to
    learn the rest. Refused while another process writes: a server learns through its API.
    """
    from tailcut.journal import Journal, Project
    from tailcut.journal.past_runs import learn_past_runs, read_past_runs

    source = recorded_runs(where, aslib)
    if not file.is_file():
        raise InputError(f"{file}: there is no such state file")
    with Journal(file) as journal:
        kept = Project(journal, project)
        names = kept.selector.feature_names
        report = learn_past_runs(kept, str(source.resolve()), lambda: read_past_runs(source), lambda: names)
        kept.keep()
    show(report.as_dict(), report.describe(), as_json=as_json)


@app.command()
def repair(file: FileArgument, as_json: JSON = False) -> None:
    """Keep what is intact in damaged projects, and report what is dropped.

    For events that cannot be read, and for those that two processes wrote at the same time. Intact projects
    are left unchanged. Exits with code 1 if a project cannot be repaired; it is also left unchanged. Copy the
    file first. Refused while another process writes.
    """
    from tailcut.journal.upkeep import repair_file

    found = repair_file(file)
    _print_projects(found, [one.describe() for one in found], as_json)


@app.command()
def export(
    file: FileArgument, project: ProjectOption = None, out: Path | None = typer.Option(None, metavar="FILE")
) -> None:
    """Write projects and events as JSON lines. May run while a server writes."""
    from tailcut.journal import Journal, upkeep

    with Journal(file, read_only=True) as journal:
        lines = upkeep.export(journal, project or [])
        if out is None:
            for line in lines:
                typer.echo(json.dumps(line, allow_nan=False))
        else:
            upkeep.write_lines(lines, out)


@app.command()
def compact(file: FileArgument, project: ProjectOption = None, as_json: JSON = False) -> None:
    """Replace past events by a snapshot and free disk space.

    Selectors continue bit for bit. Remarks, decisions that wait and those for the latest keys are kept; the
    rest of the history is gone, so export it first if you need it. Refused while another process writes.
    """
    from tailcut.journal import Journal, upkeep

    if not file.is_file():
        raise InputError(f"{file}: there is no such state file")
    before = file.stat().st_size
    with Journal(file) as journal:
        compacted = [one._asdict() for one in upkeep.compact(journal, project or [])]
    after = file.stat().st_size
    lines = ["{project}: {dropped} events dropped, {kept} kept".format_map(one) for one in compacted]
    lines.append(f"{before / 1e6:.1f} MB before, {after / 1e6:.1f} MB after")
    show({"bytes_before": before, "bytes_after": after, "projects": compacted}, lines, as_json=as_json)
