"""``tailcut compare``: ranks and statistics over the scenarios of a result file; choosing settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tailcut.cli.imported_modules import ModulesOption, import_with_folder


def command(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Result file of `tailcut bench`.")],
    selector: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Compare only this one; repeat for more. Without: all."),
    ] = None,
    leave_out: Annotated[
        bool,
        typer.Option(
            "--leave-out",
            help="Choose between the settings of each selector instead, leaving scenarios out.",
        ),
    ] = False,
    modules: ModulesOption = None,
    alpha: Annotated[float, typer.Option(min=0.0001, max=0.5, help="Significance level.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare the selectors of a result file over its scenarios, by mean PAR10.

    The hindsight baselines know every runtime and do not compete, unless named. Schedules may run several
    algorithms on an instance, so they compete in a separate group; name them together with others to rank all
    in one group.

    Average ranks (1 is best), wins, the Friedman test of whether they differ at all, and the critical
    difference of average ranks (Nemenyi).

    With --leave-out, hyperparameters are chosen: each scenario, and each family of them, is left out in turn
    and scored with the setting of the selector that has the lowest mean nPAR10 on all others. All
    settings must have been run on the same scenarios and seeds, as `tailcut bench --plan settings` does.
    """
    from tailcut.bench.leave_out import choose_settings
    from tailcut.bench.ranks import ranked_groups
    from tailcut.bench.store import opened
    from tailcut.bench.summary import summarise
    from tailcut.cli import compare_tables
    from tailcut.report.results import load

    import_with_folder(modules or ())
    with opened(results, read_only=True) as store:
        found = load(store)
    if leave_out:
        compare_tables.print_choices(choose_settings(found.cells, selector), found.par, as_json=as_json)
        return
    rows = summarise(found.cells)
    groups = ranked_groups(rows, selector, alpha)
    if as_json:
        main, *others = [group.as_dict() for group in groups]
        typer.echo(json.dumps({**main, "schedules": others[0] if others else None}, indent=2))
    else:
        for group in groups:
            compare_tables.print_group(group)
    if not selector:
        compare_tables.say_who_is_left_out({row["selector"]: row["kind"] for row in rows}, groups)
    left_out = dict.fromkeys(name for group in groups for name in group.left_out)
    compare_tables.say_left_out("scenarios not run with every selector", left_out)
    compare_tables.say_left_out(
        "of the mean nPAR10, scenarios that leave nothing to normalise by",
        dict.fromkeys(row["scenario"] for row in rows if row["npar10"] is None),
    )
