"""Comparing selectors over scenarios: average ranks, wins, Friedman, Nemenyi and pairwise Wilcoxon.

After Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tailcut.bench.labels import ContenderKind
from tailcut.errors import InputError
from tailcut.types import Array

SummaryRow = dict[str, Any]
"""One row of `tailcut.bench.summary.summarise`."""


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


@dataclass(frozen=True)
class Ranking:
    """k selectors on N scenarios, the lower the better."""

    selectors: tuple[str, ...]
    """In the order of their average rank."""
    scenarios: tuple[str, ...]
    average_ranks: tuple[float, ...]
    wins: tuple[int, ...]
    """Scenarios on which each is best (ties count for all)."""
    friedman_chi2: float
    friedman_p: float
    critical_difference: float
    """Average ranks that differ by more differ significantly (Nemenyi)."""
    alpha: float
    pairs: tuple[PairTest, ...] = ()
    """Wilcoxon's tests of all pairs, the better ranked first."""


def rank(values: Array, selectors: list[str], scenarios: list[str], alpha: float = 0.05) -> Ranking:
    """Return the ranking by `values`, shape (N scenarios, k selectors).

    >>> rank(np.array([[1.0, 2.0], [1.0, 3.0], [2.0, 1.0]]), ["a", "b"], ["x", "y", "z"]).wins
    (2, 1)
    """
    from scipy import stats  # slow to import

    n, k = values.shape
    if n < 2 or k < 2:
        raise InputError(f"a comparison needs at least 2 scenarios and 2 selectors, got {n} and {k}")
    ranks = stats.rankdata(values, axis=1)
    average = ranks.mean(axis=0)
    wins = (values == values.min(axis=1, keepdims=True)).sum(axis=0)
    chi2 = _friedman(ranks)
    order = np.argsort(average, kind="stable")
    return Ranking(
        selectors=tuple(selectors[i] for i in order),
        scenarios=tuple(scenarios),
        average_ranks=tuple(average[order].tolist()),
        wins=tuple(wins[order].tolist()),
        friedman_chi2=chi2,
        friedman_p=float(stats.chi2.sf(chi2, k - 1)),
        critical_difference=_critical_difference(n, k, alpha),
        alpha=alpha,
        pairs=pair_tests(values[:, order], [selectors[i] for i in order]),
    )


def _friedman(ranks: Array) -> float:
    """Return Friedman's chi-squared, corrected for ties; scipy's refuses two selectors."""
    n, k = ranks.shape
    between = n * float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum())
    within = float(((ranks - (k + 1) / 2) ** 2).sum()) / (n * (k - 1))
    return between / within if within > 0.0 else 0.0


def _critical_difference(n: int, k: int, alpha: float) -> float:
    """Return q sqrt(k (k + 1) / (6 n)), q from the studentised range for infinite degrees of freedom."""
    from scipy import stats

    q = float(stats.studentized_range.isf(alpha, k, np.inf)) / math.sqrt(2.0)
    return q * math.sqrt(k * (k + 1) / (6.0 * n))


def pair_tests(values: Array, selectors: list[str]) -> tuple[PairTest, ...]:
    """Return the tests of all pairs, in the order of `selectors`, by `values` of shape (N scenarios, k).

    >>> values = np.array([[1.0, 2.0], [1.0, 3.0], [2.0, 4.0], [1.0, 5.0], [2.0, 7.0], [1.0, 9.0]])
    >>> (test,) = pair_tests(values, ["a", "b"])
    >>> test.wins, test.p_holm
    (6, 0.03125)
    """
    from scipy import stats  # slow to import

    pairs = list(combinations(range(len(selectors)), 2))
    differences = [values[:, i] - values[:, j] for i, j in pairs]
    ps = np.array([stats.wilcoxon(one).pvalue if one.any() else 1.0 for one in differences])
    return tuple(
        PairTest(
            selectors[i],
            selectors[j],
            int((one < 0.0).sum()),
            int((one > 0.0).sum()),
            float(p),
            float(p_holm),
        )
        for (i, j), one, p, p_holm in zip(pairs, differences, ps, _holm(ps), strict=True)
    )


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


@dataclass(frozen=True)
class RankedGroup:
    """Contenders that are ranked among each other, and what else is said of them."""

    ranking: Ranking
    mean_npar10: dict[str, float]
    """Over the scenarios where it is defined, by contender."""
    mean_npar10_train: dict[str, float]
    """The same against the single best of the training folds; of those judged by cross-validation."""
    mean_extra_cpu: dict[str, float]
    """CPU time beside the answers, as a share of theirs, over all scenarios, by contender."""
    kinds: dict[str, ContenderKind]
    left_out: tuple[str, ...]
    """Scenarios that not every contender of the group has a result for."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values, without nesting the ranking."""
        more = {name: value for name, value in vars(self).items() if name != "ranking"}
        return {**asdict(self.ranking), **more, "left_out": list(self.left_out)}


def ranked_groups(
    rows: Sequence[SummaryRow], names: Sequence[str] | None = None, alpha: float = 0.05
) -> list[RankedGroup]:
    """Rank the contenders named; else those that pick once and, if two or more, the schedules by themselves.

    A single schedule is not ranked.
    """
    present = list(dict.fromkeys(row["selector"] for row in rows))
    unknown = [name for name in names or () if name not in present]
    if unknown:
        raise InputError(f"no results of {', '.join(unknown)}; there are: {', '.join(present)}")
    if names:
        return [_ranked([row for row in rows if row["selector"] in names], alpha)]
    picks, schedules = (
        [row for row in rows if row["kind"] == kind]
        for kind in (ContenderKind.ONE_PICK, ContenderKind.SCHEDULE)
    )
    several = len({row["selector"] for row in schedules}) > 1
    groups = [group for group in (picks, schedules if several else []) if group] or [picks]
    return [_ranked(group, alpha) for group in groups]


def _ranked(rows: Sequence[SummaryRow], alpha: float) -> RankedGroup:
    ranking, left_out = rank_summary(rows, alpha)

    def mean(column: str) -> dict[str, float]:
        values: dict[str, list[float]] = {name: [] for name in ranking.selectors}
        for row in rows:
            if row[column] is not None:
                values[row["selector"]].append(row[column])
        return {name: float(np.mean(own)) for name, own in values.items() if own}

    return RankedGroup(
        ranking=ranking,
        mean_npar10={**dict.fromkeys(ranking.selectors, math.nan), **mean("npar10")},
        mean_npar10_train=mean("npar10_train"),
        mean_extra_cpu=mean("extra_cpu"),
        kinds={row["selector"]: row["kind"] for row in rows},
        left_out=tuple(left_out),
    )


def rank_summary(rows: Sequence[SummaryRow], alpha: float = 0.05) -> tuple[Ranking, list[str]]:
    """Rank the rows of a summary by PAR10; return the ranking and the scenarios left out.

    A scenario is left out where a selector has no result for it.
    """
    selectors = list(dict.fromkeys(row["selector"] for row in rows))
    table = {(row["scenario"], row["selector"]): row["par10_mean"] for row in rows}
    scenarios = list(dict.fromkeys(row["scenario"] for row in rows))
    complete = [name for name in scenarios if all((name, selector) in table for selector in selectors)]
    values = np.array([[table[name, selector] for selector in selectors] for name in complete])
    left_out = [name for name in scenarios if name not in complete]
    return rank(values.reshape(len(complete), len(selectors)), selectors, complete, alpha), left_out
