"""Ranks and tests against scipy and against Demšar's tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tailcut.bench.ranks import _critical_difference, rank, rank_summary
from tailcut.errors import InputError


def test_friedman_equals_scipy_also_with_ties() -> None:
    rng = np.random.default_rng(0)
    for values in (rng.standard_normal((10, 4)), rng.integers(0, 3, (12, 5)).astype(float)):
        ours = rank(values, list("abcde")[: values.shape[1]], [str(i) for i in range(len(values))])
        expected = stats.friedmanchisquare(*values.T)
        assert ours.friedman_chi2 == pytest.approx(expected.statistic)
        assert ours.friedman_p == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_uses_the_published_q(k: int, q: float) -> None:
    """q at the level 0.05 for k classifiers, from Table 5(a) of Demšar (2006)."""
    assert _critical_difference(14, k, 0.05) == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), rel=5e-4)


def test_ranks_wins_and_order() -> None:
    values = np.array([[3.0, 1.0, 2.0], [3.0, 1.0, 1.0], [2.0, 3.0, 1.0]])
    ours = rank(values, ["x", "y", "z"], ["A", "B", "C"])
    assert ours.selectors == ("z", "y", "x")
    assert ours.average_ranks == pytest.approx((4.5 / 3, 5.5 / 3, 8 / 3))
    assert ours.wins == (2, 2, 0)


def test_identical_selectors_do_not_differ() -> None:
    ours = rank(np.ones((4, 3)), ["x", "y", "z"], list("ABCD"))
    assert (ours.friedman_chi2, ours.friedman_p) == (0.0, 1.0)


def test_incomplete_scenarios_are_left_out_and_named() -> None:
    rows = [
        {"scenario": scenario, "selector": selector, "par10_mean": value}
        for scenario, selector, value in [
            ("A", "x", 1),
            ("A", "y", 2),
            ("B", "x", 1),
            ("C", "x", 3),
            ("C", "y", 1),
        ]
    ]
    comparison, left_out = rank_summary(rows)
    assert comparison.scenarios == ("A", "C")
    assert left_out == ["B"]
    with pytest.raises(InputError, match="at least 2 scenarios"):
        rank_summary(rows[:2])
