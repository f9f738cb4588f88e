"""The learning schedule as a selector."""

import numpy as np
import pytest

from tailcut import Decision, Outcome, Selector
from tailcut.bench.replay import replay
from tailcut.bench.summary import paid
from tailcut.representation import pipeline
from tailcut.scenarios.synthetic import SyntheticScenario, generate
from tailcut.schedules import HazardSchedule
from tailcut.types import NO_FEATURES, Progress


def run_all(selector: Selector, runtimes: dict[str, float], features: list[float] | None = None) -> list[str]:
    """Serve one instance to the end; return who ran for more than 1% of the cutoff, or solved it."""
    ran = []
    decision: Decision | None = selector.select([0.0] if features is None else features)
    while decision is not None:
        runtime = runtimes[decision.algorithm]
        if decision.budget > 0.01 * selector.cutoff or runtime <= decision.budget:
            ran.append(decision.algorithm)
        if runtime <= decision.budget:
            selector.observe(decision, runtime=runtime)
        else:
            selector.observe(decision, censored_at=decision.budget)
        decision = selector.proceed(decision)
    return ran


def test_it_learns_who_is_fast_and_starts_with_them() -> None:
    selector = Selector("tailcut_schedule", ["slow", "fast"], cutoff=100)
    for _ in range(30):
        run_all(selector, {"slow": 60.0, "fast": 2.0})
    assert run_all(selector, {"slow": 60.0, "fast": 2.0}) == ["fast"]


def test_it_learns_from_features_who_is_fast() -> None:
    rng = np.random.default_rng(0)
    selector = Selector("tailcut_schedule", ["left", "right"], cutoff=100)
    for _ in range(200):
        side = float(rng.choice([-1.0, 1.0]))
        features = [side, float(rng.normal())]
        run_all(selector, {"left": 50.0 + 49.0 * side, "right": 50.0 - 49.0 * side}, features)
    assert run_all(selector, {"left": 1.0, "right": 99.0}, [-1.0, 0.3])[0] == "left"
    assert run_all(selector, {"left": 99.0, "right": 1.0}, [1.0, 0.3])[0] == "right"


def test_without_features_the_curves_are_those_of_kaplan_and_meier() -> None:
    """One algorithm, thousands of runs, half of them stopped at random."""
    rng = np.random.default_rng(0)
    schedule = HazardSchedule(n_algorithms=1, cutoff=100.0, seed=0, representation=pipeline("none", 0))
    runtime = np.exp(rng.normal(1.5, 2.0, 4000))
    budget = np.exp(rng.uniform(np.log(0.5), np.log(100.0), 4000))
    budget[::2] = 100.0
    end, solved = np.minimum(runtime, budget), runtime <= budget
    for seconds, done in zip(end.tolist(), solved.tolist(), strict=True):
        outcome = Outcome.solved(seconds) if done else Outcome.censored(seconds)
        schedule.learn(0, NO_FEATURES, outcome, Progress(100.0, 0.0, np.zeros(1)), 100.0)
    view = schedule.view(NO_FEATURES)
    by_model = view.curves.survival[0, 1:] @ view.classes
    order = np.argsort(end)
    product_limit = np.cumprod(1.0 - solved[order] / (4000.0 - np.arange(4000.0)))
    reached = np.searchsorted(end[order], schedule.cuts, side="right")
    np.testing.assert_allclose(by_model, np.append(1.0, product_limit)[reached], atol=0.02)


def test_it_switches_where_solutions_come_early_or_never() -> None:
    """Either solves half of the instances at once and the other half never: nobody should get it all."""
    rng = np.random.default_rng(0)
    selector = Selector("tailcut_schedule", ["one", "other"], cutoff=1000)
    for _ in range(60):
        first = bool(rng.integers(2))
        run_all(selector, {"one": 1.0 if first else np.inf, "other": np.inf if first else 1.0})
    decision = selector.select([0.0])
    assert decision.budget < 100.0
    assert len(run_all(selector, {"one": np.inf, "other": 1.0})) <= 2


def test_it_stays_where_solutions_come_late() -> None:
    """Both need most of the time on every instance; no plan of slices would ever find that out."""
    selector = Selector("tailcut_schedule", ["one", "other"], cutoff=1000)
    for _ in range(150):
        run_all(selector, {"one": 800.0, "other": 900.0})
    assert selector.select([0.0]).budget == 1000.0


def test_scores_are_expected_losses_in_seconds() -> None:
    selector = Selector("tailcut_schedule", ["a", "b", "c"], cutoff=50, penalty=10)
    scores = selector.select([1.0]).scores
    assert all(0.0 < score < 500.0 for score in scores.values())


@pytest.fixture(scope="module")
def scenario() -> SyntheticScenario:
    return generate(n_instances=250, n_algorithms=5, n_features=4, seed=3)


def test_it_beats_running_them_all_in_turn(scenario: SyntheticScenario) -> None:
    def loss(name: str) -> float:
        selector = Selector(name, scenario.algorithms, scenario.cutoff)
        return float(paid(scenario, replay(scenario, selector, seed=1))[0].mean())

    assert loss("tailcut_schedule") < loss("round_robin")


@pytest.mark.parametrize("cutoff", [1e-6, 1e8])
def test_any_cutoff(cutoff: float) -> None:
    selector = Selector("tailcut_schedule", ["a", "b"], cutoff=cutoff)
    for scale in (0.0, 1e-9, 0.5, 1.0, 2.0):
        run_all(selector, {"a": cutoff * scale, "b": np.inf})
    assert np.isfinite(list(selector.select([0.0]).scores.values())).all()


def test_a_cutoff_that_differs_from_call_to_call() -> None:
    selector = Selector("tailcut_schedule", ["a", "b"], cutoff=100)
    for cutoff in (100.0, 7.0, 1000.0):
        decision: Decision | None = selector.select([0.0], cutoff=cutoff)
        used = 0.0
        while decision is not None:
            assert 0.0 < decision.budget <= cutoff - used + 1e-9
            used += decision.budget
            selector.observe(decision, censored_at=decision.budget)
            decision = selector.proceed(decision)
        assert used <= cutoff * (1 + 1e-12)


def test_missing_features_are_no_news() -> None:
    selector = Selector("tailcut_schedule", ["a", "b"], cutoff=100)
    for _ in range(20):
        run_all(selector, {"a": 5.0, "b": np.inf}, [np.nan, np.nan])
    assert run_all(selector, {"a": 5.0, "b": np.inf}, [np.nan, np.nan]) == ["a"]


def test_the_first_instance_does_not_set_the_scale_of_time() -> None:
    """A first cutoff of 1 s under a cutoff of 300 s once made all that is longer invisible."""
    streams = []
    for first in (1.0, None):
        selector = Selector("tailcut_schedule", ["a", "b"], 300.0, representation="none")
        selector.select(cutoff=first)
        decisions = []
        for row in range(30):
            decision: Decision | None = selector.select()
            while decision is not None:
                decisions.append((decision.algorithm, decision.budget))
                runtime = 100.0 if decision.algorithm == "a" else 250.0 - row
                solved = runtime <= decision.budget
                selector.observe(
                    decision, Outcome.solved(runtime) if solved else Outcome.censored(decision.budget)
                )
                decision = selector.proceed(decision)
        streams.append(decisions)
    assert streams[0] == streams[1]
