"""Warm start: every known run is one lesson, matched by name, under the right cutoff."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from tailcut import Outcome, ScheduleRecipe, Selector
from tailcut.bench.replay import replay
from tailcut.bench.summary import paid
from tailcut.errors import InputError
from tailcut.models import Forests, ResidualLayers, RidgeBank
from tailcut.policies.one_pick import OnePick
from tailcut.policies.recorded_runs import Recorded, RecordedRuns
from tailcut.scenarios.synthetic import SyntheticScenario, generate
from tailcut.schedules import RoundRobin
from tailcut.types import Array, Progress


@dataclass(frozen=True)
class Table:
    """Recorded runs, by default of two algorithms on three instances with two named features."""

    algorithms: tuple[str, ...] = ("a", "b")
    cutoff: float = 60.0
    features: Any = ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))
    runtimes: Any = ((10.0, 50.0), (5.0, np.nan), (99.0, 20.0))
    solved: Any = ((True, True), (True, False), (False, True))
    feature_names: tuple[str, ...] | None = ("x", "y")
    instances: Any = None
    watched: Any = None
    feature_cost: Any = None


class Notes(RoundRobin):
    """Writes down what it is taught."""

    bounded: ClassVar[bool] = True

    def __init__(self, n_algorithms: int) -> None:
        super().__init__(n_algorithms)
        self.begun: list[int] = []
        self.told: set[tuple[int, float, str, float | None]] = set()
        self.budgets: set[float] = set()
        self.cutoffs: set[float] = set()

    def fit_transform(self, features: Array) -> Array:
        return features

    def started(self, algorithm: int) -> None:
        self.begun.append(algorithm)

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:
        assert progress.failed is not None
        assert (progress.used, progress.failed.tolist()) == (0.0, [0.0] * self.n_algorithms)
        self.told.add((algorithm, float(x[0]), outcome.status.value, outcome.time))
        self.budgets.add(budget)
        self.cutoffs.add(progress.cutoff)


NOTES = ScheduleRecipe(name="notes", summary="for tests", policy=Notes, representation="paper")


def notes(algorithms: list[str], cutoff: float, scenario: Recorded, known: Any = None) -> Notes:
    selector = Selector(NOTES, algorithms, cutoff)
    learned = selector.fit(scenario, known=known)
    assert isinstance(selector._policy, Notes)
    assert learned == len(selector._policy.told) == len(selector._policy.begun)
    return selector._policy


def test_every_known_run_is_one_lesson() -> None:
    told = notes(["a", "b"], 60.0, Table())
    assert told.told == {
        (0, 1.0, "solved", 10.0),
        (1, 1.0, "solved", 50.0),
        (0, 3.0, "solved", 5.0),  # nothing is known of b on the second instance
        (0, 5.0, "censored", 60.0),  # unsolved: its recorded time does not count
        (1, 5.0, "solved", 20.0),
    }
    assert (told.budgets, told.cutoffs) == ({60.0}, {60.0})


def test_solved_after_our_cutoff_is_unsolved() -> None:
    told = notes(["a", "b"], 15.0, Table())
    assert told.told == {
        (0, 1.0, "solved", 10.0),
        (1, 1.0, "censored", 15.0),
        (0, 3.0, "solved", 5.0),
        (0, 5.0, "censored", 15.0),
        (1, 5.0, "censored", 15.0),
    }
    assert (told.budgets, told.cutoffs) == ({15.0}, {15.0})


def test_unsolved_at_a_shorter_cutoff_is_censored_there() -> None:
    told = notes(["a", "b"], 600.0, Table())
    assert (0, 5.0, "censored", 60.0) in told.told
    assert (told.budgets, told.cutoffs) == ({60.0}, {600.0})


def test_an_unsolved_run_is_censored_where_it_was_given_up() -> None:
    watched = ((np.nan, np.nan), (np.nan, np.nan), (7.0, 3.0))
    for table in (Table(watched=watched), RecordedRuns.of(Table(watched=watched))):
        told = notes(["a", "b"], 30.0, table)
        assert told.told == {
            (0, 1.0, "solved", 10.0),
            (1, 1.0, "censored", 30.0),  # solved after our cutoff
            (0, 3.0, "solved", 5.0),
            (0, 5.0, "censored", 7.0),
            (1, 5.0, "solved", 20.0),  # what is solved is not asked how long it was watched
        }
        assert told.budgets == {30.0, 7.0}
    assert (0, 5.0, "censored", 5.0) in notes(["a", "b"], 5.0, Table(watched=watched)).told


@pytest.mark.parametrize("name", ["bounded_thompson", "tailcut", "tailcut_schedule", "bj_thompson"])
def test_names_and_runs_watched_to_the_cutoff_change_nothing(name: str) -> None:
    plain, told = (Selector(name, ["a", "b"], 60.0) for _ in range(2))
    plain.fit(Table())
    told.fit(Table(instances=("i", "j", "i"), watched=((np.nan, 99.0),) * 3))
    assert plain.to_bytes() == told.to_bytes()


@pytest.mark.parametrize("name", ["tailcut", "tailcut_schedule"])
def test_features_that_no_decision_would_wait_for_count_as_missing(name: str) -> None:
    late, cost = ((1.0, 2.0), (np.nan, np.nan), (5.0, 6.0)), (6.0, 6.1, np.nan)  # a tenth of the cutoff is 6
    missing, taken_out, stored = (Selector(name, ["a", "b"], 60.0) for _ in range(3))
    missing.fit(Table(features=late))
    taken_out.fit(Table(feature_cost=cost))
    stored.fit(RecordedRuns.from_dict(RecordedRuns.of(Table(feature_cost=cost)).to_dict()))
    assert missing.to_bytes() == taken_out.to_bytes() == stored.to_bytes()


def test_who_cannot_skip_features_learns_all_of_them() -> None:
    plain, costly = (Selector("bounded_thompson", ["a", "b"], 60.0) for _ in range(2))
    plain.fit(Table())
    costly.fit(Table(feature_cost=(0.0, 59.0, 99.0)))
    assert plain.to_bytes() == costly.to_bytes()


def test_names_and_watched_seconds_survive_json_and_are_cut_in_pieces() -> None:
    watched = ((np.nan, 1.5), (np.nan, np.nan), (7.0, np.nan))
    runs = RecordedRuns.of(Table(instances=["i", "j", "k"], watched=watched, feature_cost=(1.0, np.nan, 3.0)))
    again = RecordedRuns.from_dict(json.loads(json.dumps(runs.to_dict())))
    assert (again.instances, again.to_dict()) == (("i", "j", "k"), runs.to_dict())
    first, second = again.pieces(2)
    assert (first.instances, second.instances) == (("i", "j"), ("k",))
    assert (first.to_dict()["watched"], second.to_dict()["watched"]) == (
        [[None, 1.5], [None, None]],
        [[7.0, None]],
    )
    assert (first.to_dict()["feature_cost"], second.to_dict()["feature_cost"]) == ([1.0, None], [3.0])


def test_algorithms_are_matched_by_name() -> None:
    told = notes(["new", "b"], 60.0, Table())
    assert told.told == {(1, 1.0, "solved", 50.0), (1, 5.0, "solved", 20.0)}


def test_what_is_not_known_is_left_out() -> None:
    known = np.array([[True, False], [False, True], [False, False]])
    assert notes(["a", "b"], 60.0, Table(), known).told == {(0, 1.0, "solved", 10.0)}
    assert notes(["a", "b"], 60.0, Table(), np.zeros((3, 2), dtype=bool)).told == set()


def test_features_are_matched_by_name() -> None:
    selector = Selector("thompson", ["a", "b"], 60.0, feature_names=["y", "x"])
    swapped = Selector("thompson", ["a", "b"], 60.0, feature_names=["y", "x"])
    selector.fit(Table())
    swapped.fit(
        Table(features=((2.0, 1.0, 0.0), (4.0, 3.0, 0.0), (6.0, 5.0, 0.0)), feature_names=("y", "x", "z"))
    )
    assert selector.to_bytes() == swapped.to_bytes()


def test_the_scenario_settles_names_and_number_of_features() -> None:
    named, unnamed = (Selector("thompson", ["a", "b"], 60.0) for _ in range(2))
    named.fit(Table())
    unnamed.fit(Table(feature_names=None))
    assert (named.feature_names, unnamed.feature_names) == (("x", "y"), None)
    assert named.select({"y": 2.0}).scores == unnamed.select([np.nan, 2.0]).scores
    with pytest.raises(InputError, match="expected 2 features"):
        unnamed.select([1.0, 2.0, 3.0])


def test_selectors_without_features_ignore_them() -> None:
    selector = Selector("epsilon_greedy", ["a", "b"], 60.0, epsilon=0.0)
    assert selector.fit(Table(feature_names=("x",))) == 5
    decision = selector.select()
    assert decision.scores == {"a": (10 + 5 + 600) / 3, "b": 35.0}
    assert (decision.algorithm, decision.reason) == ("b", "lowest score")
    assert Selector.from_bytes(selector.to_bytes()).select().scores == decision.scores


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithms": ("c", "d")}, "algorithms: the scenario has runs of c, d, and .* only a, b"),
        ({"algorithms": ("a", "a")}, r"algorithms\[1\] repeats 'a'"),
        ({"cutoff": 0.0}, "cutoff must be"),
        ({"features": (1.0, 2.0, 3.0)}, r"features must be a table .* got shape \(3,\)"),
        ({"features": (("u", "v"),) * 3}, "features must be numbers"),
        ({"features": ((1.0, 2.0, 3.0),) * 3}, "feature_names has 2 names for the 3 columns"),
        (
            {"features": ((1.0, 2.0, 3.0),) * 3, "feature_names": None},
            "features: the scenario has 3 per instance, this selector 2",
        ),
        ({"features": ((1.0, 2.0), (np.inf, 2.0), (3.0, 4.0))}, r"features\[1, 0\] is infinite"),
        ({"feature_names": ("x", "z")}, "feature_names: the scenario lacks y"),
        ({"runtimes": ((1.0, 2.0),)}, r"runtimes must have .* \(3, 2\), got \(1, 2\)"),
        ({"runtimes": ((1.0, -2.0),) * 3}, r"runtimes\[0, 1\] must be .* got -2"),
        ({"runtimes": ((np.nan, 2.0),) * 3}, r"runtimes\[0, 0\] must be .* where solved, got nan"),
        ({"solved": ((True, True),)}, r"solved must have .* got \(1, 2\)"),
        ({"solved": ((0.5, 1.0),) * 3}, "solved must be true or false"),
        ({"watched": ((1.0, 2.0),)}, r"watched must have .* \(3, 2\), got \(1, 2\)"),
        ({"watched": ((1.0, 0.0),) * 3}, r"watched\[0, 1\] must be .* got 0"),
        ({"feature_cost": (1.0, 2.0)}, r"feature_cost must have one number per instance, \(3,\), got \(2,\)"),
        ({"feature_cost": (1.0, -2.0, 3.0)}, r"feature_cost\[1\] must be .* got -2"),
        ({"feature_cost": (np.inf, 2.0, 3.0)}, r"feature_cost\[0\] must be .* got inf"),
        ({"feature_cost": ("long", 2.0, 3.0)}, "feature_cost must be numbers"),
        ({"instances": ("i", "j")}, "instances has 2 names for 3 rows"),
        ({"instances": ("i", 2, "k")}, r"instances\[1\] must be text, got 2"),
    ],
)
def test_wrong_data_is_named_and_changes_nothing(change: dict[str, Any], message: str) -> None:
    selector = Selector("thompson", ["a", "b"], 60.0, feature_names=["x", "y"])
    before = selector.to_bytes()
    with pytest.raises(InputError, match=message):
        selector.fit(replace(Table(), **change))
    assert selector.to_bytes() == before


def test_what_is_no_scenario_is_named() -> None:
    selector = Selector("thompson", ["a", "b"], 60.0)
    with pytest.raises(InputError, match="algorithms: a str has none"):
        selector.fit("CPMP-2015")  # type: ignore[arg-type]


def test_a_wrong_mask_is_named() -> None:
    selector = Selector("thompson", ["a", "b"], 60.0)
    with pytest.raises(InputError, match="known must have"):
        selector.fit(Table(), known=np.ones((2, 2), dtype=bool))


def _bank(selector: Selector) -> RidgeBank:
    assert isinstance(selector._policy, OnePick)
    model = selector._policy.parts.model
    assert isinstance(model, RidgeBank)
    return model


def test_the_model_is_the_ridge_of_all_known_runs() -> None:
    past = generate(n_instances=200, n_algorithms=3, n_features=6)
    selector = Selector("thompson", past.algorithms, past.cutoff)
    assert selector.fit(past) == 600
    gram = 0.5 * np.eye(6) + past.features.T @ past.features  # unit vectors already
    moment = past.features.T @ np.log(np.minimum(past.runtimes, past.cutoff))
    np.testing.assert_allclose(_bank(selector).theta, np.linalg.solve(gram, moment).T, rtol=1e-9)


def test_lessons_stand_on_the_scale_of_the_decisions_that_follow() -> None:
    past = generate(n_instances=200, n_algorithms=2, n_features=4)
    selector = Selector("bounded_thompson", past.algorithms, past.cutoff)
    selector.fit(past)
    z = np.copysign(np.log1p(np.abs(past.features)), past.features)
    spread = np.where(z.std(axis=0) > 1e-9, z.std(axis=0), 1.0)
    x = np.column_stack([np.clip((z - z.mean(axis=0)) / spread, -4.0, 4.0) * 2.0, np.full(200, 10.0)])
    inverse = np.linalg.inv(30.0 * np.eye(5) + x.T @ x)
    np.testing.assert_allclose(_bank(selector).inverse[0], inverse, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("name", ["bounded_thompson", "bj_thompson", "degroote_epsilon_greedy_lr"])
def test_instances_without_a_known_run_leave_no_trace(name: str) -> None:
    past = generate(n_instances=80, n_algorithms=3)
    known = np.zeros((80, 3), dtype=bool)
    known[10:50] = True
    part = replace(past, features=past.features[10:50], runtimes=past.runtimes[10:50])
    masked, cut = (Selector(name, past.algorithms, past.cutoff) for _ in range(2))
    assert masked.fit(past, known=known) == cut.fit(part) == 120
    assert masked.to_bytes() == cut.to_bytes()


def test_forests_are_grown_once_after_a_warm_start(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = []
    original = Forests._grow

    def counting(self: Forests, inputs: Array, targets: Array) -> Any:
        grown.append(len(targets))
        return original(self, inputs, targets)

    monkeypatch.setattr(Forests, "_grow", counting)
    past = generate(n_instances=30, n_algorithms=2)
    selector = Selector("degroote_epsilon_greedy_rf", past.algorithms, past.cutoff, trees=3)
    selector.fit(past)
    assert grown == []
    selector.select(past.features[0])
    assert grown == [30, 30]


@pytest.mark.parametrize("settings", [{}, {"window": 50}], ids=["bulk", "window"])
def test_the_default_selector_learns_the_same_from_the_same_runs(settings: dict[str, Any]) -> None:
    """Fit twice: the same bytes; saved, loaded and served: the same bytes again."""
    past, ahead = _halves(1)
    one, same = (Selector("tailcut", past.algorithms, past.cutoff, trees=4, **settings) for _ in range(2))
    assert one.fit(past) == same.fit(past) == past.runtimes.size
    assert one.to_bytes() == same.to_bytes()
    loaded = Selector.from_bytes(one.to_bytes())
    for selector in (one, loaded):
        for row in range(30):
            decision = selector.select(ahead.features[row])
            selector.observe(decision, _seen(ahead, row, decision.algorithm))
        selector.fit(replace(ahead, features=ahead.features[30:60], runtimes=ahead.runtimes[30:60]))
    assert one.to_bytes() == loaded.to_bytes()


def _seen(scenario: SyntheticScenario, row: int, algorithm: str) -> Outcome:
    seconds = float(scenario.runtimes[row, scenario.algorithms.index(algorithm)])
    return Outcome.solved(seconds) if seconds <= scenario.cutoff else Outcome.censored(scenario.cutoff)


def test_recorded_runs_are_counted_in_a_window_as_others_are() -> None:
    past, _ = _halves(2)
    selector = Selector("tailcut", past.algorithms, past.cutoff, trees=2, window=50)
    selector.fit(past)
    policy = selector._policy
    assert isinstance(policy, OnePick)
    assert isinstance(policy.model, ResidualLayers)
    assert policy.runs.sum() == policy.model.arms.runs.sum() == 50
    assert policy.censored.sum() <= 50


def test_in_bulk_counts_are_those_of_all_runs() -> None:
    past, _ = _halves(2)
    selector = Selector("tailcut", past.algorithms, past.cutoff, trees=2)
    selector.fit(past)
    policy = selector._policy
    assert isinstance(policy, OnePick)
    assert policy.runs.tolist() == [200.0] * len(past.algorithms)
    assert policy.censored.tolist() == (~past.solved).sum(axis=0).tolist()
    assert policy.untried == 0


def _halves(seed: int) -> tuple[SyntheticScenario, SyntheticScenario]:
    whole = generate(n_instances=400, seed=seed)
    first, second = (
        replace(whole, features=whole.features[rows], runtimes=whole.runtimes[rows])
        for rows in (slice(0, 200), slice(200, 400))
    )
    return first, second


@pytest.mark.parametrize(
    "name", ["thompson_rev", "bounded_thompson", "degroote_epsilon_greedy_lr", "tailcut"]
)
def test_a_warm_start_pays(name: str) -> None:
    """The first fifty decisions of a stream cost less than half of what they cost from a cold start."""
    cost = {"cold": 0.0, "warm": 0.0}
    for seed in range(5):
        past, ahead = _halves(seed)
        for start, total in cost.items():
            selector = Selector(name, ahead.algorithms, ahead.cutoff, seed=seed)
            if start == "warm":
                selector.fit(past)
            losses, _ = paid(ahead, replay(ahead, selector, seed=seed))
            cost[start] = total + float(losses[:50].mean()) / ahead.cutoff
    assert cost["warm"] < 0.5 * cost["cold"]


def test_in_between_means_as_if_before() -> None:
    """The order of lessons does not matter to a ridge without imputation, so neither does the moment."""
    past, ahead = _halves(0)
    early, late = (Selector("thompson", past.algorithms, past.cutoff) for _ in range(2))

    def serve(selector: Selector, rows: NDArray[np.intp]) -> None:
        for row in rows:
            only = [past.algorithms[row % 5]]
            runtime = float(ahead.runtimes[row, row % 5])
            selector.observe(selector.select(ahead.features[row], among=only), runtime=runtime)

    early.fit(past)
    serve(early, np.arange(50))
    serve(late, np.arange(50))
    late.fit(past)
    np.testing.assert_allclose(_bank(early).theta, _bank(late).theta, rtol=1e-9)
    np.testing.assert_allclose(_bank(early).inverse, _bank(late).inverse, rtol=1e-9, atol=1e-14)


@pytest.mark.aslib
def test_a_scenario_of_aslib(aslib: Any) -> None:
    from tailcut import Scenario

    scenario = Scenario.read(aslib / "CPMP-2015")
    selector = Selector("bounded_thompson", scenario.algorithms, scenario.cutoff)
    assert selector.fit(scenario) == scenario.runtimes.size
    assert selector.feature_names == scenario.feature_names
