"""Running cells of the table in parallel processes, each with one BLAS thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tailcut.numerics.processes import unordered
from tailcut.replication.approaches import approach, chosen_approaches
from tailcut.replication.protocol import SEEDS, ExperimentData, evaluate, experiment_data
from tailcut.replication.published import ReplicatedCell, cell, compare, published_in
from tailcut.scenarios import Scenario


class ReplicationProgress:
    """Hears how the replication proceeds; override what you want to hear."""

    def cells_planned(self, scenarios: Sequence[str], approaches: Sequence[str]) -> None:
        """Hear what will be run: every approach on every scenario."""

    def scenario_read(self, name: str) -> None:
        """Hear that a scenario was read."""

    def cell_done(self, cell: ReplicatedCell) -> None:
        """Hear that a cell was run and compared."""


SILENT = ReplicationProgress()
"""Ignores everything."""


def replicate_folder(
    folder: Path,
    scenarios: Sequence[str] = (),
    approaches: Sequence[str] = (),
    *,
    seeds: Sequence[int] = SEEDS,
    jobs: int = 1,
    progress: ReplicationProgress = SILENT,
) -> list[ReplicatedCell]:
    """Run the table again on the ASlib scenarios in `folder`: those named, or all that are published."""
    names, chosen = published_in(folder, scenarios), chosen_approaches(approaches)
    progress.cells_planned(names, chosen)
    tables = {}
    for name in names:
        tables[name] = read_experiment(folder / name)
        progress.scenario_read(name)
    return replicate(tables, chosen, seeds=seeds, jobs=jobs, progress=progress)


def read_experiment(folder: Path) -> ExperimentData:
    """Return the ASlib scenario in `folder` as the published experiment saw it."""
    return experiment_data(Scenario.read(folder))


def replicate_cell(item: tuple[str, ExperimentData, str, Sequence[int]]) -> ReplicatedCell:
    """Return one cell: an approach on a scenario under some seeds, run again and compared."""
    scenario, table, name, seeds = item
    return compare(evaluate(table, approach(name), seeds), cell(scenario, name))


def replicate(
    tables: Mapping[str, ExperimentData],
    approaches: Sequence[str],
    *,
    seeds: Sequence[int] = SEEDS,
    jobs: int = 1,
    progress: ReplicationProgress = SILENT,
) -> list[ReplicatedCell]:
    """Return every cell run again, scenario by scenario, in the order of the approaches.

    Also a single job is a process of its own, with one BLAS thread: the printed digits depend on the order
    of sums.
    """
    units = [(scenario, name) for scenario in tables for name in approaches]
    for scenario, name in units:
        cell(scenario, name)  # an unknown name should fail before hours of work, not after
    done: dict[tuple[str, str], ReplicatedCell] = {}
    items = ((scenario, tables[scenario], name, tuple(seeds)) for scenario, name in units)
    for replicated in unordered(replicate_cell, items, jobs=jobs):
        done[replicated.scenario, replicated.approach] = replicated
        progress.cell_done(replicated)
    return [done[unit] for unit in units]
