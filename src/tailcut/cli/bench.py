"""``tailcut bench``: selectors on scenarios, over seeds, resumable."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from tailcut.bench.conditions import BenchProtocol, Conditions
from tailcut.cli.aslib_folder import AslibOption, or_bundled
from tailcut.cli.executor_options import (
    CELLS,
    CellExecutorOption,
    SchedulerOption,
    cell_executor,
    check_executor,
)
from tailcut.cli.imported_modules import ModulesOption, import_with_folder
from tailcut.display import counted

PLANS = (
    "default: our own, the published table's approaches, two without features, schedules, the hindsight "
    "baselines; published: the thirteen approaches of the published table and the hindsight baselines; "
    "sensitivity: the five hyperparameter sweeps of the paper's appendix on its six scenarios; "
    "ablation: the default selector with one part off or changed at a time; "
    "settings: our own selectors with one hyperparameter lower or higher at a time; "
    "learning: our own selectors, the first instances measured with all algorithms: none, or up to 100; "
    "cv: our own selectors in cross-validation, with and without learning in the test fold, and three "
    "baselines; "
    "peers: our own and other people's: Vowpal Wabbit, MABWiser, river, scikit-learn, schedules; "
    "offline: our own and other people's after fit, in cross-validation: extra trees, pairwise forests."
)
"""What `tailcut.bench.sweeps` says of its plans, which take long to import; a test holds them together."""


def command(
    aslib: AslibOption = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Name of a scenario in DIR; repeat for more. Without: all."),
    ] = None,
    selector: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:key=value,...][@CONDITION,...]",
            help="Selector; repeat for more. Without: those of the plan. Its own conditions, as in "
            "tailcut@measure-first=25, "
            "take precedence over the other options.",
        ),
    ] = None,
    modules: ModulesOption = None,
    plan_name: Annotated[str, typer.Option("--plan", metavar="NAME", help=PLANS)] = "default",
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds; each shuffles the instances.")] = 10,
    first_seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Number of the first seed; the others follow it.")
    ] = 0,
    penalty: Annotated[float, typer.Option(min=1.0, help="The k of PARk.")] = 10.0,
    measure_first: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="M",
            help="Measure the first M instances with all algorithms, and learn from that; extra CPU time.",
        ),
    ] = 0,
    measure_cutoff: Annotated[
        float,
        typer.Option(
            max=1.0, metavar="SHARE", help="How long each of these runs may take, as a share of the cutoff."
        ),
    ] = 1.0,
    protocol: Annotated[
        BenchProtocol,
        typer.Option(
            help="stream: every instance counts, including the first. cv: fit on all folds of the scenario's "
            "cv.arff but one, score on that one."
        ),
    ] = BenchProtocol.STREAM,
    folds: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="With cv: make N folds by the seed if a scenario has none.",
        ),
    ] = 0,
    learn_on: Annotated[
        bool,
        typer.Option(
            "--learn-on", help="With cv: also score selectors that continue to learn during the test fold."
        ),
    ] = False,
    cores: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="K",
            help="Run K algorithms at once on each instance, as a race; wall time counts. sbs "
            "becomes the K algorithms that are best together in hindsight.",
        ),
    ] = 1,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            help="Processes; with dask, workers, unless --scheduler is given.",
            show_default="all cores",
        ),
    ] = os.cpu_count() or 1,
    executor: CellExecutorOption = "processes",
    scheduler: SchedulerOption = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Result file; cells it already holds are not run again.")
    ] = Path("results.db"),
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of a table.")] = False,
) -> None:
    """Replay scenarios through selectors and report what each would have cost.

    Without --aslib, on the scenario that comes with Tailcut: 360 generated formulas, 8 SAT solvers.

    Every cell (scenario, selector, seed) is kept in the result file as soon as it is computed. Stop it at any
    time, even with kill -9, and run the same command again: only what is missing is computed.

    A schedule may run several algorithms on an instance, one after the other within the same cutoff; it is
    marked as one, because selectors that pick once cannot do that.

    A scenario of solution quality runs only if you name it, with the selectors that can minimise a loss.
    It has its own table: mean losses, normalised between the best of each instance (0) and the single best
    algorithm (1).

    Extra runs (--measure-first) cost nothing in PARk. Their time is shown in a separate column,
    as a share of the answers' CPU time.
    """
    from tailcut.bench.benchmark import benchmark, quality_benchmark
    from tailcut.bench.plan import Contender
    from tailcut.cli.bench_tables import print_quality, print_tables
    from tailcut.cli.progress_bars import ProgressBars, called_as, say_failed
    from tailcut.scenarios.aslib_reader import quality_names

    started = time.perf_counter()
    check_executor(executor, CELLS, scheduler)
    import_with_folder(modules or ())
    contenders = [Contender.parse_label(text) for text in selector or ()]
    conditions = Conditions(
        measure_first=measure_first,
        measure_cutoff=measure_cutoff,
        cv=protocol is BenchProtocol.CV,
        cores=cores,
        learn_on=learn_on,
    )
    bars = ProgressBars()
    folder = or_bundled(aslib, scenario or ())
    rated = quality_names(folder, scenario or ())
    judged: dict[str, Any] = {
        "contenders": contenders or None,
        "plan_name": plan_name,
        "seeds": seeds,
        "first_seed": first_seed,
        "conditions": conditions,
        "folds": folds,
    }
    rated_rows: list[dict[str, Any]] = []
    if rated:
        quality = quality_benchmark(folder, rated, **judged)
        rated_rows = quality.run(out, command=called_as())
        if not as_json:
            print_quality(rated_rows, quality.missing)
        if len(rated) == len(set(scenario or ())):
            if as_json:
                typer.echo(json.dumps(rated_rows, indent=2))
            return
    planned = benchmark(
        folder,
        scenarios=None if scenario is None else [name for name in scenario if name not in rated],
        **judged,
        whole_folder=aslib is None,
        penalty=penalty,
        progress=bars,
    )
    try:
        with cell_executor(executor, scheduler, jobs, modules or ()) as place, bars:
            outcome = planned.run(out, executor=place, command=called_as(), progress=bars)
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped; completed work is kept in {out}: run the same command again\n")
        raise typer.Exit(130) from None
    for cell, result in outcome.failed:
        say_failed(cell, result)
    if as_json:
        typer.echo(json.dumps([*outcome.rows, *rated_rows], indent=2))
        for label, reason in outcome.missing.items():
            sys.stderr.write(f"left out: {label} {reason}\n")
    else:
        print_tables(outcome.rows, penalty, outcome.missing)
        took = time.perf_counter() - started
        typer.echo(f"{counted(len(planned.cells), 'cell')} in {took:.1f} s; results in {out}")
    if outcome.failed:
        raise typer.Exit(1)
