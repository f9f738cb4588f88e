"""Ranks and tests against scipy and against Demšar's tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from tailcut.bench.labels import kind_of
from tailcut.bench.ranks import _holm, pair_tests, rank, ranked_groups
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
    values = np.random.default_rng(0).standard_normal((14, k))
    found = rank(values, list("abcdefghij")[:k], [str(i) for i in range(14)], alpha=0.05)
    assert found.critical_difference == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), rel=5e-4)


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
    pairs = (
        ("A", "thompson", 1),
        ("A", "random", 2),
        ("B", "thompson", 1),
        ("C", "thompson", 3),
        ("C", "random", 1),
    )
    rows = [_row(scenario, selector, value) for scenario, selector, value in pairs]
    (group,) = ranked_groups(rows)
    assert group.ranking.scenarios == ("A", "C")
    assert group.left_out == ("B",)
    with pytest.raises(InputError, match="at least 2 scenarios"):
        ranked_groups(rows[:2])


def _row(scenario: str, selector: str, par10: float, npar10: float | None = 1.0) -> dict[str, Any]:
    return {
        "scenario": scenario,
        "selector": selector,
        "kind": kind_of(selector),
        "par10_mean": par10,
        "npar10": npar10,
        "npar10_train": None,
        "extra_cpu": 0.0,
    }


def test_those_that_pick_once_and_schedules_are_ranked_among_themselves() -> None:
    names = ("thompson", "random", "round_robin", "tailcut_schedule", "sbs")
    rows = [_row(scenario, name, float(i)) for scenario in ("A", "B") for i, name in enumerate(names)]
    picks, schedules = ranked_groups(rows)
    assert picks.ranking.selectors == ("thompson", "random")
    assert schedules.ranking.selectors == ("round_robin", "tailcut_schedule")
    (named,) = ranked_groups(rows, ["sbs", "thompson"])
    assert named.kinds == {"thompson": "one pick", "sbs": "hindsight"}
    (alone,) = ranked_groups([row for row in rows if row["selector"] != "tailcut_schedule"])
    assert alone.ranking.selectors == ("thompson", "random"), (
        "a single schedule has nobody to be ranked among"
    )
    with pytest.raises(InputError, match="no results of nobody; there are: thompson, random"):
        ranked_groups(rows, ["nobody"])


def test_a_group_says_what_it_left_out_and_averages_what_is_defined() -> None:
    rows = [_row("A", "thompson", 1.0, 0.5), _row("A", "random", 2.0), _row("B", "thompson", 1.0, None)]
    rows += [_row("B", "random", 2.0), _row("C", "random", 2.0), _row("D", "thompson", 1.0, 1.5)]
    (group,) = ranked_groups(rows)
    assert group.left_out == ("C", "D")
    assert group.mean_npar == {"thompson": 1.0, "random": 1.0}
    plain = group.as_dict()
    assert plain["scenarios"] == ("A", "B")
    assert plain["left_out"] == ("C", "D")


def test_holm_corrects_for_all_pairs() -> None:
    assert _holm(np.array([0.01, 0.04, 0.03])).tolist() == [0.03, 0.06, 0.06]
    values = np.array([[1.0, 2.0], [1.0, 3.0], [2.0, 4.0], [1.0, 5.0], [2.0, 7.0], [1.0, 9.0]])
    (test,) = pair_tests(values, ["a", "b"])
    assert (test.wins, test.p_holm) == (6, 0.03125)
