"""``tailcut report``: tables, figures and a page made of a result file, or of a live run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer

from tailcut.cli.options import ASLIB, MODULES, existing, import_with_folder, make_folder, stoppable
from tailcut.errors import InputError


def command(
    results: Path | None = typer.Argument(None, metavar="[RESULTS|STATE]"),
    out: Path = typer.Option(Path("report"), metavar="DIR"),
    formats: list[str] | None = typer.Option(None, "--format", metavar="FORMAT"),
    aslib: Path | None = ASLIB,
    paper: bool = typer.Option(False, "--paper"),
    scenario_dir: Path | None = typer.Option(None, metavar="DIR"),
    selector: list[str] | None = typer.Option(None, metavar="NAME[:key=value,...]"),
    seeds: int = typer.Option(10, min=1),
    project: str | None = typer.Option(None, metavar="NAME"),
    modules: list[str] | None = MODULES,
    jobs: int = typer.Option(os.cpu_count() or 1, min=1, show_default="all cores"),
) -> None:
    """Turn a result file, or a live run, into tables, figures and one self-contained page.

    For a state file: what the run did, and an estimate of what each single solver would have cost on the same
    instances. The file is only read, even during the run.

    Writes DIR/index.html, DIR/tables (Markdown, LaTeX, CSV, HTML) and DIR/figures. With --aslib, the page
    also shows the survival curves of the scenarios' algorithms.
    """
    from tailcut.cli.progress_bars import ProgressBars, called_as
    from tailcut.report.page import FORMATS, require, with_svg
    from tailcut.report.reports import report_live_run, report_paper, report_results, report_scenario

    require()
    wanted = with_svg(formats or FORMATS)
    if paper and scenario_dir is not None:
        raise InputError("--paper and --scenario-dir exclude each other")
    if selector and scenario_dir is None:
        raise InputError(
            "--selector goes with --scenario-dir; a report shows all selectors of its result file"
        )
    import_with_folder(modules or ())
    read = None if paper or scenario_dir is not None else results
    if read is not None and not read.is_file():
        raise InputError(f"{read}: there is no such result file or state file")
    live = read is not None and _is_state_file(read)
    if project is not None and not live:
        raise InputError("--project goes with a state file")
    make_folder(out)
    words = "stopped; results computed so far are kept: run the same command again"
    with stoppable(words), ProgressBars() as bars:
        shown: dict[str, Any] = {"formats": wanted, "progress": bars}
        run: dict[str, Any] = {"seeds": seeds, "jobs": jobs, "command": called_as(), **shown}
        if scenario_dir is not None:
            source = results or out / "results.db"
            run |= {"selectors": selector, "modules": modules or ()}
            page = report_scenario(scenario_dir, source, out, **run)
        elif paper:
            page = report_paper(existing(aslib), results or Path("results.db"), out, **run)
        elif read is None:
            raise InputError("no result file: name one that `tailcut bench` wrote")
        elif live:
            page = report_live_run(read, out, project=project, **shown)
        else:
            folder = existing(aslib) if aslib else None
            drawing = 1 if modules else jobs  # other processes do not know which of them are schedules
            page = report_results(read, out, aslib=folder, jobs=drawing, **shown)
    typer.echo(str(page))


def _is_state_file(path: Path) -> bool:
    from tailcut.journal.database import APPLICATION

    try:
        with path.open("rb") as file:
            head = file.read(72)
    except OSError:
        return False
    return head.startswith(b"SQLite format 3") and int.from_bytes(head[68:72], "big") == APPLICATION
