"""The numbers over all scenarios: grids of scenarios x selectors, ranks, standings, who is drawn where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tailcut.bench.labels import Conditions, ContenderKind, conditions_of, is_schedule, kind_of, name_of
from tailcut.bench.ranks import Ranking, rank
from tailcut.bench.summary import summarise
from tailcut.catalogue import BASELINES
from tailcut.report.results import Results
from tailcut.report.style import look
from tailcut.types import Array

METRICS = {
    "par": "{par}_mean",
    "npar": "n{par}",
    "repar": "re{par}",
    "unsolved": "unsolved",
    "decision": "decision_us",
    "extra_cpu": "extra_cpu",
}
"""Metric -> its field in a row of `summarise`; the lower the better."""


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


def grids_of(results: Results) -> dict[str, MetricGrid]:
    """Return the grid of every metric: means as `tailcut bench` prints them, and how far seeds deviate."""
    columns = [column.format(par=results.par.lower()) for column in METRICS.values()]
    shape = (len(METRICS), len(results.scenarios), len(results.selectors))
    mean, deviation = np.full(shape, np.nan), np.full(shape, np.nan)
    for i, scenario in enumerate(results.scenarios):
        for j, selector in enumerate(results.selectors):
            rows = results.of(scenario, selector)
            by_seed = [summarise([row])[0] for row in rows]
            for summary in summarise(rows):
                for m, column in enumerate(columns):
                    mean[m, i, j] = summary[column]
                    deviation[m, i, j] = np.array([seed[column] for seed in by_seed], dtype=float).std()
    decides_nothing = [name_of(selector) in BASELINES for selector in results.selectors]
    for values in (mean, deviation):
        values[list(METRICS).index("decision"), :, decides_nothing] = np.nan
    return {
        metric: MetricGrid(metric, results.scenarios, results.selectors, mean[m], deviation[m])
        for m, metric in enumerate(METRICS)
    }


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


def standings(grids: Mapping[str, MetricGrid], ranked: Ranking | None) -> list[Standing]:
    """Return all selectors of the grids, the lowest mean nPARk first; `ranked` ranks the same grids."""
    ranks = dict(zip(ranked.selectors, ranked.average_ranks, strict=True)) if ranked else {}
    par = grids["par"]
    best = [par.placed(i)[0] for i in range(len(par.scenarios))]
    unordered = []
    for j, selector in enumerate(par.selectors):
        means = {metric: mean_or_nan(grid.mean[:, j]) for metric, grid in grids.items()}
        repar = grids["repar"].mean[:, j]
        standing = Standing(
            selector=selector,
            scenarios=int((~np.isnan(par.mean[:, j])).sum()),
            npar_mean=means["npar"],
            repar_median=math.nan if math.isnan(means["repar"]) else float(np.nanmedian(repar)),
            average_rank=ranks.get(selector, math.nan),
            wins=sum(j in columns for columns in best),
            beats_sbs=int((grids["npar"].mean[:, j] < 1.0 - 1e-9).sum()),
            unsolved=means["unsolved"],
            decision_us=means["decision"],
            extra_cpu=means["extra_cpu"],
        )
        unordered.append(standing)
    return sorted(unordered, key=lambda standing: (math.isnan(standing.npar_mean), standing.npar_mean))


def mean_or_nan(values: Array) -> float:
    """Return the mean of those values that are not nan; nan if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def scatters(standings: Sequence[Standing]) -> dict[str, tuple[str, list[Standing]]]:
    """Return the plots of quality against decision time: key -> title and the selectors shown."""
    timed = [one for one in standings if not math.isnan(one.decision_us) and not math.isnan(one.repar_median)]
    linucb = [one for one in timed if "LinUCB" in look(one.selector).family]
    thompson = [one for one in timed if look(one.selector).family == "Thompson"]
    others = [one for one in timed if one not in linucb and one not in thompson]
    kinds = [name for name, variants in (("LinUCB", linucb), ("Thompson", thompson)) if len(variants) > 2]
    title = f"Two best {' and '.join(kinds)} variants and the others" if kinds and others else "All selectors"
    plots = {
        "tradeoff-linucb": ("LinUCB variants", linucb),
        "tradeoff-thompson": ("Thompson variants", thompson),
        "tradeoff-competitors": (title, linucb[:2] + thompson[:2] + others),
    }
    return {key: (title, shown) for key, (title, shown) in plots.items() if len(shown) > 1}


def featured(standings: Sequence[Standing]) -> list[str]:
    """Return the selectors to draw where all would be too many: ours, and the best of each family.

    Families are those of `style`, the two kinds of LinUCB taken as one; schedules come after those that
    pick once, hindsight baselines last, of the fixed schedules only the best.
    """
    best_of_family: dict[str, str] = {}
    names = [one.selector for one in standings]
    picks = [name for name in names if not is_schedule(name)]
    own = [name for name in picks if look(name).family in ("ours", "other")][:4]
    for name in picks:
        family = look(name).family.replace("blind ", "").replace("bc ", "")
        if family not in ("ours", "other", "hindsight"):
            best_of_family.setdefault(family, name)
    schedules = [name for name in names if kind_of(name) == ContenderKind.SCHEDULE][:2]
    hindsight = [name for name in names if name_of(name) in BASELINES and name != "sbs_pair"]
    return [*own, *best_of_family.values(), *schedules, *hindsight]


CpuCurves = dict[tuple[str, str], dict[int, Standing]]
"""What extra CPU time gains: selector and what there is more and more of -> amount, from 0 on -> standing."""


def cpu_curves(standings: Sequence[Standing]) -> CpuCurves:
    """Return the curves of selectors that measured first, each over the same number of scenarios."""
    by_label = {one.selector: one for one in standings}
    curves: CpuCurves = {}
    for label, one in by_label.items():
        base, conditions = label.partition("@")[0], Conditions.parse(conditions_of(label))
        if conditions.measure_first and base in by_label:
            limit = conditions.measure_cutoff
            how = "measured first" if limit == 1.0 else f"measured first for {limit:g} of the cutoff"
            curves.setdefault((base, how), {0: by_label[base]})[conditions.measure_first] = one
    comparable = (key for key, curve in curves.items() if len({one.scenarios for one in curve.values()}) == 1)
    return {key: dict(sorted(curves[key].items())) for key in comparable}
