"""The points of a hyperparameter sweep: PARk against the value, per scenario."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from tailcut.bench.sweeps import Sweep
from tailcut.catalogue import CATALOGUE
from tailcut.report.numbers.results import FEWEST_SWEEP_VALUES, CellRow, Results
from tailcut.types import Array


@dataclass(frozen=True)
class SweptScenario:
    """One scenario: mean and deviation over seeds at each value, shapes (values,)."""

    scenario: str
    values: Array
    mean: Array
    deviation: Array


@dataclass(frozen=True)
class SweepPoints:
    """One sweep: its scenarios, the parameter's name and its default."""

    selector: str
    parameter: str
    default: float
    panels: tuple[SweptScenario, ...]


def sensitivity(results: Results) -> list[SweepPoints]:
    """Return the points of every sweep that the results hold."""
    every = (_points(sweep, cells) for sweep, cells in results.sweeps.items())
    return [points for points in every if points.panels]


def _points(sweep: Sweep, cells: tuple[CellRow, ...]) -> SweepPoints:
    pars: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        pars[cell.scenario][float(cell.settings[sweep.parameter])].append(cell.par)
    panels = []
    for scenario in sorted(pars):
        values = sorted(pars[scenario])
        if len(values) < FEWEST_SWEEP_VALUES:
            continue  # only the default, which the comparison ran
        stats = np.array([(np.mean(pars[scenario][v]), np.std(pars[scenario][v])) for v in values])
        panels.append(SweptScenario(scenario, np.array(values), stats[:, 0], stats[:, 1]))
    default = float(CATALOGUE[sweep.selector].settings({})[sweep.parameter])
    return SweepPoints(sweep.selector, sweep.parameter, default, tuple(panels))
