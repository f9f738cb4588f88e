"""Running cells of the table in parallel processes, each with one BLAS thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tailcut.numerics.processes import unordered
from tailcut.replication.approaches import approach
from tailcut.replication.compare import Comparison, compare
from tailcut.replication.protocol import SEEDS, evaluate
from tailcut.replication.published import cell
from tailcut.replication.table import Table


def replicate_cell(scenario: str, table: Table, name: str, seeds: Sequence[int] = SEEDS) -> Comparison:
    """Return the comparison of one approach on one scenario."""
    return compare(evaluate(table, approach(name), seeds), cell(scenario, name))


def replicate(
    tables: Mapping[str, Table],
    approaches: Sequence[str],
    *,
    seeds: Sequence[int] = SEEDS,
    jobs: int = 1,
    on_done: Callable[[Comparison], None] = lambda _: None,
) -> list[Comparison]:
    """Return the comparison of every approach on every scenario, in that order; `on_done` hears of each.

    Also a single job is a process of its own, with one BLAS thread: the printed digits depend on the order
    of sums.
    """
    units = [(scenario, name) for scenario in tables for name in approaches]
    for scenario, name in units:
        cell(scenario, name)  # an unknown name should fail before hours of work, not after
    done: dict[tuple[str, str], Comparison] = {}
    items = ((scenario, tables[scenario], name, tuple(seeds)) for scenario, name in units)
    for comparison in unordered(_replicate_item, items, jobs=jobs):
        done[comparison.scenario, comparison.approach] = comparison
        on_done(comparison)
    return [done[unit] for unit in units]


def _replicate_item(item: tuple[str, Table, str, Sequence[int]]) -> Comparison:
    return replicate_cell(*item)
