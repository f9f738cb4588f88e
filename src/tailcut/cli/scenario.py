"""``tailcut scenario``: look at, check, make and fetch ASlib scenarios."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tailcut.cli.options import ASLIB, JSON, existing, scenario_folder, show
from tailcut.errors import InputError

if TYPE_CHECKING:
    from tailcut.scenarios import Scenario

app = typer.Typer(help="List, describe, check, create and fetch ASlib scenarios.", no_args_is_help=True)

_SHOWN = 50
"""Problems of one scenario printed for people; --json has them all."""


def summary(scenario: Scenario) -> dict[str, Any]:
    """Return what `info` says of a scenario, as plain values."""
    from tailcut.bench.store import describe_scenario

    found = describe_scenario(scenario)
    return {
        **{key: found[key] for key in ("name", "instances", "features")},
        "algorithms": len(scenario.algorithms),
        **{key: found[key] for key in found if key == "cutoff" or key.startswith("timeouts_")},
        "sbs": found["sbs"],
        "sbs_par10": found["sbs_par"],
        "vbs_par10": found["vbs_par"],
        "feature_costs": scenario.has_feature_costs,
        "feature_cost_mean": found["feature_cost_mean"],
    }


@app.command("list")
def listing(aslib: Path | None = ASLIB, as_json: JSON = False) -> None:
    """List the available scenarios: the bundled one and, with --aslib, those of that folder."""
    from tailcut.scenarios import bundled
    from tailcut.scenarios.aslib_reader import names_in

    folders = [bundled.FOLDER, *([] if aslib is None else [existing(aslib)])]
    found = [{"name": name, "folder": str(folder / name)} for folder in folders for name in names_in(folder)]
    width = max(len(row["name"]) for row in found)
    show(found, (f"{row['name']:<{width}}  {row['folder']}" for row in found), as_json=as_json)
    if aslib is None and not as_json:
        sys.stderr.write(
            "more with --aslib DIR or TAILCUT_ASLIB; `tailcut scenario fetch NAME` fetches one\n"
        )


@app.command("info")
def info(
    given: str = typer.Argument(..., metavar="DIR|NAME"), aslib: Path | None = ASLIB, as_json: JSON = False
) -> None:
    """Describe a scenario: its size, its timeouts, its single best and virtual best solver."""
    from tailcut.scenarios import Scenario

    found = summary(Scenario.read(scenario_folder(given, aslib)))
    costs = f"{found['feature_cost_mean']:.2f} s on average" if found["feature_costs"] else "none given"
    lines = {
        "scenario": found["name"],
        "instances": found["instances"],
        "features": found["features"],
        "algorithms": found["algorithms"],
        "cutoff": f"{found['cutoff']:g} s",
        "unsolved runs": "mean {timeouts_mean:.1%}, median {timeouts_median:.1%}, "
        "min {timeouts_min:.1%}, max {timeouts_max:.1%} over algorithms".format(**found),
        "SBS": f"{found['sbs']}, PAR10 {found['sbs_par10']:.2f} s",
        "VBS": f"PAR10 {found['vbs_par10']:.2f} s",
        "feature costs": costs,
    }
    show(found, (f"{label:<14} {value}" for label, value in lines.items()), as_json=as_json)


@app.command("check")
@app.command("validate", hidden=True)  # its name in 0.1
def check(folders: list[Path] = typer.Argument(..., metavar="DIR"), as_json: JSON = False) -> None:
    """Check scenarios and report all problems, with file, line and field.

    Exit code 0: all can be read (there may be warnings); 1: at least one cannot; 2: wrong call.
    """
    from tailcut.scenarios import check_scenario

    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder")
    found = {folder: check_scenario(folder) for folder in folders}
    invalid = {folder: any(p.severity == "error" for p in problems) for folder, problems in found.items()}
    rows, lines = [], []
    for folder, problems in found.items():
        rows.append(
            {"path": str(folder), "valid": not invalid[folder], "problems": [asdict(p) for p in problems]}
        )
        count = f"; problems: {len(problems)}" if problems else ""
        lines.append(f"{folder}: {'invalid' if invalid[folder] else 'valid'}{count}")
        lines += [f"  {problem.severity}: {problem}" for problem in problems[:_SHOWN]]
        if len(problems) > _SHOWN:
            lines.append(f"  ... and {len(problems) - _SHOWN} more (all with --json)")
    show(rows, lines, as_json=as_json)
    if any(invalid.values()):
        raise typer.Exit(1)


@app.command("from-csv")
def from_csv(
    runs: Path = typer.Option(..., metavar="FILE"),
    features: Path = typer.Option(..., metavar="FILE"),
    cutoff: float = typer.Option(..., metavar="S"),
    name: str = typer.Option(..., metavar="NAME"),
    out: Path = typer.Option(..., metavar="DIR"),
) -> None:
    """Make an ASlib scenario from two CSV files.

    Both files start with a line of column names. An empty cell is a missing value. Without a status
    column, a run is ok if its runtime is at most the cutoff, otherwise (or with no runtime) a timeout;
    with one, it is one of ok, timeout, memout, not_applicable, crash, other. Every algorithm needs a
    run on every instance.
    """
    from tailcut.scenarios.frames import scenario_from_csv

    scenario = scenario_from_csv(runs, features, cutoff=cutoff, name=name)
    scenario.write(out)
    n, k = scenario.runtimes.shape
    typer.echo(f"{out}: {n} instances, {k} algorithms, {len(scenario.feature_names)} features")


@app.command("fetch")
def fetch_command(
    name: str = typer.Argument(..., metavar="NAME"),
    to: Path | None = typer.Option(None, metavar="DIR"),
    base_url: str | None = typer.Option(None, metavar="URL", show_default="the ASlib repository on GitHub"),
    timeout: float = typer.Option(30.0, min=0.1, metavar="S"),
    max_seconds: float = typer.Option(1800.0, min=0.1, metavar="S"),
    max_megabytes: float = typer.Option(1000.0, min=0.001, metavar="MB"),
) -> None:
    """Fetch a scenario from the ASlib repository and print its folder.

    If interrupted, run it again. A manifest keeps the SHA-256 of every file; a second run checks them and
    fetches only what is missing or has changed. The scenarios are under the GNU GPL, version 3.

    More than --max-megabytes, or more time than --max-seconds, is an error; complete files are kept.
    """
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

    from tailcut.cli.views import bars_on_stderr
    from tailcut.scenarios.fetch import BASE_URL, fetch

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with bars_on_stderr(*columns) as bars:
        tasks: dict[str, Any] = {}

        def show(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file, total=total)
            bars.update(tasks[file], completed=done, total=total)

        folder = fetch(
            name,
            to=to,
            base_url=base_url or BASE_URL,
            timeout=timeout,
            progress=show,
            max_bytes=round(max_megabytes * 1e6),
            max_seconds=max_seconds,
        )
    typer.echo(str(folder))
