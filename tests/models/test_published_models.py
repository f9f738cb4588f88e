"""The baselines: least squares as scikit-learn's, the jackknife against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailcut import Selector
from tailcut.models import Forests, LeastSquares
from tailcut.models.refitted import jackknife_after_bootstrap


@pytest.mark.parametrize("kind", ["plain", "constant feature", "repeated feature", "zero feature"])
def test_least_squares_gives_the_fits_of_refitting_with_scikit_learn(kind: str) -> None:
    """After every single outcome, from the first: fewer outcomes than features, then more."""
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((40, 6))
    if kind == "constant feature":
        inputs[:, 2] = 0.7
    elif kind == "repeated feature":
        inputs[:, 2] = inputs[:, 4]
    elif kind == "zero feature":
        inputs[:, 2] = 0.0
    targets = rng.exponential(100.0, 40)
    model = LeastSquares(n_algorithms=2, n_features=6)
    for n, (x, target) in enumerate(zip(inputs, targets.tolist(), strict=True), start=1):
        model.update(1, x, target, 1.0)
        refitted = LinearRegression().fit(inputs[:n], targets[:n])
        probe = rng.standard_normal(6)
        assert model.predict_one(1, probe)[0] == pytest.approx(
            float(refitted.predict(probe[None])[0]), rel=1e-7
        )
    assert model.predict_one(0, probe) == (0.0, 0.0)
    assert model.predict(probe)[0][1] == pytest.approx(model.predict_one(1, probe)[0])


def test_the_jackknife_equals_leaving_out_one_by_one() -> None:
    rng = np.random.default_rng(3)
    votes = rng.standard_normal(40)
    drawn = rng.random((40, 12)) < 0.63
    mean = votes.mean()
    total = 0.0
    for i in range(12):
        without = [vote for vote, row in zip(votes, drawn, strict=True) if not row[i]]
        total += (np.mean(without) - mean) ** 2
    expected = 11 / 12 * total - (math.e - 1) * 12 / 40 * np.mean((votes - mean) ** 2)
    assert jackknife_after_bootstrap(votes, drawn) == pytest.approx(max(expected, 0.0))


def test_the_jackknife_of_a_bagged_mean_is_about_its_variance() -> None:
    """Bagging the sample mean: the variance of the mean of n normals is 1/n."""
    rng = np.random.default_rng(4)
    n, estimates = 30, []
    for _ in range(30):
        data = rng.standard_normal(n)
        rows = rng.integers(n, size=(2000, n))
        drawn = np.zeros((2000, n), dtype=bool)
        np.put_along_axis(drawn, rows, True, axis=1)
        estimates.append(jackknife_after_bootstrap(data[rows].mean(axis=1), drawn))
    assert np.mean(estimates) == pytest.approx(1 / n, rel=0.25)


def test_a_forest_is_more_certain_where_it_has_data() -> None:
    model = Forests(n_algorithms=1, n_features=1, trees=200)
    rng = np.random.default_rng(5)
    for _ in range(60):
        x = rng.normal(0.0, 0.1, 1)
        model.update(0, x, float(x[0]), 1.0)
    for value, target in ((3.0, -100.0), (4.0, 100.0)):
        model.update(0, np.array([value]), target, 1.0)
    assert model.predict_one(0, np.array([0.0]))[1] < model.predict_one(0, np.array([3.4]))[1]


def test_timeouts_are_learned_as_the_cutoff_in_seconds() -> None:
    selector = Selector("degroote_epsilon_greedy_lr", ["a"], cutoff=8.0, epsilon=0.0)
    selector.observe(selector.select([1.0]), censored_at=8.0)
    assert selector.select([1.0]).scores["a"] == pytest.approx(8.0)


def test_epsilon_one_chooses_at_random_after_the_first_runs() -> None:
    selector = Selector("epsilon_greedy", ["a", "b"], cutoff=8.0, epsilon=1.0)
    decisions = [selector.select() for _ in range(400)]
    assert [decision.reason for decision in decisions[:3]] == ["first run", "first run", "exploration"]
    share = np.mean([decision.algorithm == "a" for decision in decisions[2:]])
    assert 0.4 < share < 0.6


@pytest.mark.parametrize(("factor", "expected"), [(1.0, 8.0), (10.0, 80.0)])
def test_feature_free_means_count_timeouts_as_c_or_ten_c(factor: float, expected: float) -> None:
    selector = Selector("epsilon_greedy", ["a"], cutoff=8.0, timeout_factor=factor)
    selector.observe(selector.select(), censored_at=8.0)
    assert selector.select().scores["a"] == expected
