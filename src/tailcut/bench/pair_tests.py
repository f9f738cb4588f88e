"""Which selectors differ, pair by pair: Wilcoxon's signed-rank test over the scenarios, Holm's correction."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tailcut.types import Array


@dataclass(frozen=True)
class PairTest:
    """Two selectors on the same scenarios."""

    first: str
    second: str
    wins: int
    """Scenarios on which the first is better."""
    losses: int
    p: float
    """Of Wilcoxon's test, two-sided; 1 where the two never differ."""
    p_holm: float
    """Corrected for all pairs (Holm, 1979): those up to the level differ."""


def pair_tests(values: Array, selectors: list[str]) -> tuple[PairTest, ...]:
    """Return the tests of all pairs, in the order of `selectors`, by `values` of shape (N scenarios, k).

    >>> values = np.array([[1.0, 2.0], [1.0, 3.0], [2.0, 4.0], [1.0, 5.0], [2.0, 7.0], [1.0, 9.0]])
    >>> (test,) = pair_tests(values, ["a", "b"])
    >>> test.wins, test.p_holm
    (6, 0.03125)
    """
    pairs = list(combinations(range(len(selectors)), 2))
    ps = np.array([_wilcoxon(values[:, i] - values[:, j]) for i, j in pairs])
    corrected = _holm(ps)
    return tuple(
        PairTest(
            selectors[i],
            selectors[j],
            int((values[:, i] < values[:, j]).sum()),
            int((values[:, i] > values[:, j]).sum()),
            float(p),
            float(p_holm),
        )
        for (i, j), p, p_holm in zip(pairs, ps, corrected, strict=True)
    )


def _wilcoxon(differences: Array) -> float:
    from scipy import stats  # slow to import

    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences).pvalue)


def _holm(ps: Array) -> Array:
    """Return p-values that may be compared with the level as they are.

    >>> _holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(ps)
    steps = np.maximum.accumulate(ps[order] * np.arange(len(ps), 0, -1))
    corrected = np.empty(len(ps))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected
