"""A complete benchmark: reads the scenarios, plans the cells, computes the missing ones, and sums up.

Each cell is stored as soon as it is done. An `Executor` takes cells and yields their results as they come, in
any order, each once. Two are here, for this machine; a third, for a Dask cluster, is
`tailcut.cluster.cell_executor`. Scenarios of solution quality have mean losses in place of PARk.
"""

from __future__ import annotations

import inspect
import math
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from importlib import import_module
from itertools import groupby, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tailcut.bench.baselines import PICKS, replay_baseline
from tailcut.bench.labels import STREAM, BenchProtocol, Conditions, kind_of
from tailcut.bench.plan import Cell, Contender, plan
from tailcut.bench.ranks import RankedGroup, ranked_groups
from tailcut.bench.replay import Folds, Trace, best_in_training, cross_validate, folds_of, losses_of, replay
from tailcut.bench.store import Result, Store, describe_scenario, opened
from tailcut.bench.summary import ReferenceCosts, normalised, paid, par_name, summarise
from tailcut.bench.sweeps import find_plan
from tailcut.catalogue import BASELINES, find, find_all, find_registered, register
from tailcut.display import counted, data_frame, html_table
from tailcut.errors import InputError, MissingExtraError
from tailcut.numerics.processes import unordered
from tailcut.scenarios import QualityScenario, Scenario, bundled
from tailcut.scenarios.aslib_reader import scenarios_in
from tailcut.selector import Selector
from tailcut.types import PENALTY

Executor = Callable[[Sequence[Cell]], Iterator[Result]]
"""Cells -> their results, as they come."""


class BenchProgress:
    """Is called as a benchmark proceeds; override the methods you need."""

    def scenario_left_out(self, name: str, reason: str) -> None:
        """Handle a scenario of the folder that is not run, and the reason."""

    def cells_planned(self, cells: Sequence[Cell], done: Sequence[Cell]) -> None:
        """Handle the planned cells, and those that the result file already has."""

    def cell_done(self, cell: Cell, result: Result) -> None:
        """Handle a cell that was computed or failed."""


SILENT = BenchProgress()
"""Ignores everything."""


def inline(cells: Sequence[Cell]) -> Iterator[Result]:
    """Yield results computed in this process, with one BLAS thread: more would only interfere."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise MissingExtraError(
            "the benchmark needs the extra 'bench': pip install 'tailcut[bench]'"
        ) from error
    import scipy.linalg  # noqa: F401 - brings its own BLAS, which must be loaded to be limited

    with threadpool_limits(limits=1):
        yield from map(compute, cells)


def processes(jobs: int, modules: Sequence[str] = ()) -> Executor:
    """Return an executor that spreads cells over `jobs` processes of this machine.

    Each of them imports `modules`, and gets what else was registered in this one, if it can be passed on.
    """
    return lambda cells: unordered(
        partial(compute, modules=tuple(modules), registered=_registered(cells)), cells, jobs=jobs
    )


def _registered(cells: Sequence[Cell]) -> dict[str, bytes]:
    """Return the selectors of cells that were registered here, for other processes."""
    found = {}
    for name in {cell.contender.selector for cell in cells}:
        if (row := find_registered(name)) is not None:
            with _for_other_processes(name):
                found[name] = pickle.dumps(row)
    return found


@contextmanager
def _for_other_processes(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever pickling raises, and modules that are imported for it
        raise InputError(
            f"{name}: other processes cannot load it ({type(error).__name__}: {error}): register it in a "
            "module and name that (--import MODULE, from Python modules=[...]), or use one process (jobs=1)"
        ) from None


def local(jobs: int, modules: Sequence[str] = ()) -> Executor:
    """Return the default executor: processes, or this process if one is enough."""
    return processes(jobs, modules) if jobs > 1 else inline


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    progress: BenchProgress = SILENT,
) -> list[tuple[Cell, Result]]:
    """Compute those cells that the store lacks, write each to it when done, and return those that failed."""
    done = store.done()
    progress.cells_planned(cells, [cell for cell in cells if cell.hash in done])
    missing = {cell.hash: cell for cell in cells if cell.hash not in done}
    compute_all = local(jobs) if executor is None else executor
    failed = []
    for result in compute_all(list(missing.values())):
        cell = missing[result.hash]
        store.add(cell, result)
        if result.error is not None:
            failed.append((cell, result))
        progress.cell_done(cell, result)
    return failed


def import_selectors(modules: Iterable[str]) -> None:
    """Import modules that call `tailcut.register`, each once; raise if one cannot be imported."""
    for name in modules:
        if name in sys.modules:
            continue
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise InputError(f"module {name} needs {error.name}, which is not installed") from error
            hint = "; leave out .py" if name.endswith(".py") else ""
            where = f"{Path.cwd()}, nor among the installed ones"
            raise InputError(f"there is no module {name} in {where}{hint}") from error
        except Exception as error:  # third-party code may raise anything
            raise InputError(f"module {name} cannot be imported: {type(error).__name__}: {error}") from error


@lru_cache(maxsize=2)
def read(folder: str) -> Scenario:
    return Scenario.read(folder)


def compute(cell: Cell, modules: Sequence[str] = (), registered: Mapping[str, bytes] | None = None) -> Result:
    """Return the result of one cell; any exception becomes its error.

    `modules` are imported first, in case one of them registers the selector; else it may be in `registered`.
    """
    import_selectors(modules)
    name = cell.contender.selector
    if registered and name in registered and find(name) is None:
        with _for_other_processes(name):
            register(pickle.loads(registered[name]))
    return guarded(cell, lambda: read(cell.folder))


def guarded(cell: Cell, scenario: Callable[[], Scenario]) -> Result:
    """Return the result of one cell on the given scenario; any exception becomes its error."""
    started = time.perf_counter()
    try:
        return compute_on(scenario(), cell)
    except Exception:  # one broken cell must not stop the others; its error is kept for the reader
        return Result(cell.hash, time.perf_counter() - started, error=traceback.format_exc(limit=-8))


def compute_on(scenario: Scenario | QualityScenario, cell: Cell) -> Result:
    """Return the result of one cell on its scenario: replayed through the selector, and what that cost."""
    started = time.perf_counter()
    conditions = cell.contender.conditions
    folds = folds_of(scenario, conditions.folds, cell.seed) if conditions.cv else None
    trace = _replayed(cell, scenario, folds)
    losses, solved = paid(scenario, trace, cell.penalty)
    reference = ReferenceCosts.of(scenario, cell.penalty)
    best_of_training = None
    if folds is not None:
        recorded = losses_of(scenario, cell.penalty)
        best_of_training = float(recorded[np.arange(len(recorded)), best_in_training(recorded, folds)].mean())
    return Result(
        cell.hash,
        time.perf_counter() - started,
        par=float(losses.mean()),
        unsolved=float(1.0 - solved.mean()),
        decision_us=float(trace.seconds.mean() * 1e6),
        vbs=reference.vbs,
        sbs=reference.sbs,
        answer_cpu=float(trace.cpu.sum()),
        extra_cpu=trace.extra_cpu,
        sbs_train=best_of_training,
        choices=trace.choices.astype(np.int16),
        losses=losses,
        step_seconds=trace.seconds.astype(np.float32),
    )


def _replayed(cell: Cell, scenario: Scenario | QualityScenario, folds: Folds | None) -> Trace:
    name, conditions, seed = cell.contender.selector, cell.contender.conditions, cell.seed
    if name in BASELINES:
        return replay_baseline(
            scenario, name, seed=seed, penalty=cell.penalty, folds=folds, cores=conditions.cores
        )
    settings = cell.contender.settings(cell.penalty)

    def new_selector() -> Selector:
        return Selector(name, scenario.algorithms, scenario.cutoff, seed=seed, **settings)

    if folds is not None:
        return cross_validate(scenario, new_selector, folds, seed=seed, learn_on=conditions.learn_on)
    return replay(scenario, new_selector(), seed=seed, conditions=conditions)


Scenarios = str | os.PathLike[str] | Scenario | Sequence[Scenario] | None
"""A folder of scenarios, scenarios in memory, or None: the bundled one."""

_SHOWN = (
    *("scenario", "selector", "seeds", "{par}_mean", "{par}_std", "n{par}"),
    *("loss_mean", "loss_std", "nloss", "unsolved", "decision_us"),
)
"""The columns that a notebook shows, as far as there are such."""


@dataclass(frozen=True, repr=False)
class BenchOutcome:
    """The result of a benchmark."""

    rows: list[dict[str, Any]]
    """One row per scenario and contender, as returned by `summarise`, in the requested order."""
    failed: list[tuple[Cell, Result]]
    """Cells that failed this time, with their errors."""
    missing: dict[str, str] = field(default_factory=dict)
    """Contenders of the plan that were not run, by their labels, with what is not installed."""

    def __repr__(self) -> str:
        scenarios, selectors = (len({row[key] for row in self.rows}) for key in ("scenario", "selector"))
        ran = f"{counted(scenarios, 'scenario')}, {counted(selectors, 'selector')}"
        return f"BenchOutcome({ran}, {counted(len(self.failed), 'cell')} failed)"

    def _repr_html_(self) -> str:
        """Show the rows, within each scenario the cheapest first."""
        first = self.rows[0] if self.rows else {}
        shown = [name for column in _SHOWN if (name := column.format(par=par_name(first))) in first]
        ordered = sorted(self.rows, key=lambda row: (row["scenario"], row[shown[3]]))
        return html_table(repr(self), shown, [[row[name] for name in shown] for row in ordered])

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame, one per scenario and selector."""
        return data_frame(self.rows)


@dataclass(frozen=True)
class Benchmark:
    """Scenarios and the cells that contenders and seeds make of them."""

    scenarios: tuple[tuple[str, Scenario], ...]
    """Each with the folder it was read from."""
    cells: tuple[Cell, ...]
    penalty: float
    missing: dict[str, str] = field(default_factory=dict)
    """Contenders of the plan that are not run, by their labels, with what is not installed."""

    def run(
        self,
        out: Path,
        *,
        jobs: int = 1,
        executor: Executor | None = None,
        command: str = "",
        progress: BenchProgress = SILENT,
    ) -> BenchOutcome:
        """Compute what the result file `out` lacks and return the summary of all cells.

        `command` is recorded in the file as the command that made the cells.
        """
        with opened(out) as store:
            store.begin_run(command)
            for _, scenario in self.scenarios:
                store.describe_scenario(scenario.name, describe_scenario(scenario, self.penalty))
            failed = run_cells(self.cells, store, jobs=jobs, executor=executor, progress=progress)
            stored = {row["hash"]: row for row in store.rows(cell.hash for cell in self.cells)}
        # Under the labels of the contenders, not those they were first stored under: `thompson` and
        # `thompson:noise_variance=1.0` are the same cell if 1.0 is the default.
        rows = summarise({**stored[cell.hash], "selector": cell.contender.label} for cell in self.cells)
        rows.sort(key=lambda row: str(row["scenario"]))
        return BenchOutcome(rows, failed, self.missing)


def benchmark(
    folder: Path,
    *,
    scenarios: Sequence[str] | None = None,
    contenders: Sequence[Contender] | None = None,
    plan_name: str = "default",
    whole_folder: bool = False,
    seeds: int = 10,
    first_seed: int = 0,
    penalty: float = PENALTY,
    conditions: Conditions = STREAM,
    folds: int = 0,
    progress: BenchProgress = SILENT,
) -> Benchmark:
    """Return the benchmark of the scenarios in a folder, ready to run.

    Without `scenarios`, those that the named plan is meant for, or all with `whole_folder`; without
    `contenders`, those of the plan, as far as what they need is installed. Contenders without conditions of
    their own get `conditions`; in cross-validation, the best of the training folds is one of them, and those
    that learn on are added to those that do not. All that are cross-validated get `folds`.
    """
    named = find_plan(plan_name)
    judged = under_conditions(contenders or named.contenders, conditions, folds)
    able, missing = installed(judged, named=bool(contenders))
    preferred = None if whole_folder else named.scenarios
    read = scenarios_in(folder, scenarios, preferred, progress.scenario_left_out)
    cells = plan(read, able, seeds, penalty, first_seed=first_seed)
    return Benchmark(tuple(read), tuple(cells), penalty, missing)


def installed(
    contenders: Sequence[Contender], *, named: bool
) -> tuple[tuple[Contender, ...], dict[str, str]]:
    """Return the contenders that can be run, and by label what the others lack.

    Those that the caller `named` must not lack anything.
    """
    missing = {contender.label: contender.missing for contender in contenders if contender.missing}
    if missing and named:
        raise MissingExtraError(" ".join(next(iter(missing.items()))))
    return tuple(contender for contender in contenders if not contender.missing), missing


def under_conditions(
    contenders: Sequence[Contender], conditions: Conditions, folds: int = 0
) -> tuple[Contender, ...]:
    """Return contenders under conditions; those that have some of their own keep them.

    `folds` is the number of folds to make for those in cross-validation that do not say it themselves.

    >>> both = under_conditions([Contender.of("tailcut")], Conditions(cv=True, learn_on=True))
    >>> [one.label for one in both]
    ['tailcut@cv', 'tailcut@cv,learn-on', 'sbs_train@cv']
    """
    several = [conditions]
    if conditions.cv:
        contenders = [*contenders, Contender.of("sbs_train")]
        several = [replace(conditions, learn_on=on) for on in sorted({False, conditions.learn_on})]
    judged = []
    for contender, given in product(contenders, several):
        own = given if contender.conditions == STREAM else contender.conditions
        if own.cv:
            own = replace(own, folds=own.folds or given.folds or folds)
        judged.append(contender.under(own))
    if folds and not any(contender.conditions.cv for contender in judged):
        raise InputError(
            "folds: are for cross-validation, and none of these selectors is in it: --protocol cv"
        )
    return tuple(dict.fromkeys(judged))


def run_quality(
    folder: Path,
    names: Sequence[str],
    out: Path,
    *,
    contenders: Sequence[Contender] | None = None,
    plan_name: str = "default",
    seeds: int = 10,
    first_seed: int = 0,
    conditions: Conditions = STREAM,
    folds: int = 0,
    command: str = "",
) -> BenchOutcome:
    """Compute what the result file `out` lacks on scenarios of solution quality of a folder, and sum up.

    Of a plan only those take part that can minimise a loss; one that the caller names must be able to.
    """
    judged = under_conditions(contenders or find_plan(plan_name).contenders, conditions, folds)
    if any(contender.conditions.runs_extra or contender.conditions.cores > 1 for contender in judged):
        raise InputError("scenarios of solution quality know no times: no extra runs, and no races")
    rated = [*(row.name for row in find_all() if row.takes_losses), *PICKS]
    unable = [contender.selector for contender in judged if contender.selector not in rated]
    if contenders and unable:
        raise InputError(f"{unable[0]} cannot be judged by losses; these can: {', '.join(rated)}")
    able = [contender for contender in judged if contender.selector in rated]
    able_here, missing = installed(able, named=bool(contenders))
    read = [(str(folder / name), QualityScenario.read(folder / name)) for name in names]
    cells = plan(read, able_here, seeds, first_seed=first_seed)
    scenarios = {scenario.name: scenario for _, scenario in read}
    with opened(out) as store:
        store.begin_run(command)
        stored = store.quality_rows()
        for cell in cells:
            if cell.hash not in stored:
                stored[cell.hash] = store.add_quality(cell, compute_on(scenarios[cell.scenario], cell))
    rows = [
        _summary(scenarios[name], label, [stored[cell.hash] for cell in own])
        for (name, label), own in groupby(cells, lambda cell: (cell.scenario, cell.contender.label))
    ]
    return BenchOutcome(rows, [], missing)


def _summary(scenario: QualityScenario, label: str, cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    losses = np.array([cell["loss"] for cell in cells])
    mean = float(losses.mean())
    share = normalised(mean, ReferenceCosts(cells[0]["best"], cells[0]["single"]))
    return {
        "scenario": scenario.name,
        "measure": scenario.measure,
        "selector": label,
        "kind": kind_of(label),
        "seeds": len(cells),
        "loss_mean": mean,
        "loss_std": float(losses.std()),
        "nloss": round(share, 12) + 0.0 if math.isfinite(share) else None,  # no -0 by the rounding of a mean
        "decision_us": float(np.mean([cell["decision_us"] for cell in cells])),
    }


def run(
    selectors: Sequence[str] | None = None,
    scenarios: Scenarios = None,
    *,
    seeds: int = 10,
    out: str | os.PathLike[str] = "results.db",
    jobs: int = 1,
    modules: Sequence[str] = (),
    protocol: str = "stream",
    progress: BenchProgress = SILENT,
    **options: Any,
) -> BenchOutcome:
    """Replay scenarios through selectors, and return one row per scenario and selector.

    Selectors are named as on the command line, with hyperparameters and conditions:
    `thompson:noise_variance=2`, `tailcut@measure-first=25`. Cells that the result file `out` holds are not
    computed again. `options` are those of `benchmark` and the conditions of the command: `learn_on`, `cores`,
    `measure_first` and `measure_cutoff`. `modules` register selectors, here and where cells are computed.

    >>> import tempfile
    >>> runs = {"instance": ["i1", "i1", "i2", "i2"], "algorithm": ["a", "b", "a", "b"],
    ...         "runtime": [1.0, 60.0, 60.0, 8.0], "status": ["ok", "timeout", "timeout", "ok"]}
    >>> features = {"instance": ["i1", "i2"], "size": [10.0, 200.0]}
    >>> scenario = Scenario.from_frames(runs, features, cutoff=60.0, name="tiny")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run(["thompson", "sbs"], scenario, seeds=1, out=f"{folder}/results.db")
    >>> outcome
    BenchOutcome(1 scenario, 2 selectors, 0 cells failed)
    >>> [row["npar10"] for row in outcome.rows if row["selector"] == "sbs"]
    [1.0]
    """
    conditions = {field.name for field in fields(Conditions)} - {"cv", "folds"}
    passed_on = {"folder", "scenarios", "contenders", "seeds", "progress"}
    known = sorted({*conditions, *inspect.signature(benchmark).parameters} - passed_on)
    for name in set(options) - set(known):
        own = "seeds, out, jobs, modules, protocol, progress"
        raise InputError(f"run has no option {name!r}; it has: {own}, {', '.join(known)}", field=name)
    if protocol not in list(BenchProtocol):
        raise InputError(
            f"protocol: expected {' or '.join(BenchProtocol)}, got {protocol!r}", field="protocol"
        )
    given = {name: options.pop(name) for name in conditions if name in options}
    given |= {"cv": True} if protocol == BenchProtocol.CV else {}
    options["conditions"] = replace(options.get("conditions", STREAM), **given)
    import_selectors(modules)
    chosen = None if selectors is None else [Contender.parse_label(name) for name in selectors]
    with TemporaryDirectory() as scratch:
        folder = _folder(scenarios, Path(scratch))
        planned = benchmark(folder, contenders=chosen, seeds=seeds, progress=progress, **options)
        place = local(jobs, modules)
        return planned.run(Path(out), executor=place, command="tailcut.bench.run", progress=progress)


def compare(outcome: BenchOutcome) -> list[RankedGroup]:
    """Return the ranking of each kind of contender over the scenarios, as `tailcut compare` makes it."""
    return ranked_groups(outcome.rows)


def _folder(scenarios: Scenarios, scratch: Path) -> Path:
    if scenarios is None:
        return bundled.FOLDER
    if isinstance(scenarios, str | os.PathLike):
        return Path(scenarios)
    for scenario in [scenarios] if isinstance(scenarios, Scenario) else scenarios:
        scenario.write(scratch / scenario.name)
    return scratch
