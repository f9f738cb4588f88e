"""What the paper's tables and figures need: the comparison on all scenarios and the five sweeps on six."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tailcut.bench.context import describe_run, describe_scenario
from tailcut.bench.folder import scenarios_in
from tailcut.bench.plan import Cell, plan
from tailcut.bench.run import run
from tailcut.bench.store import Result, Store
from tailcut.bench.sweeps import PLANS


def paper_cells(aslib: Path, seeds: int, store: Store, on_left_out: Callable[[str], None]) -> list[Cell]:
    """Return the cells of the paper's experiments on the scenarios at hand, and note what these are like."""
    cells: dict[str, Cell] = {}
    for name in ("default", "sensitivity"):
        named = PLANS[name]
        found = scenarios_in(aslib, None, named.scenarios, on_left_out)
        for _, scenario in found:
            store.describe_scenario(scenario.name, describe_scenario(scenario))
        for cell in plan(found, named.contenders, seeds):
            cells.setdefault(cell.hash, cell)  # a sweep passes through the default, which is run already
    return list(cells.values())


def compute_missing(
    cells: list[Cell], store: Store, command: str, jobs: int, on_cell: Callable[[Cell, Result], None]
) -> None:
    """Run the cells that the store lacks."""
    done = store.done()
    if any(cell.hash not in done for cell in cells):
        store.begin_run(describe_run(command))
        run(cells, store, jobs=jobs, on_cell=on_cell)
