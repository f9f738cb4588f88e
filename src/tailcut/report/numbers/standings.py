"""The numbers of the tables: scenarios x selectors, mean and deviation over seeds, ranks, a leaderboard."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tailcut.bench.labels import ContenderKind, kind_of, name_of
from tailcut.bench.ranks import Ranking, rank
from tailcut.bench.summary import ReferenceCosts, normalised, relative
from tailcut.catalogue import BASELINES
from tailcut.report.numbers.results import CellRow, Results
from tailcut.types import Array

METRICS = ("par", "npar", "repar", "unsolved", "decision", "extra_cpu")
"""Mean PARk, nPARk, rePARk, share of unsolved instances, microseconds per decision, and CPU time beside
the answers as a share of theirs: the lower the better."""


@dataclass(frozen=True)
class MetricGrid:
    """One metric of N scenarios and k selectors; nan where there is no result."""

    metric: str
    scenarios: tuple[str, ...]
    selectors: tuple[str, ...]
    mean: Array
    """Over seeds, shape (N, k)."""
    deviation: Array
    """Population standard deviation over seeds, shape (N, k)."""
    seeds: Array
    """How many seeds each mean is over, shape (N, k)."""

    @property
    def contends(self) -> tuple[bool, ...]:
        """Which columns may be best or second best: no schedules and no baselines, shape (k,)."""
        return tuple(kind_of(name) == ContenderKind.ONE_PICK for name in self.selectors)

    def placed(self, row: int) -> tuple[set[int], set[int]]:
        """Return the columns of a row that are best and second best; equal values share a place."""
        values = {j: self.mean[row, j] for j, contends in enumerate(self.contends) if contends}
        present = sorted({value for value in values.values() if not math.isnan(value)})
        best, second = (
            {j for j, value in values.items() if len(present) > place and value == present[place]}
            for place in (0, 1)
        )
        return best, second


def grid(results: Results, metric: str) -> MetricGrid:
    """Return one metric for all scenarios and selectors."""
    shape = (len(results.scenarios), len(results.selectors))
    mean, deviation, seeds = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape)
    for i, scenario in enumerate(results.scenarios):
        for j, selector in enumerate(results.selectors):
            cells = results.of(scenario, selector)
            seeds[i, j] = len(cells)
            if cells:
                mean[i, j], deviation[i, j] = _mean_and_deviation(
                    cells, metric, name_of(selector) in BASELINES
                )
    return MetricGrid(metric, results.scenarios, results.selectors, mean, deviation, seeds)


def _mean_and_deviation(cells: tuple[CellRow, ...], metric: str, is_baseline: bool) -> tuple[float, float]:
    if metric == "decision" and is_baseline:
        return math.nan, math.nan  # a hindsight baseline decides nothing
    plain = {"unsolved": "unsolved", "decision": "decision_us", "extra_cpu": "extra_share"}
    if metric in plain:
        values = np.array([getattr(cell, plain[metric]) for cell in cells])
        return float(values.mean()), float(values.std())
    pars = np.array([cell.par for cell in cells])
    mean, deviation = float(pars.mean()), float(pars.std())
    reference = ReferenceCosts(cells[0].vbs, cells[0].sbs)
    if metric == "par":
        return mean, deviation
    if metric == "repar":
        return relative(mean, reference), relative(deviation, reference)
    # nPARk is linear, so a deviation scales with the gap
    return normalised(mean, reference), normalised(deviation + reference.vbs, reference)


def ranking(par: MetricGrid, alpha: float = 0.05) -> Ranking | None:
    """Return ranks and tests of the contenders over scenarios where all have results; None if too few."""
    columns = [j for j, contends in enumerate(par.contends) if contends]
    values = par.mean[:, columns]
    complete = [i for i in range(len(values)) if not np.isnan(values[i]).any()]
    if len(complete) < 2 or len(columns) < 2:
        return None
    names = [par.selectors[j] for j in columns]
    return rank(values[complete], names, [par.scenarios[i] for i in complete], alpha)


@dataclass(frozen=True)
class Standing:
    """How one selector does over all scenarios it has results for."""

    selector: str
    scenarios: int
    npar_mean: float
    repar_median: float
    average_rank: float
    """Among the contenders, over scenarios where all of them have results; nan if there are none."""
    wins: int
    """Scenarios on which no contender is better."""
    beats_sbs: int
    """Scenarios with nPARk below 1."""
    unsolved: float
    decision_us: float
    """Mean over scenarios; nan for a hindsight baseline."""
    extra_cpu: float = 0.0
    """CPU time beside the answers, as a share of theirs; mean over scenarios."""


def grids_of(results: Results) -> dict[str, MetricGrid]:
    """Return the grid of every metric."""
    return {metric: grid(results, metric) for metric in METRICS}


def standings(grids: Mapping[str, MetricGrid], ranked: Ranking | None) -> list[Standing]:
    """Return all selectors of the grids, the lowest mean nPARk first; `ranked` ranks the same grids."""
    ranks = dict(zip(ranked.selectors, ranked.average_ranks, strict=True)) if ranked else {}
    par = grids["par"]
    best = [par.placed(i)[0] for i in range(len(par.scenarios))]
    found = [
        Standing(
            selector=selector,
            scenarios=int((~np.isnan(par.mean[:, j])).sum()),
            npar_mean=_mean(grids["npar"].mean[:, j]),
            repar_median=_median(grids["repar"].mean[:, j]),
            average_rank=ranks.get(selector, math.nan),
            wins=sum(j in columns for columns in best),
            beats_sbs=int((grids["npar"].mean[:, j] < 1.0 - 1e-9).sum()),
            unsolved=_mean(grids["unsolved"].mean[:, j]),
            decision_us=_mean(grids["decision"].mean[:, j]),
            extra_cpu=_mean(grids["extra_cpu"].mean[:, j]),
        )
        for j, selector in enumerate(par.selectors)
    ]
    return sorted(found, key=lambda standing: (math.isnan(standing.npar_mean), standing.npar_mean))


def _mean(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def _median(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else math.nan
