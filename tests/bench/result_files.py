"""Cells of small scenarios, and what a result file holds of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tailcut.bench.benchmark import BenchProgress
from tailcut.bench.plan import Cell, Contender, plan
from tailcut.bench.store import Result, opened
from tailcut.scenarios import Scenario

SELECTORS = ("thompson", "bj_thompson_rev", "rand_bclinucb", "sbs")


class Heard(BenchProgress):
    def __init__(self) -> None:
        self.left_out: list[tuple[str, str]] = []
        self.planned: list[tuple[int, int]] = []
        self.cells: list[str] = []

    def scenario_left_out(self, name: str, reason: str) -> None:
        self.left_out.append((name, reason))

    def cells_planned(self, cells: Sequence[Cell], done: Sequence[Cell]) -> None:
        self.planned.append((len(cells), len(done)))

    def cell_done(self, cell: Cell, result: Result) -> None:
        assert result.hash == cell.hash
        self.cells.append(cell.hash)


def small_cells(generated: Path, seeds: int = 2) -> list[Cell]:
    scenarios = [(str(folder), Scenario.read(folder)) for folder in sorted(generated.iterdir())]
    return plan(scenarios, [Contender.of(name) for name in SELECTORS], seeds)


def content_of(path: Path) -> dict[str, Any]:
    """Everything in a result file that must not depend on how it came about: all but times."""
    with opened(path) as store:
        found = {}
        for row in store.rows():
            choices, losses, _ = store.trace(row["hash"])
            kept = {key: row[key] for key in row if key not in ("seconds", "decision_us")}
            found[row["hash"]] = (kept, choices.tolist(), losses.tolist())
        return found
