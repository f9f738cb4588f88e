"""Where runtimes follow the model exactly, the truth is found and regret per step shrinks."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut import Outcome, Selector
from tailcut.bench.replay import replay
from tailcut.catalogue import CATALOGUE
from tailcut.scenarios.synthetic import SyntheticScenario, generate
from tailcut.types import Array, Progress


def _outcome(scenario: SyntheticScenario, row: int, algorithm: int) -> Outcome:
    if scenario.solved[row, algorithm]:
        return Outcome.solved(float(scenario.runtimes[row, algorithm]))
    return Outcome.censored(scenario.cutoff)


def _learn_everything(name: str, scenario: SyntheticScenario, rows: range) -> Array:
    """Feed every algorithm's outcome on every instance to the policy; return its weights (K, d)."""
    recipe = CATALOGUE[name]
    n_algorithms, n_features = scenario.theta.shape
    policy = recipe.build(
        recipe.settings({}), n_algorithms=n_algorithms, n_features=n_features, cutoff=scenario.cutoff, seed=0
    )
    start = Progress(scenario.cutoff, 0.0, None)
    for row in rows:
        for algorithm in range(n_algorithms):
            outcome = _outcome(scenario, row, algorithm)
            policy.learn(algorithm, scenario.features[row], outcome, start, scenario.cutoff)
    return np.asarray(policy.parts.model.theta)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["thompson", "bj_thompson"])
def test_without_censoring_theta_is_recovered(name: str) -> None:
    scenario = generate(n_instances=6000, timeouts=0.0, noise=0.5, seed=1)
    error = np.abs(_learn_everything(name, scenario, range(6000)) - scenario.theta).max()
    assert error < 0.2  # deviation of an entry is about noise * sqrt(d / n) = 0.02, the ridge adds 0.01


def test_under_censoring_buckley_james_is_less_biased_than_the_cutoff() -> None:
    """Timeouts learned as the cutoff pull every prediction down; drawing beyond it pulls less.

    The Buckley-James draw here is from the posterior of x'theta, without the noise (as published), so
    some bias stays.
    """
    scenario = generate(n_instances=6000, timeouts=0.15, noise=0.5, seed=1)
    truth = scenario.features @ scenario.theta.T
    errors = {
        name: float(
            np.abs(scenario.features @ _learn_everything(name, scenario, range(6000)).T - truth).mean()
        )
        for name in ("thompson", "bj_thompson")
    }
    assert errors["bj_thompson"] < errors["thompson"]
    assert errors["bj_thompson"] < 0.5


@pytest.mark.parametrize("name", ["thompson", "thompson_rev", "bj_thompson", "bj_thompson_rev"])
def test_regret_per_step_shrinks(name: str) -> None:
    scenario = generate(n_instances=4000, n_algorithms=5, seed=2)
    selector = Selector(name, scenario.algorithms, scenario.cutoff, seed=0)
    trace = replay(scenario, selector, seed=0)
    losses = scenario.losses()
    regret = losses[trace.order, trace.choices] - losses[trace.order].min(axis=1)
    first, last = regret[:1000].mean(), regret[-1000:].mean()
    assert last < 0.25 * first
    single_best = losses.mean(axis=0).min()
    assert losses[trace.order, trace.choices].mean() < single_best
