"""The replay: instances in a shuffled order, one decision and one outcome each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailcut.randomness import stream
from tailcut.selector import Selector
from tailcut.types import Array, Outcome


@dataclass(frozen=True)
class Trace:
    """What happened at each of n steps."""

    order: NDArray[np.intp]
    """Row of the instance served at each step, shape (n,)."""
    choices: NDArray[np.intp]
    """Number of the algorithm chosen at each step, shape (n,)."""
    seconds: Array
    """Time each step took to decide and to learn, shape (n,)."""


def shuffled(n: int, seed: int) -> NDArray[np.intp]:
    """Return the order in which `n` instances arrive under `seed`."""
    return stream(seed, "instance order").permutation(n)


def replay(
    selector: Selector,
    features: Array,
    outcome: Callable[[int, int], Outcome],
    *,
    seed: int,
    on_step: Callable[[], None] = lambda: None,
) -> Trace:
    """Serve every row of `features` (n, d) once; `outcome(row, algorithm)` tells how each run went."""
    order = shuffled(len(features), seed)
    number = {name: i for i, name in enumerate(selector.algorithms)}
    choices = np.empty(len(order), dtype=np.intp)
    seconds = np.empty(len(order))
    for step, row in enumerate(order):
        started = time.perf_counter()
        decision = selector.select(features[row])
        choice = number[decision.algorithm]
        result = outcome(int(row), choice)
        selector.observe(decision, result)
        seconds[step] = time.perf_counter() - started
        choices[step] = choice
        on_step()
    return Trace(order, choices, seconds)
