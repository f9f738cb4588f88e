"""The sliding window: the model and the counts are those of the latest runs, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut import CATALOGUE, Selector
from tailcut.bench.plan import Contender
from tailcut.bench.replay import replay
from tailcut.bench.summary import paid
from tailcut.errors import InputError
from tailcut.models import RidgeBank, RunningMeans
from tailcut.policies.one_pick import OnePick
from tailcut.scenarios.synthetic import generate
from tailcut.state import pack, unpack
from tailcut.testing import CHECKS, Factory, factory
from tailcut.types import Array

Run = tuple[int, Array, float, float]


def _solved(runs: list[Run], algorithm: int, d: int, ridge: float) -> tuple[Array, Array]:
    """The inverse and the weights of one algorithm, by numpy from all its runs at once."""
    own = [run for run in runs if run[0] == algorithm]
    x = np.array([run[1] for run in own]).reshape(-1, d)
    w = np.array([run[3] for run in own])
    gram = ridge * np.eye(d) + (x.T * w) @ x
    return np.linalg.inv(gram), np.linalg.solve(gram, (x.T * w) @ np.array([run[2] for run in own]))


@given(
    n_algorithms=st.integers(1, 4),
    d=st.integers(1, 5),
    steps=st.integers(0, 80),
    window=st.integers(1, 40),
    ridge=st.floats(0.1, 10.0),
    seed=st.integers(0, 1000),
)
@settings(max_examples=80, deadline=None)
def test_the_bank_is_the_ridge_of_the_latest_runs(
    n_algorithms: int, d: int, steps: int, window: int, ridge: float, seed: int
) -> None:
    """Also after runs of no weight, algorithms added and removed, and a reload."""
    rng = np.random.default_rng(seed)
    bank = RidgeBank(n_algorithms=n_algorithms, n_features=d, ridge=ridge, window=window)
    runs: list[Run] = []
    for step in range(steps):
        algorithm, x = int(rng.integers(n_algorithms)), rng.standard_normal(d)
        target, weight = float(rng.standard_normal() * 5), float(rng.choice([0.0, 0.3, 1.0]))
        bank.update(algorithm, x, target, weight)
        runs = [*runs, (algorithm, x, target, weight)][-window:]
        if step % 20 == 10:
            bank.add()
            gone = int(rng.integers(n_algorithms))
            bank.remove(gone)
            runs = [(a - (a > gone), *rest) for a, *rest in runs if a != gone]  # type: ignore[misc]
        if step % 20 == 15:
            other = RidgeBank(n_algorithms=n_algorithms, n_features=d, ridge=ridge, window=window)
            other.restore(unpack(pack(bank.state())))
            assert pack(other.state()) == pack(bank.state())
            bank = other
    for algorithm in range(n_algorithms):
        inverse, theta = _solved(runs, algorithm, d, ridge)
        np.testing.assert_allclose(bank.inverse[algorithm], inverse, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(bank.theta[algorithm], theta, rtol=1e-9, atol=1e-9)


D = 6


def _spread(rng: np.random.Generator, n: int) -> Array:
    return rng.standard_normal((n, D))


def _nearly_collinear(rng: np.random.Generator, n: int) -> Array:
    """Features of very different sizes scaled to unit norm, as raw ASlib features are: one dominates."""
    x = rng.standard_normal((n, D)) * np.array([1e4, 1e2, 1.0, 1e-1, 1e-2, 1e-3])
    x[:, 0] += 1e5
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def _one_direction_at_a_time(rng: np.random.Generator, n: int) -> Array:
    """What was learned of a direction leaves the window to the last run: letting go at its hardest."""
    x = np.zeros((n, D))
    x[np.arange(n), np.arange(n) // 500 % D] = 10.0 * rng.standard_normal(n)
    return x


@pytest.mark.parametrize("window", [50, 1000])
@pytest.mark.parametrize("stream", [_spread, _nearly_collinear, _one_direction_at_a_time])
def test_no_drift_after_a_hundred_thousand_runs(
    stream: Callable[[np.random.Generator, int], Array], window: int
) -> None:
    n, ridge = 100_000, 0.5
    rng = np.random.default_rng(5)
    xs = stream(rng, n)
    targets = xs @ rng.standard_normal(D) + rng.standard_normal(n) + 3.0
    weights = np.where(rng.random(n) < 0.3, rng.random(n), 1.0)
    runs = list(zip(rng.integers(3, size=n).tolist(), xs, targets.tolist(), weights.tolist(), strict=True))
    bank = RidgeBank(n_algorithms=3, n_features=D, ridge=ridge, window=window)
    for step, run in enumerate(runs, start=1):
        bank.update(*run)
        if step % 997 == 0 or step == n:
            for algorithm in range(3):
                inverse, theta = _solved(runs[max(0, step - window) : step], algorithm, D, ridge)
                scale = np.abs(inverse).max(), np.abs(theta).max()
                assert np.abs(bank.inverse[algorithm] - inverse).max() <= 1e-8 * scale[0]
                assert np.abs(bank.theta[algorithm] - theta).max() <= 1e-8 * scale[1]


def test_a_run_that_alone_holds_a_direction_is_let_go_safely() -> None:
    """1e5 against a ridge of 1e-3: subtracting it would divide by 1e-13."""
    bank = RidgeBank(n_algorithms=1, n_features=2, ridge=1e-3, window=1)
    bank.update(0, np.array([1e5, 0.0]), 7.0, 1.0)
    bank.update(0, np.array([0.0, 1.0]), 2.0, 1.0)
    np.testing.assert_allclose(bank.inverse[0], np.diag([1e3, 1 / 1.001]), rtol=1e-12)


def test_a_window_that_never_fills_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    plain = RidgeBank(n_algorithms=2, n_features=3)
    wide = RidgeBank(n_algorithms=2, n_features=3, window=100)
    for step in range(100):
        x = rng.standard_normal(3)
        for bank in (plain, wide):
            bank.update(step % 2, x, float(step), 1.0)
    assert wide.halves.tobytes() == plain.halves.tobytes()
    assert wide.theta.tobytes() == plain.theta.tobytes()
    assert plain.state()["window"] is None


@given(steps=st.integers(0, 120), window=st.integers(1, 30), seed=st.integers(0, 1000))
@settings(max_examples=80, deadline=None)
def test_means_are_those_of_the_latest_runs(steps: int, window: int, seed: int) -> None:
    """Targets from milliseconds to months; some runs of no weight."""
    rng = np.random.default_rng(seed)
    means = RunningMeans(n_algorithms=3, n_features=0, window=window)
    runs: list[tuple[int, float, float]] = []
    for step in range(steps):
        run = (int(rng.integers(3)), float(10 ** rng.uniform(-3, 7)), float(rng.choice([0.0, 0.25, 1.0])))
        means.update(run[0], np.empty(0), *run[1:])
        runs = [*runs, run][-window:]
        if step == 50:
            means.add()
            means.remove(1)
            runs = [(a - (a > 1), t, w) for a, t, w in runs if a != 1]
            again = RunningMeans(n_algorithms=3, n_features=0, window=window)
            again.restore(unpack(pack(means.state())))
            means = again
    largest = max((target for _, target, _ in runs), default=1.0)
    for algorithm in range(3):
        own = [(target, weight) for a, target, weight in runs if a == algorithm]
        total = sum(weight for _, weight in own)
        mean = sum(t * w for t, w in own) / total if total else 0.0
        assert means.weight[algorithm] == pytest.approx(total)
        assert means.mean[algorithm] == pytest.approx(mean, rel=1e-9, abs=1e-9 * max(largest, 1e7))


@pytest.mark.parametrize("name", ["blinducb", "bounded_thompson", "epsilon_greedy"])
def test_counts_are_those_of_the_latest_runs(name: str) -> None:
    """`blinducb` drops timeouts: they teach nothing, and take their place in the window all the same."""
    scenario = generate(n_instances=300, n_algorithms=4, timeouts=0.5, seed=1)
    selector = Selector(name, scenario.algorithms, scenario.cutoff, window=20)
    chosen: list[int] = []
    unsolved: list[bool] = []
    for row in range(300):
        decision = selector.select(scenario.features[row])
        algorithm = scenario.algorithms.index(decision.algorithm)
        untried = {0, 1, 2, 3} - set(chosen[-20:])
        assert (decision.reason == "first run") == bool(untried)
        chosen.append(algorithm)
        if scenario.solved[row, algorithm]:
            selector.observe(decision, runtime=float(scenario.runtimes[row, algorithm]))
        else:
            selector.observe(decision, censored_at=scenario.cutoff)
        unsolved.append(not scenario.solved[row, algorithm])
        policy = selector._policy
        assert isinstance(policy, OnePick)
        last = np.array(chosen[-20:])
        assert policy.runs.tolist() == np.bincount(last, minlength=4).tolist()
        assert policy.censored.tolist() == np.bincount(last[unsolved[-20:]], minlength=4).tolist()
    model = policy.parts.model if isinstance(policy, OnePick) else None
    if isinstance(model, RidgeBank):
        assert model.window is not None
        assert [run[0] for run in model.window] == chosen[-20:]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "name",
    ["bj_thompson_rev", "rand_bclinucb", "tailcut", "tailcut_schedule", "bounded_thompson", "epsilon_greedy"],
)
def test_selectors_with_a_window_conform(name: str, check: Callable[[Factory], None]) -> None:
    check(factory(name, window=25))


def test_window_is_offered_where_the_model_has_it() -> None:
    offered = {name for name, row in CATALOGUE.items() if "window" in row.options}
    assert {"tailcut", "tailcut_schedule", "thompson", "bj_thompson_rev", "epsilon_greedy"} <= offered
    assert not offered & {"random", "round_robin", "degroote_epsilon_greedy_lr", "degroote_ucb_rf"}
    with pytest.raises(InputError, match="random has no hyperparameter 'window'"):
        Selector("random", ["a"], 1.0, window=5)
    assert Contender.parse("thompson:window=50").label == "thompson:window=50"


@pytest.mark.parametrize("wrong", [-1, 1.5, float("inf"), float("nan"), True, "9"])
def test_a_wrong_window_is_named(wrong: Any) -> None:
    with pytest.raises(InputError, match="thompson: window must be a "):
        Selector("thompson", ["a"], 1.0, window=wrong)


@pytest.mark.parametrize("wrong", [0, float("inf"), float("nan")])
def test_other_whole_numbers_start_at_one(wrong: Any) -> None:
    with pytest.raises(InputError, match="trees must be a whole number >= 1"):
        Selector("degroote_ucb_rf", ["a"], 1.0, trees=wrong)


def test_off_is_as_if_there_were_no_window() -> None:
    scenario = generate(n_instances=60)
    plain = Selector("thompson", scenario.algorithms, scenario.cutoff)
    off = Selector("thompson", scenario.algorithms, scenario.cutoff, window=0)
    assert "window" not in plain.hyperparameters
    for selector in (plain, off):
        replay(scenario, selector, seed=0)
    assert plain._policy is not None
    assert off._policy is not None
    assert pack(off._policy.state()) == pack(plain._policy.state())


@pytest.mark.parametrize("name", ["tailcut", "thompson", "bounded_thompson", "epsilon_greedy"])
def test_a_window_pays_after_a_change(name: str) -> None:
    """Half-way the algorithms trade places; in the last quarter, those that forget pay less."""
    cost = {0: 0.0, 300: 0.0}
    for seed in range(3):
        scenario = generate(n_instances=3000, n_algorithms=4, seed=seed)
        runtimes = scenario.runtimes.copy()
        runtimes[1500:] = runtimes[1500:][:, [2, 3, 0, 1]]
        changed = replace(scenario, runtimes=runtimes)
        for window, total in cost.items():
            selector = Selector(name, changed.algorithms, changed.cutoff, seed=seed, window=window)
            losses = [_pay(changed, selector, row) for row in range(3000)]
            cost[window] = total + sum(losses[2250:])
    assert cost[300] < 0.9 * cost[0]


def _pay(scenario: Any, selector: Selector, row: int) -> float:
    decision = selector.select(scenario.features[row])
    algorithm = scenario.algorithms.index(decision.algorithm)
    runtime = float(scenario.runtimes[row, algorithm])
    if runtime <= scenario.cutoff:
        selector.observe(decision, runtime=runtime)
        return runtime
    selector.observe(decision, censored_at=scenario.cutoff)
    return float(10.0 * scenario.cutoff)


def test_a_warm_start_fills_the_window_with_its_last_runs() -> None:
    past = generate(n_instances=100, n_algorithms=3)
    selector = Selector("bounded_thompson", past.algorithms, past.cutoff, window=30)
    assert selector.fit(past) == 300
    assert isinstance(selector._policy, OnePick)
    assert selector._policy.runs.tolist() == [10.0, 10.0, 10.0]
    losses, _ = paid(past, replay(past, selector, seed=0))
    assert np.isfinite(losses).all()
