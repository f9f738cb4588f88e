"""The numbers of one scenario: curves of its results, and which of its algorithms complement each other.

Most curves come from the traces that a result file keeps per step; the same seed means the same order of
instances.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.baselines import oracle as best_choices
from tailcut.bench.labels import ContenderKind, kind_of
from tailcut.bench.sweeps import Sweep
from tailcut.report.results import FEWEST_SWEEP_VALUES, CellRow, Results
from tailcut.scenarios import Scenario
from tailcut.types import PENALTY, Array

Losses = Mapping[str, Mapping[int, Array]]
"""Selector -> seed -> losses per step, shape (n,)."""
Steps = tuple[Array, Array]
"""Seconds from 0 to the cutoff, and the estimated probability that a run lasts longer until the next."""
POINTS = 120
"""At most so many points per curve: more than a figure can show, few enough for a page."""


@dataclass(frozen=True)
class StreamCurves:
    """Several curves over the same abscissa."""

    scenario: str
    at: Array
    """Instances served, seconds, or values of a hyperparameter, shape (points,)."""
    bands: dict[str, Array]
    """Selector -> mean and population standard deviation over seeds, shape (2, points)."""


def _band(curves: Sequence[Array]) -> Array:
    return np.array([np.mean(curves, axis=0), np.std(curves, axis=0)])


def regret(scenario: str, losses: Losses, oracle: Mapping[int, Array]) -> StreamCurves | None:
    """Return cumulative regrets against the oracle: sums of (loss - the oracle's loss), over seeds.

    `oracle` maps seeds to losses in the same order. Seeds without an oracle are left out; None if nothing
    remains.
    """
    if not oracle:
        return None
    n = len(next(iter(oracle.values())))
    steps = np.unique(np.linspace(0, n - 1, min(n, POINTS)).astype(np.intp))
    bands = {}
    for selector, by_seed in losses.items():
        sums = [np.cumsum(by_seed[seed] - oracle[seed])[steps] for seed in by_seed if seed in oracle]
        if sums:
            bands[selector] = _band(sums)
    return StreamCurves(scenario, (steps + 1).astype(float), bands) if bands else None


def solved_by(scenario: str, losses: Losses, cutoff: float) -> StreamCurves:
    """Return the share of instances solved within t seconds, for t up to the cutoff, over seeds."""
    fastest = min(float(trace.min()) for by_seed in losses.values() for trace in by_seed.values())
    times = np.geomspace(max(fastest, cutoff * 1e-5), cutoff, POINTS)
    times[-1] = cutoff  # exactly: what was solved right at the cutoff counts

    def share(trace: Array) -> Array:
        return np.searchsorted(np.sort(trace), times, side="right") / len(trace)

    bands = {selector: _band([*map(share, by_seed.values())]) for selector, by_seed in losses.items()}
    return StreamCurves(scenario, times, bands)


@dataclass(frozen=True)
class Shares:
    """How often each algorithm is chosen, in consecutive windows of the stream."""

    selector: str
    at: Array
    """Instances served at the end of each window, shape (windows,)."""
    share: Array
    """Shape (windows, K); rows sum to 1, or to 0 where nothing was chosen."""


def shares(
    selector: str, choices: Sequence[NDArray[np.int16]], n_algorithms: int, windows: int = 24
) -> Shares:
    """Return the shares of the algorithms in consecutive windows, over all seeds; choices of shape (n,).

    >>> shares("x", [np.array([0, 1, 1, 1], dtype=np.int16)], 2, windows=2).share.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    n = len(choices[0])
    edges = np.unique(np.linspace(0, n, min(n, windows) + 1).astype(int))
    rows = []
    for start, stop in pairwise(edges.tolist()):
        inside = np.concatenate([trace[start:stop] for trace in choices])
        inside = inside[inside >= 0]  # a schedule without time to run anything chooses nothing
        rows.append(np.bincount(inside, minlength=n_algorithms) / max(len(inside), 1))
    return Shares(selector, edges[1:].astype(float), np.array(rows))


@dataclass(frozen=True)
class Learning:
    """How fast one selector learns over the stream."""

    selector: str
    at: Array
    """Instances served at the end of each part, shape (parts,)."""
    npar: Array
    """nPARk within each part: against VBS and SBS on the same instances, shape (parts,)."""
    break_even: int | None
    """From so many instances on its total stays at or below the single best's; None if never."""


def learning(selector: str, losses: Losses, parts: int = 8) -> Learning | None:
    """Return how a selector learns; None without results of it, sbs and oracle for the same seed.

    >>> traces = {"x": [4.0, 4.0, 1.0, 1.0], "sbs": [3.0] * 4, "oracle": [1.0] * 4}
    >>> found = learning("x", {name: {0: np.array(trace)} for name, trace in traces.items()}, parts=2)
    >>> found.npar.tolist(), found.break_even
    ([1.5, 0.0], 3)
    """
    three = [losses.get(name, {}) for name in (selector, "sbs", "oracle")]
    seeds = [seed for seed in three[0] if all(seed in by_seed for by_seed in three)]
    if not seeds:
        return None
    own, single, virtual = (np.mean([by_seed[seed] for seed in seeds], axis=0) for by_seed in three)
    n = len(own)
    edges = np.unique(np.linspace(0, n, min(parts, n) + 1).astype(int))
    paid, sbs, vbs = (np.add.reduceat(trace, edges[:-1]) for trace in (own, single, virtual))
    npar = np.divide(paid - vbs, sbs - vbs, out=np.full(len(paid), math.nan), where=sbs > vbs)
    behind = np.flatnonzero(np.cumsum(own) > np.cumsum(single) * (1.0 + 1e-12))
    last = int(behind[-1]) + 1 if len(behind) else 0
    return Learning(selector, edges[1:].astype(float), npar, last + 1 if last < n else None)


@dataclass(frozen=True)
class InstanceScatter:
    """Instance by instance: what a selector paid, and what the single best solver takes."""

    scenario: str
    selector: str
    seed: int
    single_best: Array
    """PARk loss of the single best solver, in the order of the seed, shape (n,)."""
    paid: Array
    """PARk loss of the selector, shape (n,)."""
    cutoff: float


def against_single_best(
    scenario: str, ordered: Iterable[str], losses: Losses, cutoff: float | None
) -> InstanceScatter | None:
    """Return the first of the selectors that has results, against `sbs`; None if that or the cutoff lacks."""
    reference = losses.get("sbs", {})
    for selector in ordered:
        if kind_of(selector) is ContenderKind.BASELINE or cutoff is None:
            continue
        for seed, paid in sorted(losses.get(selector, {}).items()):
            if seed in reference:
                return InstanceScatter(scenario, selector, seed, reference[seed], paid, cutoff)
    return None


def kaplan_meier(times: Array, solved: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the distinct times of solved runs and the share not solved from each on.

    Kaplan and Meier, "Nonparametric estimation from incomplete observations", JASA 1958. A run that ended
    unsolved before the cutoff (out of memory, say) leaves the risk set there.

    >>> t, s = kaplan_meier(np.array([1.0, 2.0, 2.0, 4.0]), np.array([True, True, False, True]))
    >>> t.tolist(), s.tolist()
    ([1.0, 2.0, 4.0], [0.75, 0.5, 0.0])
    """
    events, deaths = np.unique(times[solved], return_counts=True)
    at_risk = len(times) - np.searchsorted(np.sort(times), events, side="left")
    return events, np.asarray(np.cumprod(1.0 - deaths / at_risk), dtype=np.float64)


def survival_curves(scenario: Scenario, penalty: float = PENALTY, points: int = 160) -> dict[str, Steps]:
    """Return the curve of every algorithm, the lowest mean PARk first, thinned to what a figure shows."""
    curves = {}
    for k in np.argsort(scenario.losses(penalty).mean(axis=0), kind="stable").tolist():
        watched = np.minimum(scenario.runtimes[:, k], scenario.cutoff)
        found = kaplan_meier(watched, scenario.solved[:, k])
        curves[scenario.algorithms[k]] = _thinned(*found, scenario.cutoff, points)
    return curves


def _thinned(events: Array, share: Array, cutoff: float, points: int) -> Steps:
    """Return the steps at about `points` times, spread evenly over the logarithm of time."""
    time = np.concatenate([[0.0], events, [cutoff]])
    share = np.concatenate([[1.0], share, [share[-1] if len(share) else 1.0]])
    if len(time) <= points:
        return time, share
    wanted = np.geomspace(max(cutoff * 1e-5, events[0]), cutoff, points)
    kept = np.unique([0, *(np.searchsorted(time, wanted, side="right") - 1), len(time) - 1])
    return time[kept], share[kept]


def sensitivity(results: Results) -> dict[Sweep, list[StreamCurves]]:
    every = {sweep: _panels(sweep, cells) for sweep, cells in results.sweeps.items()}
    return {sweep: panels for sweep, panels in every.items() if panels}


def _panels(sweep: Sweep, cells: tuple[CellRow, ...]) -> list[StreamCurves]:
    pars: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        pars[cell["scenario"]][float(cell["settings"][sweep.parameter])].append(cell["par"])
    panels = []
    for scenario, by_value in sorted(pars.items()):
        values = sorted(by_value)
        if len(values) < FEWEST_SWEEP_VALUES:
            continue  # only the default, which the comparison ran
        band = [(np.mean(by_value[value]), np.std(by_value[value])) for value in values]
        panels.append(StreamCurves(scenario, np.array(values), {sweep.selector: np.array(band).T}))
    return panels


class SolverWorth(NamedTuple):
    """One algorithm within its portfolio."""

    name: str
    par: float
    """Mean PARk when it is run on everything."""
    timeouts: float
    """Share of instances it leaves unsolved."""
    fastest: float
    """Share of instances on which it is the virtual best solver's choice (the first of equals)."""
    only: int
    """Instances that it alone solves."""
    adds: float
    """By how much the virtual best solver's mean PARk rises without it, in seconds."""


class SolverSet(NamedTuple):
    """Some algorithms and what a perfect choice among them costs."""

    algorithms: tuple[str, ...]
    par: float
    closed: float
    """Share of the gap between single best and virtual best solver that is closed; nan without a gap."""


@dataclass(frozen=True)
class Complement:
    """The portfolio of a scenario, seen from all sides."""

    solvers: tuple[SolverWorth, ...]
    """The lowest PARk first."""
    pairs: tuple[SolverSet, ...]
    """The best pair first."""
    growth: tuple[SolverSet, ...]
    """Starting with the single best: each time the algorithm that helps most is added, while any does."""
    sbs: float
    vbs: float
    unsolved: int
    """Instances that no algorithm solves."""


def complement(scenario: Scenario, penalty: float = PENALTY, pairs: int = 15) -> Complement:
    losses = scenario.losses(penalty)
    means = losses.mean(axis=0)
    sbs, vbs = float(means.min()), float(losses.min(axis=1).mean())

    def portfolio(chosen: tuple[int, ...]) -> SolverSet:
        par = float(losses[:, list(chosen)].min(axis=1).mean())
        closed = (sbs - par) / (sbs - vbs) if sbs > vbs else math.nan
        return SolverSet(tuple(scenario.algorithms[k] for k in chosen), par, closed)

    every_pair = map(portfolio, combinations(range(losses.shape[1]), 2))
    return Complement(
        solvers=tuple(_solver(scenario, losses, j) for j in np.argsort(means, kind="stable").tolist()),
        pairs=tuple(sorted(every_pair, key=lambda pair: pair.par)[:pairs]),
        growth=tuple(map(portfolio, _greedy(losses))),
        sbs=sbs,
        vbs=vbs,
        unsolved=int((~scenario.solved.any(axis=1)).sum()),
    )


def _solver(scenario: Scenario, losses: Array, k: int) -> SolverWorth:
    others = np.delete(losses, k, axis=1)
    without = others.min(axis=1) if others.shape[1] else np.full(len(losses), losses.max())
    solved = scenario.solved[:, k]
    return SolverWorth(
        name=scenario.algorithms[k],
        par=float(losses[:, k].mean()),
        timeouts=float((~solved).mean()),
        fastest=float((best_choices(losses) == k).mean()),
        only=int((solved & (scenario.solved.sum(axis=1) == 1)).sum()),
        adds=float((without - losses.min(axis=1)).mean()),
    )


def _greedy(losses: Array) -> list[tuple[int, ...]]:
    """Return growing sets of columns, each with the one that lowers the mean of the row minima most.

    >>> _greedy(np.array([[1.0, 9.0, 8.0], [9.0, 1.0, 8.0], [1.0, 9.0, 8.0]]))
    [(0,), (0, 1)]
    """
    sets: list[tuple[int, ...]] = [(int(losses.mean(axis=0).argmin()),)]
    current = losses[:, sets[0][0]]
    while len(sets) < losses.shape[1]:
        means = np.minimum(losses, current[:, None]).mean(axis=0)
        best = int(means.argmin())
        if means[best] >= current.mean():
            break
        sets.append((*sets[-1], best))
        current = np.minimum(current, losses[:, best])
    return sets
