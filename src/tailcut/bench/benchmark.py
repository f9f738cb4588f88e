"""A complete benchmark: reads the scenarios, plans the cells, computes the missing ones, and sums up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tailcut.bench.conditions import STREAM, Conditions
from tailcut.bench.execution import Executor, run_cells
from tailcut.bench.origins import describe_run, describe_scenario
from tailcut.bench.plan import Cell, Contender, plan
from tailcut.bench.store import Result, Store, opened
from tailcut.bench.summary import summarise
from tailcut.bench.sweeps import find_plan
from tailcut.display.data_frame import data_frame
from tailcut.display.html_table import html_table
from tailcut.errors import InputError, MissingExtraError
from tailcut.scenarios import Scenario
from tailcut.scenarios.aslib_reader import scenarios_in
from tailcut.types import PENALTY


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


_SHOWN = ("scenario", "selector", "seeds", "par10_mean", "par10_std", "npar10", "unsolved", "decision_us")
"""The columns that a notebook shows."""


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
        numbers = {
            "scenario": len({row["scenario"] for row in self.rows}),
            "selector": len({row["selector"] for row in self.rows}),
            "cell": len(self.failed),
        }
        counts = ", ".join(f"{number} {word}{'s' * (number != 1)}" for word, number in numbers.items())
        return f"BenchOutcome({counts} failed)"

    def _repr_html_(self) -> str:
        """Show the rows, within each scenario the cheapest first."""
        ordered = sorted(self.rows, key=lambda row: (row["scenario"], row["par10_mean"]))
        return html_table(repr(self), _SHOWN, [[row[name] for name in _SHOWN] for row in ordered])

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame, one per scenario and selector."""
        return data_frame(self.rows)


@dataclass(frozen=True)
class Benchmark:
    """Scenarios, contenders and the cells they make."""

    scenarios: tuple[tuple[str, Scenario], ...]
    """Each with the folder it was read from."""
    contenders: tuple[Contender, ...]
    """Those that can be run."""
    cells: tuple[Cell, ...]
    penalty: float
    missing: tuple[Contender, ...] = ()
    """Those of the plan that need what is not installed."""

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
            store.begin_run(describe_run(command))
            for _, scenario in self.scenarios:
                store.describe_scenario(scenario.name, describe_scenario(scenario, self.penalty))
            failed = compute_missing(self.cells, store, jobs=jobs, executor=executor, progress=progress)
            rows = summarise(self._as_asked(store))
        order = {label: i for i, label in enumerate(dict.fromkeys(one.label for one in self.contenders))}
        rows.sort(key=lambda row: (row["scenario"], order[row["selector"]]))
        return BenchOutcome(rows, failed, {one.label: one.missing for one in self.missing})

    def _as_asked(self, store: Store) -> list[dict[str, Any]]:
        """Return the rows of the cells under the requested labels, not those they were first stored under.

        `thompson` and `thompson:noise_variance=1.0` are the same cell if 1.0 is the default.
        """
        stored = {row["hash"]: row for row in store.rows(cell.hash for cell in self.cells)}
        return [{**stored[cell.hash], "selector": cell.contender.label} for cell in self.cells]


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
    chosen = under_conditions(contenders or named.contenders, conditions, folds)
    absent = tuple(one for one in chosen if one.missing)
    if absent and contenders:  # named by the caller, not by the plan
        raise MissingExtraError(f"{absent[0].label} {absent[0].missing}")
    chosen = tuple(one for one in chosen if not one.missing)
    preferred = None if whole_folder else named.scenarios
    found = scenarios_in(folder, scenarios, preferred, progress.scenario_left_out)
    cells = plan(found, chosen, seeds, penalty, first_seed=first_seed)
    return Benchmark(tuple(found), chosen, tuple(cells), penalty, absent)


def under_conditions(
    contenders: Sequence[Contender], conditions: Conditions, folds: int = 0
) -> tuple[Contender, ...]:
    """Return contenders under conditions; those that have some of their own keep them.

    `folds` is the number of folds to make for those in cross-validation that do not say it themselves.

    >>> both = under_conditions([Contender.of("tailcut")], Conditions(cv=True, learn_on=True))
    >>> [one.label for one in both]
    ['tailcut@cv', 'tailcut@cv,learn-on', 'sbs_train@cv']
    """
    asked = [conditions]
    if conditions.cv:
        contenders = [*contenders, Contender.of("sbs_train")]
        asked = [replace(conditions, learn_on=on) for on in {False, conditions.learn_on}]
    found = [
        contender.under(_own_or_given(contender.conditions, one))
        for contender in contenders
        for one in sorted(asked, key=lambda one: one.learn_on)
    ]
    return tuple(dict.fromkeys(_with_folds(found, folds) if folds else found))


def _with_folds(contenders: Sequence[Contender], folds: int) -> list[Contender]:
    """Return the contenders, the cross-validated ones with `folds` unless they have their own."""
    if not any(one.conditions.cv for one in contenders):
        raise InputError(
            "folds: are for cross-validation, and none of these selectors is in it: --protocol cv"
        )
    return [
        one.under(replace(one.conditions, folds=one.conditions.folds or folds)) if one.conditions.cv else one
        for one in contenders
    ]


def _own_or_given(own: Conditions, given: Conditions) -> Conditions:
    """Return a contender's own conditions if it has any; how folds are made is taken from those given."""
    if own == STREAM:
        return given
    return replace(own, folds=own.folds or given.folds) if own.cv and given.cv else own


def compute_missing(
    cells: Sequence[Cell],
    store: Store,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    progress: BenchProgress = SILENT,
) -> list[tuple[Cell, Result]]:
    """Compute the cells that the store lacks and return those that failed."""
    done = store.done()
    progress.cells_planned(cells, [cell for cell in cells if cell.hash in done])
    failed: list[tuple[Cell, Result]] = []

    def heard(cell: Cell, result: Result) -> None:
        if result.error is not None:
            failed.append((cell, result))
        progress.cell_done(cell, result)

    run_cells(cells, store, jobs=jobs, executor=executor, on_cell=heard)
    return failed
