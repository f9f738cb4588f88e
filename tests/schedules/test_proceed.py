"""Schedules: what `proceed` hands out, counts, refuses, forgets and keeps in a file."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from numpy.typing import NDArray

from tailcut import CATALOGUE, Decision, Outcome, ScheduleRecipe, Selector, register
from tailcut.errors import InputError, OutOfTurnError, UnknownDecisionError
from tailcut.policies.policy import Choice, Policy
from tailcut.representation import Pipeline
from tailcut.testing import CHECKS, budgets_fit_the_cutoff, factory, failed_is_not_offered_again
from tailcut.types import Array, Progress, Status


def make(selector: str = "round_robin", **options: Any) -> Selector:
    return Selector(selector, **{"algorithms": ["a", "b", "c"], "cutoff": 60.0, **options})


def _next(selector: Selector, decision: Decision, **options: Any) -> Decision:
    following = selector.proceed(decision, **options)
    assert following is not None
    return following


def _all(selector: Selector, decision: Decision | None) -> list[tuple[str, float, float]]:
    """Let every run go on in vain; return algorithm, budget and time spent before of each."""
    seen = []
    while decision is not None:
        seen.append((decision.algorithm, decision.budget, decision.spent))
        selector.observe(decision, censored_at=decision.budget)
        decision = selector.proceed(decision)
    return seen


def test_round_robin_shares_the_time_in_order() -> None:
    selector = make()
    assert _all(selector, selector.select()) == [("a", 20.0, 0.0), ("b", 20.0, 20.0), ("c", 20.0, 40.0)]
    assert _all(selector, selector.select(spent=30)) == [("a", 10, 30), ("b", 10, 40), ("c", 10, 50)]
    assert _all(selector, selector.select(among=["c", "b"], cutoff=6)) == [("b", 3, 0), ("c", 3, 3)]


def test_what_a_run_leaves_goes_to_those_after_it() -> None:
    selector = make()
    first = selector.select()
    selector.observe(first, censored_at=2)
    second = _next(selector, first)
    assert (second.algorithm, second.budget, second.spent, second.stage) == ("b", 29.0, 2.0, 1)
    selector.observe(second, failed=True)
    third = _next(selector, second, spent=3.5)  # it crashed soon, and the caller knows when
    assert (third.algorithm, third.budget, third.spent, third.stage) == ("c", 56.5, 3.5, 2)
    selector.observe(third, censored_at=1)
    assert selector.proceed(third) is None, "all had their turn"


def test_of_a_failed_run_the_whole_slice_counts() -> None:
    selector = make()
    first = selector.select()
    selector.observe(first, failed=True)
    assert _next(selector, first).spent == 20.0


def test_no_time_left_ends_it() -> None:
    selector = make()
    for spent in (60, 61, 60 * (1 - 1e-12)):
        first = selector.select()
        selector.observe(first, censored_at=20)
        assert selector.proceed(first, spent=spent) is None


@pytest.mark.parametrize("name", ["thompson", "bounded_thompson", "epsilon_greedy"])
def test_what_picks_once_gets_the_rest_and_learns_as_ever(name: str) -> None:
    plain, late = make(name), make(name)
    for outcome in (Outcome.solved(3.0), Outcome.censored(40.0), Outcome.failed(), Outcome.censored(60.0)):
        one, other = plain.select([1.0, 2.0]), late.select([1.0, 2.0], spent=15)
        assert (one.budget, other.budget, other.cutoff, other.spent) == (60.0, 45.0, 60.0, 15.0)
        assert (one.algorithm, one.scores) == (other.algorithm, other.scores)
        plain.observe(one, outcome)
        late.observe(other, outcome)
        assert late.proceed(other) is None
        assert late.proceed(other.id) is None


@pytest.mark.parametrize(
    ("spent", "message"),
    [
        (60, "spent must be less than the cutoff of 60 s, got 60.0: no time is left"),
        (-1, "spent must be a finite number of seconds >= 0, got -1"),
        (math.nan, "spent"),
        (math.inf, "spent"),
        ("long", "spent"),
        (None, "spent"),
    ],
)
@pytest.mark.parametrize("name", ["thompson", "round_robin"])
def test_a_wrong_time_is_named_and_changes_nothing(name: str, spent: Any, message: str) -> None:
    selector = make(name)
    selector.select([1.0])
    before = selector.to_bytes()
    with pytest.raises(InputError, match=message):
        selector.select([1.0], spent=spent)
    assert selector.to_bytes() == before


def test_out_of_turn_is_named() -> None:
    selector = make()
    first = selector.select()
    with pytest.raises(OutOfTurnError, match=r"decision 0 waits for its outcome: observe\(\) it before"):
        selector.proceed(first)
    selector.observe(first, censored_at=20)
    with pytest.raises(InputError, match="spent must be a finite"):
        selector.proceed(first, spent=-1)
    second = _next(selector, first)
    with pytest.raises(OutOfTurnError, match="decision 0 was already continued, by 1"):
        selector.proceed(first)
    with pytest.raises(OutOfTurnError, match="decision 1 waits"):
        selector.proceed(second.id)
    with pytest.raises(UnknownDecisionError, match="there is no decision 7"):
        selector.proceed(7)
    with pytest.raises(UnknownDecisionError, match="numbered"):
        selector.proceed("first")  # type: ignore[arg-type]
    selector.observe(second, censored_at=20)
    foreign = Decision(1, "x", "b", 20.0, 60.0, {}, "")
    with pytest.raises(UnknownDecisionError, match="not this selector's"):
        selector.proceed(foreign)


def test_the_oldest_open_instance_is_given_up() -> None:
    selector = make(max_pending=2)
    decisions = []
    for _ in range(3):
        decisions.append(selector.select())
        selector.observe(decisions[-1], censored_at=20)
    with pytest.raises(UnknownDecisionError, match="decision 0 is no longer known: only the latest 2"):
        selector.proceed(decisions[0])
    assert _next(selector, decisions[1]).stage == 1
    assert _next(selector, decisions[2]).stage == 1


def test_algorithms_change_between_two_runs() -> None:
    selector = make()
    first = selector.select()
    selector.observe(first, censored_at=20)
    selector.remove_algorithm("a")
    selector.remove_algorithm("b")
    selector.add_algorithm("d")
    assert _all(selector, selector.proceed(first)) == [("c", 20.0, 20.0), ("d", 20.0, 40.0)]
    limited = selector.select(among=["c"])
    selector.observe(limited, censored_at=5)
    selector.remove_algorithm("c")
    assert selector.proceed(limited) is None, "only c was offered"


def test_a_removed_algorithm_that_comes_back_has_not_been_forgotten_by_the_instance() -> None:
    selector = make()
    first = selector.select()
    selector.observe(first, failed=True)
    selector.remove_algorithm("a")
    selector.add_algorithm("a")
    assert [name for name, _, _ in _all(selector, selector.proceed(first, spent=1))] == ["b", "c"]


class Recorder(Policy):
    """Runs each algorithm for a tenth of the cutoff, last to first, and notes what it is told."""

    representation: Pipeline
    STATE = ("representation",)

    def __init__(self, n_algorithms: int, representation: Pipeline, seed: int, share: float) -> None:
        self.n_algorithms, self.representation = n_algorithms, representation
        self.seed, self.share = seed, share
        self.told: list[tuple[int, list[float], Outcome, Progress, float]] = []

    def choose(self, features: Array, offered: NDArray[np.intp] | None, progress: Progress) -> Choice:
        found = self.proceed(self.representation(features), offered, progress)
        assert found is not None
        return found

    def proceed(self, x: Array, offered: NDArray[np.intp] | None, progress: Progress) -> Choice | None:
        assert progress.failed is not None
        left = min(self.share * progress.cutoff, progress.left)
        best = self.n_algorithms - 1 if offered is None else int(offered[-1])
        return Choice(best, "last", np.zeros(self.n_algorithms), x, left)

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:
        self.told.append((algorithm, x.tolist(), outcome, progress, budget))

    def add(self) -> None:
        self.n_algorithms += 1

    def remove(self, algorithm: int) -> None:
        self.n_algorithms -= 1


ROW = ScheduleRecipe(
    name="recorder",
    summary="for tests",
    policy=Recorder,
    representation="paper",
    hyperparameters={"share": 0.1},
)


def test_a_policy_is_told_how_far_an_instance_had_come() -> None:
    selector = Selector(ROW, ["a", "b"], cutoff=100.0, share=0.25)
    first = selector.select([3.0, 4.0], spent=10)
    selector.observe(first, censored_at=25)
    second = _next(selector, first)
    selector.observe(second, censored_at=20)
    third = _next(selector, second)
    selector.observe(third, failed=True)
    fourth = _next(selector, third)
    selector.observe(fourth, runtime=5)
    policy = selector._policy
    assert isinstance(policy, Recorder)
    assert [(a, outcome, budget) for a, _, outcome, _, budget in policy.told] == [
        (1, Outcome.censored(25), 25.0),
        (1, Outcome.censored(20), 25.0),
        (1, Outcome.failed(), 25.0),
        (0, Outcome.solved(5), 20.0),
    ]
    assert all(x == [0.6, 0.8] for _, x, _, _, _ in policy.told)
    seen = [(progress.used, np.array(progress.failed).tolist()) for _, _, _, progress, _ in policy.told]
    assert seen == [(10.0, [0, 0]), (35.0, [0, 25.0]), (55.0, [0, 25.0]), (80.0, [0, 100.0])]


def test_a_schedule_of_your_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailcut.catalogue.CATALOGUE", dict(CATALOGUE))
    register(ROW)
    assert ROW.describe()["kind"] == "schedule"
    assert Selector("recorder", ["a"], 1.0).hyperparameters == {"share": 0.1, "representation": "paper"}
    with pytest.raises(InputError, match="recorder: share must be a finite number, got inf"):
        Selector("recorder", ["a"], 1.0, share=float("inf"))
    for check in CHECKS:
        check(factory("recorder"))


def test_a_schedule_that_overspends_is_caught() -> None:
    class Overspender(Recorder):
        def proceed(self, x: Array, offered: NDArray[np.intp] | None, progress: Progress) -> Choice | None:
            found = super().proceed(x, offered, progress)
            return None if found is None else found._replace(budget=0.4 * progress.cutoff)

    with pytest.raises(AssertionError, match="exceed the cutoff"):
        budgets_fit_the_cutoff(factory(replace(ROW, policy=Overspender)))


def test_a_schedule_that_insists_on_what_failed_is_caught() -> None:
    class Stubborn(Recorder):
        def proceed(self, x: Array, offered: NDArray[np.intp] | None, progress: Progress) -> Choice | None:
            return super().proceed(x, None, progress)

    with pytest.raises(AssertionError, match="failed and was run again"):
        failed_is_not_offered_again(factory(replace(ROW, policy=Stubborn)))


class AnySchedule(RuleBasedStateMachine):
    """Any order of selecting, observing, going on, adding, removing and reloading keeps the promises."""

    def __init__(self) -> None:
        super().__init__()
        self.selector = make(max_pending=4)
        self.waiting: dict[int, Decision] = {}
        self.ended: dict[int, tuple[Decision, Outcome]] = {}
        self.continued: set[int] = set()
        self.crashed: dict[int, set[str]] = {}
        self.added = 0

    def _wait(self, decision: Decision, crashed: set[str]) -> None:
        assert decision.budget > 0.0
        assert decision.spent + decision.budget <= decision.cutoff * (1 + 1e-9)
        assert decision.algorithm in set(self.selector.algorithms) - crashed
        self.waiting[decision.id], self.crashed[decision.id] = decision, crashed
        for number in sorted(self.waiting)[:-4]:
            del self.waiting[number]

    @rule(spent=st.floats(0.0, 59.0))
    def select(self, spent: float) -> None:
        self._wait(self.selector.select(spent=spent), set())

    @precondition(lambda self: self.waiting)
    @rule(
        data=st.data(), share=st.floats(0.01, 1.0), status=st.sampled_from(["solved", "censored", "failed"])
    )
    def observe(self, data: st.DataObject, share: float, status: str) -> None:
        decision = self.waiting.pop(data.draw(st.sampled_from(sorted(self.waiting))))
        seconds = share * decision.budget
        outcome = Outcome.failed() if status == "failed" else getattr(Outcome, status)(seconds)
        assert self.selector.observe(decision, outcome)
        self.ended[decision.id] = decision, outcome
        if len(self.ended) > 4:
            oldest = next(iter(self.ended))
            del self.ended[oldest]
            with pytest.raises(UnknownDecisionError):
                self.selector.proceed(oldest)

    @precondition(lambda self: self.ended)
    @rule(data=st.data())
    def proceed(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.ended)))
        decision, outcome = self.ended[number]
        if number in self.continued:
            with pytest.raises(OutOfTurnError):
                self.selector.proceed(number)
            return
        following = self.selector.proceed(decision)
        if following is None:
            return
        assert outcome.status is not Status.SOLVED
        assert following.stage == decision.stage + 1
        took = decision.budget if outcome.time is None else outcome.time
        assert following.spent == decision.spent + took
        self.continued.add(number)
        crashed = {decision.algorithm} if outcome.time is None else set()
        self._wait(following, self.crashed[number] | crashed)

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
    def what_waits_is_pending(self) -> None:
        assert list(self.selector.pending) == sorted(self.waiting)


TestAnySchedule = AnySchedule.TestCase
TestAnySchedule.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
