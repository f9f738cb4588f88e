"""The selector's border: what it accepts, what it refuses and in which words, and what it forgets."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tailcut import Decision, Outcome, Selector
from tailcut.errors import (
    ConflictingOutcomeError,
    InputError,
    NotExplainedError,
    StateFileError,
    TailcutError,
    UnknownDecisionError,
)
from tailcut.types import Request


def make(selector: str = "thompson", **options: Any) -> Selector:
    return Selector(selector, **{"algorithms": ["a", "b", "c"], "cutoff": 10.0, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithms": []}, "at least one"),
        ({"algorithms": "abc"}, "list of names"),
        ({"algorithms": ["a", "a"]}, r"algorithms\[1\] repeats 'a'"),
        ({"algorithms": ["a", ""]}, r"algorithms\[1\] must be a non-empty string"),
        ({"algorithms": ["a", 3]}, r"algorithms\[1\]"),
        ({"cutoff": 0}, "cutoff must be a finite number of seconds > 0, got 0"),
        ({"cutoff": math.inf}, "cutoff"),
        ({"cutoff": "soon"}, "cutoff"),
        ({"cutoff": None}, "cutoff"),
        ({"seed": -1}, "seed must be a whole number >= 0"),
        ({"seed": 1.5}, "seed"),
        ({"max_pending": 0}, "max_pending"),
        ({"feature_names": ["x", "x"]}, "repeats 'x'"),
        ({"noise_variance": 0}, "thompson: noise_variance must be a finite number > 0 and <= 1e\\+12, got 0"),
        ({"noise_variance": math.nan}, "noise_variance"),
        ({"noise_variance": "big"}, "noise_variance must be a number"),
        (
            {"alpha": 1},
            "thompson has no hyperparameter 'alpha'; it has: ridge, noise_variance, representation",
        ),
        ({"representation": "deep"}, "representation must be one of"),
        ({"selector": "nope"}, "unknown selector 'nope'; known: thompson, "),
        ({"selector": "oracle"}, "hindsight"),
    ],
)
def test_wrong_settings_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(**options)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (None, "chooses by features"),
        ([1.0], "expected 2 features, got 1"),
        ([1.0, 2.0, 3.0], "expected 2 features, got 3"),
        ([1.0, math.inf], "feature 1 is infinite"),
        ([-math.inf, 1.0], "feature 0 is infinite"),
        ([[1.0, 2.0]], "one vector"),
        (["x", 2.0], "must be numbers"),
        (5.0, "one vector"),
        ({"u": 1.0, "v": 2.0}, "no names here"),
    ],
)
def test_wrong_features_are_named_and_change_nothing(features: Any, message: str) -> None:
    selector = make()
    selector.select([1.0, 2.0])
    before = selector.to_bytes()
    with pytest.raises(InputError, match=message):
        selector.select(features)
    assert selector.to_bytes() == before


def test_named_features_may_come_in_any_order_and_be_absent() -> None:
    one, two = make(seed=1), make(seed=1)
    a = one.select({"u": 1.0, "v": math.nan})
    b = two.select([1.0, math.nan])
    one.observe(a, runtime=1.0)
    two.observe(b, runtime=1.0)
    assert one.select({"v": 2.0, "u": 3.0}).scores == two.select([3.0, 2.0]).scores
    assert one.select({"v": 2.0}).scores == two.select([math.nan, 2.0]).scores
    assert one.feature_names == ("u", "v")
    with pytest.raises(InputError, match="unknown features: w"):
        one.select({"w": 1.0})
    with pytest.raises(InputError, match=r"feature 1 \(v\) is infinite"):
        one.select({"v": math.inf})


def test_a_refused_first_instance_settles_nothing() -> None:
    selector = make()
    with pytest.raises(InputError):
        selector.select([math.inf, 1.0, 2.0])
    assert selector.select({"u": 1.0}).algorithm == "a"


def test_selectors_without_features_need_none() -> None:
    selector = make("epsilon_greedy")
    selector.observe(selector.select(), runtime=1.0)
    assert selector.select([1.0, 2.0]).algorithm == "b"


def test_the_cutoff_and_the_subset_hold_for_one_call() -> None:
    selector = make()
    decision = selector.select([1.0], cutoff=3, among=["c", "b"])
    assert (decision.algorithm, decision.budget, decision.cutoff) == ("b", 3.0, 3.0)
    assert list(decision.scores) == ["b", "c"]
    assert selector.select([1.0]).budget == 10.0
    for among, message in [
        ([], "is empty"),
        (["z"], "unknown algorithms: z"),
        (["a", "a"], "repeats"),
        ("abc", "single string"),
    ]:
        with pytest.raises(InputError, match=message):
            selector.select([1.0], among=among)
    with pytest.raises(InputError, match="cutoff"):
        selector.select([1.0], cutoff=-1)
    with pytest.raises(InputError, match="instance must be a string"):
        selector.select([1.0], instance=7)  # type: ignore[arg-type]


def test_a_later_change_of_the_callers_array_does_not_reach_a_pending_decision() -> None:
    features = np.array([3.0, 4.0])
    one, two = make(), make()
    early, late = one.select(features), two.select([3.0, 4.0])
    features[:] = -1.0
    one.observe(early, runtime=5.0)
    two.observe(late, runtime=5.0)
    assert one.to_bytes() == two.to_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one"),
        ({"runtime": 1.0, "failed": True}, "exactly one"),
        ({"runtime": -1.0}, "runtime must be a finite number of seconds >= 0"),
        ({"runtime": math.nan}, "runtime"),
        ({"runtime": "fast"}, "runtime must be a finite number of seconds >= 0, got 'fast'"),
        ({"censored_at": math.inf}, "censored_at"),
        ({"censored_at": 0}, "censored_at must be more than 0"),
        ({"outcome": "solved"}, "must be an Outcome"),
    ],
)
def test_wrong_outcomes_are_named_and_leave_the_decision_open(
    arguments: dict[str, Any], message: str
) -> None:
    selector = make()
    decision = selector.select([1.0])
    with pytest.raises(InputError, match=message):
        selector.observe(decision, **arguments)
    assert selector.pending == (0,)
    assert selector.observe(decision, runtime=0.0)


def test_unknown_decisions_are_named() -> None:
    selector = make()
    with pytest.raises(UnknownDecisionError, match="no decision 0"):
        selector.observe(0, runtime=1.0)
    decision = selector.select([1.0], instance="mine")
    for wrong in (-1, 1, "0", None, [0]):
        with pytest.raises(UnknownDecisionError, match="no decision"):
            selector.observe(wrong, runtime=1.0)  # type: ignore[arg-type]
    foreign = Decision(decision.id, "other", "c", 10.0, 10.0, {}, "lowest score")
    with pytest.raises(UnknownDecisionError, match="not this selector's"):
        selector.observe(foreign, runtime=1.0)
    assert selector.observe(decision, runtime=1.0)


def test_a_second_outcome_is_accepted_if_equal_and_refused_if_not() -> None:
    selector = make()
    decision = selector.select([1.0])
    assert selector.observe(decision, censored_at=10)
    assert not selector.observe(decision.id, outcome=Outcome.censored(10.0))
    with pytest.raises(ConflictingOutcomeError, match="observed as censored at 10 s; got solved at 10 s"):
        selector.observe(decision, runtime=10)


def test_what_is_pending_is_bounded_and_the_oldest_is_given_up() -> None:
    selector = make(max_pending=3)
    decisions = [selector.select([1.0]) for _ in range(5)]
    assert selector.pending == (2, 3, 4)
    with pytest.raises(UnknownDecisionError, match="no longer known: only the latest 3"):
        selector.observe(decisions[0], runtime=1.0)
    assert selector.observe(decisions[2], runtime=1.0)


@pytest.mark.parametrize("representation", ["paper", "standardised"])
def test_instances_without_any_feature_are_served(representation: str) -> None:
    selector = make(representation=representation)
    for _ in range(20):
        decision = selector.select([])
        assert all(math.isfinite(score) for score in decision.scores.values())
        selector.observe(decision, runtime=1.0 if decision.algorithm == "b" else 9.0)
    assert Selector.from_bytes(selector.to_bytes()).to_bytes() == selector.to_bytes()


def test_started_runs_count_as_tried_so_parallel_first_runs_differ() -> None:
    selector = make()
    assert [selector.select([1.0]).algorithm for _ in range(3)] == ["a", "b", "c"]


def test_algorithms_can_be_added_and_removed() -> None:
    selector = make()
    with pytest.raises(InputError, match="already"):
        selector.add_algorithm("a")
    with pytest.raises(InputError, match="no algorithm 'z'"):
        selector.remove_algorithm("z")
    selector.select([1.0])
    selector.remove_algorithm("b")
    selector.add_algorithm("d")
    assert selector.algorithms == ("a", "c", "d")
    assert [selector.select([1.0]).algorithm for _ in range(2)] == ["c", "d"]
    selector.remove_algorithm("a")
    selector.remove_algorithm("c")
    with pytest.raises(InputError, match="only algorithm left"):
        selector.remove_algorithm("d")


def test_failed_runs_are_learned_as_timeouts_at_the_cutoff() -> None:
    one, two = make("bclinucb"), make("bclinucb")
    one.observe(one.select([1.0], cutoff=4), failed=True)
    two.observe(two.select([1.0], cutoff=4), censored_at=4)
    assert one.select([1.0]).scores == two.select([1.0]).scores


def test_the_penalty_is_a_hyperparameter() -> None:
    """With PAR1 a timeout costs no more than the cutoff; with PAR1000 nearly everything is a timeout."""
    scores = {}
    for penalty in (1.0, 10.0, 1000.0):
        selector = make("thompson_rev", penalty=penalty, algorithms=["a"])
        scores[penalty] = selector.select([1.0]).scores["a"]
    assert scores[1.0] <= 10.0 < scores[1000.0]
    assert scores[1.0] < scores[10.0] < scores[1000.0]


def test_save_is_atomic_and_load_names_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "selector.state"
    selector = make()
    selector.observe(selector.select([1.0, math.nan], instance="i"), failed=True)
    selector.save(path)
    assert Selector.load(path).to_bytes() == selector.to_bytes()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StateFileError, match=r"selector\.state: the state is damaged"):
        Selector.load(path)
    path.write_bytes(b"something else")
    with pytest.raises(StateFileError, match=r"selector\.state: not a Tailcut state"):
        Selector.load(path)
    with pytest.raises(FileNotFoundError):
        Selector.load(tmp_path / "absent")


def test_load_refuses_other_states_and_unknown_selectors() -> None:
    from tailcut.state import pack, unpack

    with pytest.raises(StateFileError, match="not that of a selector"):
        Selector.from_bytes(pack({"kind": "snapshot"}))
    state = unpack(make().to_bytes())
    with pytest.raises(StateFileError, match="cannot be made here: unknown selector 'mine'"):
        Selector.from_bytes(pack({**state, "selector": "mine"}))
    incomplete = {key: value for key, value in state.items() if key != "algorithms"}
    with pytest.raises(StateFileError, match="'algorithms'"):
        Selector.from_bytes(pack(incomplete))


def test_a_fresh_selector_saves_and_loads_before_its_first_instance() -> None:
    selector = Selector.from_bytes(make(seed=9).to_bytes())
    assert selector.select([1.0]).scores == make(seed=9).select([1.0]).scores


class AnyUse(RuleBasedStateMachine):
    """Any order of selecting, observing, adding, removing and reloading keeps the promises."""

    def __init__(self) -> None:
        super().__init__()
        self.selector = make("bj_thompson_rev", max_pending=5)
        self.open: dict[int, Decision] = {}
        self.done: dict[int, Outcome] = {}
        self.added = 0

    @rule(features=st.tuples(st.floats(-1e6, 1e6) | st.just(math.nan), st.floats(-1, 1)))
    def select(self, features: tuple[float, float]) -> None:
        decision = self.selector.select(features)
        assert decision.algorithm in self.selector.algorithms
        assert all(math.isfinite(score) for score in decision.scores.values())
        self.open[decision.id] = decision
        for number in sorted(self.open)[:-5]:
            del self.open[number]

    @precondition(lambda self: self.open)
    @rule(
        data=st.data(), time=st.floats(0.001, 20.0), status=st.sampled_from(["solved", "censored", "failed"])
    )
    def observe(self, data: st.DataObject, time: float, status: str) -> None:
        number = data.draw(st.sampled_from(sorted(self.open)))
        outcome = Outcome.failed() if status == "failed" else getattr(Outcome, status)(time)
        assert self.selector.observe(self.open.pop(number), outcome)
        self.done[number] = outcome
        assert not self.selector.observe(number, outcome)

    @rule()
    def add(self) -> None:
        self.added += 1
        self.selector.add_algorithm(f"new{self.added}")

    @precondition(lambda self: len(self.selector.algorithms) > 1)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        self.selector.remove_algorithm(data.draw(st.sampled_from(self.selector.algorithms)))

    @rule()
    def reload(self) -> None:
        data = self.selector.to_bytes()
        self.selector = Selector.from_bytes(data)
        assert self.selector.to_bytes() == data

    @invariant()
    def what_is_open_is_pending(self) -> None:
        assert list(self.selector.pending) == sorted(self.open)


TestAnyUse = AnyUse.TestCase
TestAnyUse.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


@given(
    st.dictionaries(st.sampled_from(["selector", "cutoff", "seed", "x"]), st.none() | st.text(), max_size=2)
)
@settings(max_examples=50, deadline=None)
def test_nonsense_arguments_raise_our_own_errors(options: dict[str, Any]) -> None:
    with contextlib.suppress(TailcutError):
        make(**options)


@pytest.mark.parametrize("name", ["thompson", "tailcut", "tailcut_schedule"])
def test_a_frozen_decision_is_what_is_considered_and_changes_nothing(name: str) -> None:
    selector = make(name)
    with pytest.raises(NotExplainedError, match="has not decided anything yet"):
        selector.decide_frozen(Request([1.0, 2.0]))
    for step in range(12):
        decision = selector.select([float(step), 1.0])
        selector.observe(decision, Outcome.solved(0.5) if decision.algorithm == "b" else Outcome.failed())
    before = selector.to_bytes()
    found = selector.decide_frozen(Request([3.0, 1.0], instance="i", feature_cost=0.5))
    assert found is not None
    assert selector.to_bytes() == before
    assert found.algorithm == selector.consider([3.0, 1.0]).algorithm
    assert found.instance == "i"
    assert found.budget <= 9.5
    only = selector.decide_frozen(Request([3.0, 1.0], among=["c"]))
    assert only is not None
    assert only.algorithm == "c"
    assert selector.decide_frozen(Request([3.0, 1.0], spent=10.0)) is None, "no time is left"
    with pytest.raises(InputError, match="unknown algorithms: d"):
        selector.decide_frozen(Request([3.0, 1.0], among=["d"]))


def test_frozen_decisions_of_a_schedule_continue_after_failures() -> None:
    selector = make("round_robin")
    selector.select()
    names, failed = [], dict[str, float]()
    decision = selector.decide_frozen(Request())
    while decision is not None:
        names.append((decision.algorithm, round(decision.budget, 6)))
        failed[decision.algorithm] = decision.budget
        decision = selector.decide_frozen(Request(spent=min(sum(failed.values()), 10.0), failed=failed))
    assert names == [("a", 3.333333), ("b", 3.333333), ("c", 3.333333)]


@pytest.mark.parametrize("name", ["tailcut", "tailcut_schedule", "thompson_rev", "epsilon_greedy"])
def test_arrays_are_considered(name: str) -> None:
    selector = make(name)
    selector.observe(selector.select(np.array([1.0, 2.0])), runtime=1.0)
    before = selector.to_bytes()
    assert selector.consider(np.array([1.0, 2.0])).algorithm in "abc"
    assert selector.to_bytes() == before
