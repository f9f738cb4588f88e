"""The replay: instances in a shuffled order, one decision and one outcome each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tailcut.hindsight import LINES
from tailcut.randomness import stream
from tailcut.selector import Selector
from tailcut.types import Array, Outcome


class Runs(Protocol):
    """What a replay needs of a scenario: n instances, K algorithms, d features."""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Names of the algorithms."""
        ...

    @property
    def cutoff(self) -> float:
        """Seconds after which a run is stopped."""
        ...

    @property
    def features(self) -> Array:
        """Features, nan where missing, shape (n, d)."""
        ...

    @property
    def runtimes(self) -> Array:
        """Seconds of every run, meaningful where solved, shape (n, K)."""
        ...

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Whether the run finished within the cutoff, shape (n, K)."""
        ...

    @property
    def feature_cost(self) -> Array:
        """Seconds that computing the features takes, shape (n,)."""
        ...


@dataclass(frozen=True)
class Trace:
    """What happened at each of n steps."""

    order: NDArray[np.intp]
    """Row of the instance served at each step, shape (n,)."""
    choices: NDArray[np.intp]
    """Number of the algorithm chosen at each step, shape (n,)."""
    seconds: Array
    """Time each step took to decide and to learn, shape (n,); 0 for a hindsight line."""
    paid_features: bool
    """Whether the choices needed the features, so that their cost counts."""


def shuffled(n: int, seed: int) -> NDArray[np.intp]:
    """Return the order in which `n` instances arrive under `seed`; the same for every selector."""
    return stream(seed, "instance order").permutation(n)


def replay(runs: Runs, selector: Selector, *, seed: int, on_step: Callable[[], None] | None = None) -> Trace:
    """Serve every instance once, in the order of `seed`, each observed before the next."""
    features, runtimes, solved = runs.features, runs.runtimes, runs.solved
    order = shuffled(len(features), seed)
    number = {name: i for i, name in enumerate(runs.algorithms)}
    timeout = Outcome.censored(runs.cutoff)
    choices = np.empty(len(order), dtype=np.intp)
    seconds = np.empty(len(order))
    for step, row in enumerate(order.tolist()):
        started = time.perf_counter()
        decision = selector.select(features[row])
        decided = time.perf_counter()
        choice = number[decision.algorithm]
        outcome = Outcome.solved(float(runtimes[row, choice])) if solved[row, choice] else timeout
        resumed = time.perf_counter()
        selector.observe(decision, outcome)
        seconds[step] = time.perf_counter() - resumed + decided - started
        choices[step] = choice
        if on_step is not None:
            on_step()
    return Trace(order, choices, seconds, selector.needs_features)


def look_back(runs: Runs, line: str, *, seed: int, penalty: float = 10.0) -> Trace:
    """Return the trace of a hindsight line (`tailcut.hindsight.LINES`); it needs no features."""
    order = shuffled(len(runs.features), seed)
    losses = np.where(runs.solved, runs.runtimes, penalty * runs.cutoff)
    choices = LINES[line][0](losses)[order]
    return Trace(order, choices, np.zeros(len(order)), paid_features=False)
