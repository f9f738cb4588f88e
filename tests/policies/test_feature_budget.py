"""What features cost and bring: the estimates by hand, and what follows on streams made for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tailcut import Selector
from tailcut.bench.replay import Trace, replay
from tailcut.bench.summary import paid
from tailcut.catalogue import CATALOGUE
from tailcut.errors import InputError
from tailcut.models import ResidualLayers
from tailcut.policies.feature_budget import EVERY, NOISE, TRIAL, FeatureBudget
from tailcut.policies.one_pick import OnePick
from tailcut.policies.recipes import Recipe, Row, ScheduleRecipe
from tailcut.representation import Views
from tailcut.types import Array, Outcome

OWN = ("tailcut", "tailcut_schedule")


def _tried(cost: float = 0.05, finished: bool = True) -> FeatureBudget:
    """Return books that have seen enough instances with features of this cost."""
    budget = FeatureBudget(feature_share=0.1)
    for _ in range(TRIAL):
        budget.admit(np.zeros(1), given=finished, cost=cost, cutoff=1.0)
    return budget


def _in_a_row(budget: FeatureBudget) -> list[bool]:
    """Return for which of the next instances, of which no features cost anything, there is a budget."""
    asked = []
    for _ in range(EVERY):
        asked.append(budget.seconds(60.0) > 0.0)
        budget.admit(np.zeros(1), given=False, cost=0.0, cutoff=1.0)
    return asked


def test_the_price_is_the_time_of_solved_instances_and_those_it_would_have_lost() -> None:
    budget = _tried(0.05)
    assert budget.price.mean == 0.0  # nothing was solved: no time to lose
    budget.solved(0.5)  # half a tenth of a cutoff later is a two-hundredth of an unsolved instance
    assert budget.price.total == pytest.approx(0.005)
    budget.solved(0.96)  # 5% later is too late
    assert budget.price.total == pytest.approx(1.005)
    assert budget.price.mean == pytest.approx(1.005 / TRIAL, rel=0.06)  # older instances fade


def test_the_slope_is_that_of_outcomes_over_predictions_with_the_benefit_of_the_doubt() -> None:
    budget = FeatureBudget()
    assert budget.slope == 1.0
    without = np.array([0.5, 0.5, 0.5])
    for loss in (0.0, 1.0) * 400:  # predicted to be good, and is as ever
        budget.check(0, loss, np.array([0.2, 0.5, 0.5]), without)
    weight = budget.square.total / NOISE
    assert budget.square.total / budget.square.weight == pytest.approx(0.09)
    assert budget.slope == pytest.approx(1.0 / (weight + 1.0) + 2.0 / np.sqrt(weight + 1.0), abs=0.01)
    assert budget.slope < 0.15
    real = FeatureBudget()
    for loss in (0.0, 0.4) * 400:  # predicted to be good, and is
        real.check(0, loss, np.array([0.2, 0.5, 0.5]), without)
    assert real.slope == 1.0


def test_how_hard_an_instance_is_for_all_does_not_count() -> None:
    budget = FeatureBudget()
    budget.check(0, 1.0, np.array([0.9, 0.8, 0.7]), np.array([0.6, 0.5, 0.4]))
    assert budget.square.total == pytest.approx(0.0, abs=1e-12)


def test_features_that_do_not_pay_are_computed_for_one_instance_in_eight() -> None:
    budget = _tried(0.05)
    for _ in range(500):
        budget.gain.add(0.0)
    budget.solved(0.96)
    assert budget.worth < budget.price.mean
    assert sum(_in_a_row(budget)) == 1
    for _ in range(100):
        budget.gain.add(0.2)
    assert budget.worth > budget.price.mean
    assert all(_in_a_row(budget))


def test_features_that_are_never_there_in_time_are_not_waited_for() -> None:
    budget = _tried(0.1, finished=False)
    budget.solved(0.5)
    assert budget.worth < 0.1 * budget.gain.mean
    for _ in range(20):
        budget.solved(0.5)
    assert sum(_in_a_row(budget)) == 1


def test_features_get_a_fair_trial() -> None:
    budget = FeatureBudget(feature_share=0.1)
    for _ in range(TRIAL - 1):
        budget.admit(np.zeros(1), given=False, cost=0.1, cutoff=1.0)
        budget.solved(0.95)
    assert budget.worth < budget.price.mean
    assert budget.seconds(60.0) == 6.0


def test_what_costs_next_to_nothing_is_never_given_up() -> None:
    budget = _tried(0.009)
    budget.solved(0.999)
    for _ in range(500):
        budget.gain.add(0.0)
    assert not budget.charged
    assert all(_in_a_row(budget))


@dataclass(frozen=True)
class Stream:
    """Instances whose features cost the same for all."""

    algorithms: tuple[str, ...]
    cutoff: float
    features: Array
    runtimes: Array
    solved: NDArray[np.bool_]
    feature_cost: Array


def _stream(*, informative: bool, cost: float, n: int, seed: int = 1) -> Stream:
    """Return runs of four algorithms; if informative, the first feature tells which of two is fast."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, 6))
    logs = rng.standard_normal((n, 4)) + np.log(100.0) - 0.5 + np.array([0.0, 0.3, 0.8, 1.2])
    if informative:
        logs[np.arange(n), (features[:, 0] > 0.0).astype(int)] -= 3.0
    runtimes = np.exp(logs)
    solved = runtimes <= 100.0
    return Stream(
        tuple("abcd"), 100.0, features, np.minimum(runtimes, 100.0), solved, np.full(n, 100.0 * cost)
    )


def _served(stream: Stream, selector: str | Row) -> tuple[Trace, Array]:
    """Return what happened and, per instance, the loss in cutoffs."""
    trace = replay(stream, Selector(selector, stream.algorithms, stream.cutoff, seed=1), seed=1)
    return trace, paid(stream, trace)[0] / stream.cutoff


@pytest.mark.parametrize(("name", "n", "streams"), [("tailcut", 800, 16), ("tailcut_schedule", 400, 8)])
def test_useless_costly_features_are_soon_given_up(name: str, n: int, streams: int) -> None:
    """On average over streams: on one of them useless features may look useful for long."""
    shares, saved, prices = [], [], []
    late = slice(n // 2, None)
    for seed in range(1, streams + 1):
        stream = _stream(informative=False, cost=0.08, n=n, seed=seed)
        trace, losses = _served(stream, name)
        asked = trace.feature_cost > 0.0
        assert asked[:TRIAL].all()
        shares.append(asked[late].mean())
        always = _served(stream, _always(CATALOGUE[name]))[1]
        free = replace(stream, features=np.zeros((n, 1)), feature_cost=np.zeros(n))
        never = _served(free, _always(CATALOGUE[name]))[1]
        saved.append(always[late].mean() - losses[late].mean())
        prices.append(always[late].mean() - never[late].mean())
    assert np.mean(shares) <= 0.3
    assert np.mean(saved) > 0.25 * np.mean(prices) > 0.0


@pytest.mark.parametrize(("name", "n"), [("tailcut", 600), ("tailcut_schedule", 300)])
def test_informative_cheap_features_are_kept(name: str, n: int) -> None:
    trace, losses = _served(_stream(informative=True, cost=0.02, n=n), name)
    assert (trace.feature_cost == 2.0).all()
    assert losses[n // 2 :].mean() < 0.6


def _always(row: Row) -> Row:
    """Return the row without the ability to do without features."""
    kept = {key: value for key, value in row.hyperparameters.items() if key != "feature_share"}
    assert isinstance(row, Recipe | ScheduleRecipe)
    return replace(row, name=f"{row.name}_always", hyperparameters=kept)


@pytest.mark.parametrize("name", OWN)
def test_where_features_are_free_everything_is_as_without_budget(name: str) -> None:
    stream = _stream(informative=True, cost=0.0, n=150)
    (own, _), (other, _) = (_served(stream, row) for row in (CATALOGUE[name], _always(CATALOGUE[name])))
    assert own.choices.tolist() == other.choices.tolist()
    if own.slices is not None:
        assert other.slices is not None
        assert own.slices.seconds.tolist() == other.slices.seconds.tolist()


@pytest.mark.parametrize("name", OWN)
def test_features_that_take_too_long_are_stopped_and_paid_for_until_then(name: str) -> None:
    stream = _stream(informative=True, cost=0.02, n=60)
    cost = stream.feature_cost.copy()
    cost[::3] = 300.0  # longer than the cutoff
    trace, losses = _served(replace(stream, feature_cost=cost), name)
    assert trace.feature_cost.tolist() == [10.0 if row % 3 == 0 else 2.0 for row in trace.order.tolist()]
    stopped = trace.order % 3 == 0
    assert (losses[stopped] < 1.0).any()  # solved all the same, with what was left
    assert losses[stopped].min() >= 0.1


@pytest.mark.parametrize("name", OWN)
def test_the_first_instance_may_have_no_features(name: str) -> None:
    selector = Selector(name, algorithms=["a", "b"], cutoff=60)
    first = selector.select(None)
    waiting = selector.select(None, feature_cost=6.0)  # too long, and nobody knows how many there are
    assert (first.budget <= 60.0, waiting.spent) == (True, 6.0)
    selector.observe(first, censored_at=first.budget)
    third = selector.select({"clauses": 5.0, "variables": 3.0}, feature_cost=1.0)
    assert selector.feature_names == ("clauses", "variables")
    assert selector.observe(waiting, censored_at=waiting.budget)
    assert selector.observe(third, runtime=1.0)
    with pytest.raises(InputError, match="expected 2 features, got 3"):
        selector.select([1.0, 2.0, 3.0])


def test_what_was_learned_without_features_is_kept_when_they_come() -> None:
    selector = Selector("tailcut", algorithms=["a", "b"], cutoff=60)
    for _ in range(10):
        decision = selector.select(None)
        outcome = Outcome.solved(1.0) if decision.algorithm == "a" else Outcome.censored(60.0)
        selector.observe(decision, outcome)
    scores = selector.select([1.0, 2.0]).scores
    assert scores["a"] < scores["b"] - 0.1
    policy = selector._policy
    assert isinstance(policy, OnePick)
    assert policy.runs.sum() == 11.0


@pytest.mark.parametrize("window", [0, 20])
def test_runs_without_features_teach_the_arms_and_leave_the_trees_alone(window: int) -> None:
    views = Views(slice(None), slice(None))
    model = ResidualLayers(n_algorithms=2, n_features=3, views=views, seed=0, window=window)
    rng = np.random.default_rng(0)
    for _ in range(15):
        model.update(0, rng.standard_normal(3), 0.2, 1.0)
    before = model.trees.loss.copy()
    for _ in range(10):
        model.update(1, np.empty(0), 0.9, 1.0)
    assert (model.trees.loss == before).all()
    assert model.predict(np.empty(0))[0][1] > 0.6
    assert model.arms.runs.tolist() == ([10.0, 10.0] if window else [15.0, 10.0])
    model.add()  # grows the trees anew, on the runs that have features
    assert np.isfinite(model.predict(rng.standard_normal(3))[0]).all()


def test_features_must_leave_some_time() -> None:
    with pytest.raises(InputError, match="feature_share must be a finite number > 0 and < 1, got 1"):
        Selector("tailcut", algorithms=["a"], cutoff=60, feature_share=1.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"feature_cost": -1}, "feature_cost must be a finite number of seconds >= 0, got -1"),
        ({"feature_cost": 60}, "feature_cost must be less than the cutoff of 60 s"),
        ({"feature_cost": 30, "spent": 30}, r"spent \+ feature_cost must be less than the cutoff of 60 s"),
        ({"feature_cost": None}, "feature_cost must be"),
    ],
)
def test_a_wrong_cost_is_named_and_changes_nothing(given: dict[str, float], message: str) -> None:
    selector = Selector("tailcut", algorithms=["a", "b"], cutoff=60)
    selector.select([1.0])
    before = selector.to_bytes()
    with pytest.raises(InputError, match=message):
        selector.select([1.0], **given)  # type: ignore[arg-type]
    assert selector.to_bytes() == before
