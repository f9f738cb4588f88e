"""Which algorithms of a scenario complement each other: pairs, greedy portfolios, what each alone adds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tailcut.bench.baselines import oracle
from tailcut.scenarios import Scenario
from tailcut.types import PENALTY, Array


@dataclass(frozen=True)
class SolverWorth:
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


@dataclass(frozen=True)
class SolverSet:
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
    """Return how the algorithms of a scenario add up."""
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
        fastest=float((oracle(losses) == k).mean()),
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
