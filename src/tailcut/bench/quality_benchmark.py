"""Benchmarks on scenarios of solution quality: mean losses, in a table apart from runtimes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.bench.benchmark import installed, under_conditions
from tailcut.bench.conditions import STREAM, Conditions
from tailcut.bench.execution import compute_on
from tailcut.bench.labels import kind_of
from tailcut.bench.plan import Cell, Contender, plan
from tailcut.bench.store import describe_run, opened
from tailcut.bench.summary import ReferenceCosts, normalised
from tailcut.bench.sweeps import find_plan
from tailcut.catalogue import find_all
from tailcut.errors import InputError
from tailcut.scenarios import QualityScenario

PICKS = ("oracle", "sbs", "sbs_train")
"""The hindsight baselines that mean something without times."""


@dataclass(frozen=True)
class QualityBenchmark:
    """Scenarios of solution quality and the cells that contenders and seeds make of them."""

    scenarios: tuple[QualityScenario, ...]
    cells: tuple[Cell, ...]
    missing: dict[str, str]
    """Contenders of the plan that need what is not installed."""

    def run(self, out: Path, *, command: str = "") -> list[dict[str, Any]]:
        """Compute what the result file `out` lacks, and return a row per scenario and contender."""
        scenarios = {scenario.name: scenario for scenario in self.scenarios}
        with opened(out) as store:
            store.begin_run(describe_run(command))
            stored = store.quality_rows()
            for cell in self.cells:
                if cell.hash not in stored:
                    stored[cell.hash] = _computed(scenarios[cell.scenario], cell)
                    store.add_quality(stored[cell.hash])
        return [
            _summary(scenarios[name], label, [stored[cell.hash] for cell in cells])
            for (name, label), cells in groupby(
                self.cells, lambda cell: (cell.scenario, cell.contender.label)
            )
        ]


def quality_benchmark(
    folder: Path,
    names: Sequence[str],
    *,
    contenders: Sequence[Contender] | None = None,
    plan_name: str = "default",
    seeds: int = 10,
    first_seed: int = 0,
    conditions: Conditions = STREAM,
    folds: int = 0,
) -> QualityBenchmark:
    """Return the benchmark of these scenarios of a folder, ready to run.

    Of a plan only those take part that can minimise a loss; one that the caller names must be able to.
    """
    chosen = under_conditions(contenders or find_plan(plan_name).contenders, conditions, folds)
    if any(contender.conditions.runs_extra or contender.conditions.cores > 1 for contender in chosen):
        raise InputError("scenarios of solution quality know no times: no extra runs, and no races")
    able = tuple(contender for contender in chosen if _can_be_rated(contender))
    if contenders and len(able) < len(chosen):
        unable = next(contender.selector for contender in chosen if contender not in able)
        known = ", ".join([*(row.name for row in find_all() if row.takes_losses), *PICKS])
        raise InputError(f"{unable} cannot be judged by losses; these can: {known}")
    here, missing = installed(able, named=bool(contenders))
    scenarios = [(str(folder / name), QualityScenario.read(folder / name)) for name in names]
    cells = plan(scenarios, here, seeds, first_seed=first_seed)
    return QualityBenchmark(tuple(scenario for _, scenario in scenarios), tuple(cells), missing)


def _can_be_rated(contender: Contender) -> bool:
    return contender.selector in PICKS if contender.row is None else contender.row.takes_losses


def _computed(scenario: QualityScenario, cell: Cell) -> dict[str, Any]:
    result = compute_on(scenario, cell)
    return {
        "hash": cell.hash,
        "scenario": cell.scenario,
        "selector": cell.contender.label,
        "seed": cell.seed,
        "loss": result.par,
        "best": result.vbs,
        "single": result.sbs,
        "decision_us": result.decision_us,
    }


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
