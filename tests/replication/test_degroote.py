"""The baseline's fits against scikit-learn, and its rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from tailcut.replication import ExperimentData, approach
from tailcut.replication.experiment import DegrooteLinear, choices, fit, predicted

from .examples import random_table


@pytest.mark.parametrize("n", [1, 5, 30, 200])
def test_fits_are_those_of_the_pipeline(n: int) -> None:
    """From n = 5 on there are more instances than directions that unit vectors of 3 features leave."""
    rng = np.random.default_rng(n)
    features = rng.normal(2.0, 1.0, (n, 3))
    features[1::4, 1] = math.nan
    runtimes = rng.exponential(100.0, n)
    pipeline = make_pipeline(SimpleImputer(), Normalizer(), LinearRegression()).fit(features, runtimes)
    fitted = fit(features, runtimes)
    for x in (features[0], np.array([1.0, math.nan, 2.0]), np.zeros(3)):
        assert predicted(fitted, x) == pytest.approx(pipeline.predict(x[None])[0], rel=1e-8)


def test_an_algorithm_counts_as_untried_until_it_has_an_instance_without_gaps() -> None:
    policy = DegrooteLinear(random_table(1), np.random.RandomState(0))
    gap = np.array([1.0, math.nan, 1.0])
    policy.learn(0, gap, 5.0)
    assert policy.predict(gap).tolist() == [-1e5] * 4
    policy.learn(0, np.ones(3), 7.0)
    assert policy.predict(gap)[0] == pytest.approx(6.0)  # both rows are (1, 1, 1) / sqrt 3 now


def test_timeouts_count_the_cutoff() -> None:
    policy = DegrooteLinear(random_table(1), np.random.RandomState(0))
    policy.learn(2, np.ones(3), 500.0)
    assert policy.predict(np.ones(3))[2] == pytest.approx(50.0)


def test_one_step_in_twenty_is_random() -> None:
    """The draws, in order: uniform() at each step, randint(K) when it is below 0.05."""
    n = 400
    table = ExperimentData(50.0, np.ones((n, 2)), np.tile([1.0, 40.0, 40.0], (n, 1)), np.zeros(n))
    _, chosen = choices(table, approach("degroote_epsilon_greedy_lr"), 3)
    rng = np.random.RandomState(3)
    rng.permutation(n)
    tried: set[int] = set()
    for choice in chosen:
        untried = [a for a in range(3) if a not in tried]
        expected = untried[0] if untried else 0
        if rng.uniform() < 0.05:
            expected = int(rng.randint(3))
        assert choice == expected
        tried.add(int(choice))
    assert set(chosen[20:].tolist()) == {0, 1, 2}
