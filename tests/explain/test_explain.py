"""Explanations: what they say, when they can be had, and that they are true of the selector."""

from __future__ import annotations

import copy
import gc
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut import Explanation, Outcome, Selector
from tailcut.catalogue import CATALOGUE
from tailcut.errors import InputError, NotExplainedError, UnknownDecisionError
from tailcut.explain import AlgorithmBelief, FeatureEffect
from tailcut.policies.losses import LogSeconds
from tailcut.policies.one_pick import OnePick
from tailcut.policies.recipes import ScheduleRecipe
from tailcut.representation import PIPELINES, pipeline
from tailcut.schedules import RoundRobin
from tailcut.types import Array, Decision, Forecasts, Progress

NAMES = ("clauses", "variables", "ratio")


def _served(name: str, steps: int = 80, **settings: Any) -> tuple[Selector, Decision]:
    """A selector of three algorithms that served `steps` instances, and its decision on one more.

    Algorithm a is fast on many clauses, b on few, c times out.
    """
    rng = np.random.default_rng(5)
    selector = Selector(name, ["a", "b", "c"], 100.0, feature_names=NAMES, **settings)
    for _ in range(steps):
        clauses = float(rng.uniform(1.0, 10.0))
        decision = selector.select([clauses, float(rng.uniform()), 5.0])
        if decision.algorithm == "c":
            selector.observe(decision, censored_at=100.0)
        else:
            level = 5.0 - clauses if decision.algorithm == "a" else clauses - 5.0
            selector.observe(decision, runtime=min(math.exp(level + rng.standard_normal()), 99.0))
    return selector, selector.select([9.0, 0.5, np.nan], instance="big")


EXAMPLE = Explanation(
    selector="bounded_thompson",
    decision=7,
    instance="i",
    algorithm="kissat",
    reason="lowest score",
    budget=300.0,
    cutoff=300.0,
    penalty=10.0,
    judged_by="expected PAR10",
    unit="s",
    algorithms=(
        AlgorithmBelief("kissat", 140.0, 41, 12.0, 0.8, 190.0, 0.04, 140.0),
        AlgorithmBelief("minisat", 871.6, 1017, 88.0, 3.0, 2400.0, 0.27, 870.0),
    ),
    rival="minisat",
    features=(FeatureEffect("n_vars", 3, 1200.0, 35.2), FeatureEffect(None, 0, 0.5, -1.4)),
    outcomes_since=2,
)


def test_the_text_is_a_table_in_plain_words() -> None:
    assert str(EXAMPLE) == (
        "kissat for at most 300 s, because its score (expected PAR10) is lowest\n"
        "              runs  score  runtime (90% interval)  timeout  expected PAR10\n"
        "  > kissat      41    140      12 s (0.8 - 190 s)       4%           140 s\n"
        "    minisat  1,017    872      88 s (3 - 2,400 s)      27%           870 s\n"
        "features that weigh most for kissat against minisat: "
        "n_vars = 1200 (+35 s), feature 0 = 0.5 (-1.4 s)\n"
        "as of now: 2 outcomes were learned since this decision"
    )


def test_unknown_numbers_are_null_and_never_nan() -> None:
    odd = AlgorithmBelief("x", math.inf, None, expected_par=math.nan)
    plain = Explanation(**{**_fields(EXAMPLE), "algorithms": (odd,)}).to_dict()
    assert plain["algorithms"][0]["score"] is None
    assert plain["algorithms"][0]["expected_par"] is None
    assert json.loads(EXAMPLE.to_json()) == EXAMPLE.to_dict()


def _fields(explanation: Explanation) -> dict[str, Any]:
    return {name: getattr(explanation, name) for name in Explanation.__slots__}


@pytest.mark.parametrize("name", ["thompson", "thompson_rev"])
def test_it_tells_what_was_learned(name: str) -> None:
    _, decision = _served(name)
    explanation = decision.explain()
    by_name = {one.name: one for one in explanation.algorithms}
    assert (explanation.instance, explanation.algorithm) == ("big", "a")
    assert explanation.rival in ("b", "c")
    slower = by_name["b"].predicted_runtime
    faster = by_name["a"].predicted_runtime
    assert faster is not None
    assert slower is not None
    assert faster < 1.0 < slower
    assert [one.runs for one in explanation.algorithms] != [0, 0, 0]
    assert explanation.features[0].name == "clauses"
    assert explanation.features[0].value == 9.0
    assert "ratio" not in [one.name for one in explanation.features], "what is missing cannot weigh"


def test_many_clauses_speak_for_the_one_that_is_fast_on_them() -> None:
    selector, _ = _served("bounded_thompson")
    for clauses, best in ((9.5, "a"), (1.5, "b")):
        explanation = selector.consider([clauses, 0.5, 5.0], among=["a", "b"])
        assert explanation.algorithm == best
        assert explanation.features[0].effect > 0.0, "it speaks for the chosen one"


def test_an_effect_is_the_change_of_the_score_difference() -> None:
    """By hand for a ridge on unit vectors: the means at x, and at x with the running mean filled in."""
    selector, decision = _served("thompson")
    policy = selector._policy
    assert isinstance(policy, OnePick)
    explanation = decision.explain()
    impute: Any = policy.parts.representation.parts[0]
    means = impute.total / impute.seen
    theta = policy.parts.model.theta  # type: ignore[attr-defined]
    k = {name: number for number, name in enumerate(selector.algorithms)}
    pair = theta[k[explanation.rival or ""]] - theta[k[explanation.algorithm]]

    def advantage(clauses: float) -> float:
        raw = np.array([clauses, 0.5, means[2]])
        return float(pair @ raw / np.linalg.norm(raw))

    effect = next(one.effect for one in explanation.features if one.name == "clauses")
    assert effect == pytest.approx(advantage(9.0) - advantage(means[0]), rel=1e-9)


def test_top_says_how_many_features_are_told() -> None:
    _, decision = _served("thompson")
    assert len(decision.explain(top=1).features) == 1
    assert decision.explain(top=0).features == ()
    with pytest.raises(InputError, match="top must be a whole number"):
        decision.explain(top=-1)


def test_it_tells_whether_the_belief_has_moved_on() -> None:
    selector, decision = _served("thompson")
    before = decision.explain()
    assert before.outcomes_since == 0
    selector.observe(decision, runtime=50.0)
    assert decision.explain().outcomes_since == 1
    assert "1 outcome was learned since" in str(decision.explain())
    assert decision.explain().algorithms != before.algorithms
    selector.observe(decision, runtime=50.0)
    assert decision.explain().outcomes_since == 1, "the same outcome again teaches nothing"


def test_a_copy_asks_the_selector() -> None:
    selector, decision = _served("thompson")
    for copied in (pickle.loads(pickle.dumps(decision)), copy.copy(decision), copy.deepcopy(decision)):
        assert copied == decision
        with pytest.raises(NotExplainedError, match=r"selector\.explain\(decision\)"):
            copied.explain()
        assert selector.explain(copied) == decision.explain()


def test_a_decision_does_not_keep_its_selector_alive() -> None:
    selector, decision = _served("thompson", steps=3)
    assert decision.explain().decision == 3
    del selector
    gc.collect()
    with pytest.raises(NotExplainedError, match="does not know its selector any more"):
        decision.explain()


def test_foreign_decisions_are_refused() -> None:
    selector, decision = _served("thompson", steps=3)
    other = Selector("thompson", ["a", "b", "c"], 100.0)
    with pytest.raises(NotExplainedError, match="has not decided anything yet"):
        other.explain(decision)
    other.select([1.0, 2.0, 3.0])
    with pytest.raises(UnknownDecisionError, match=r"decision 3 .* is not this selector"):
        other.explain(decision)
    with pytest.raises(NotExplainedError, match="does not know what it was made with"):
        selector.explain(Decision(0, None, "a", 100.0, 100.0, {"a": 1.0}, "lowest score"))
    with pytest.raises(InputError, match="expected the Decision itself, got 3"):
        selector.explain(3)


def test_removed_algorithms_have_no_numbers() -> None:
    selector, decision = _served("bounded_thompson")
    selector.remove_algorithm("c")
    selector.add_algorithm("d")
    gone = next(one for one in decision.explain().algorithms if one.name == "c")
    assert (gone.runs, gone.predicted_runtime) == (None, None)
    selector.remove_algorithm("a")
    assert decision.explain().features == ()
    assert "c" in str(decision.explain())


def test_time_used_before_counts() -> None:
    selector, _ = _served("thompson")
    late, fresh = (selector.select([9.0, 0.5, 5.0], spent=spent).explain() for spent in (99.0, 0.0))
    for one, other in zip(late.algorithms, fresh.algorithms, strict=True):
        assert one.timeout_probability is not None
        assert other.timeout_probability is not None
        assert one.timeout_probability > other.timeout_probability


def test_considering_changes_nothing_and_needs_a_first_decision() -> None:
    for name, row in CATALOGUE.items():
        selector = Selector(name, ["a", "b"], 60.0)
        with pytest.raises(NotExplainedError, match="has not decided anything yet"):
            selector.consider([1.0])
        selector.select([1.0] if row.needs_features else None)
        before = selector.to_bytes()
        explanation = selector.consider([2.0], cutoff=5.0, among=["b"])
        assert (explanation.decision, explanation.algorithm, explanation.cutoff) == (None, "b", 5.0)
        assert explanation.rival is None
        assert selector.to_bytes() == before


class _Oracle(RoundRobin):
    """A schedule that says what it expects of its runs."""

    predicts_runtimes = True

    def forecasts(self, x: Array, progress: Progress) -> Forecasts:
        assert progress.failed is not None
        return LogSeconds().forecasts(
            np.log(1.0 + progress.failed), np.ones(self.n_algorithms), progress, 2.0
        )


def test_a_schedule_may_bring_its_own_forecasts() -> None:
    row = ScheduleRecipe(name="mine", summary="", policy=_Oracle)
    assert row.predicts_runtimes
    selector = Selector(row, ["a", "b"], 60.0)
    first = selector.select()
    assert [one.predicted_runtime for one in first.explain().algorithms] == [1.0, 1.0]
    selector.observe(first, Outcome.censored(30.0))
    second = selector.proceed(first)
    assert second is not None
    explanation = second.explain()
    assert [one.predicted_runtime for one in explanation.algorithms] == pytest.approx([31.0, 1.0])
    assert explanation.penalty == 2.0
    assert "expected PAR2" in str(explanation)
    assert "because: its turn" in str(explanation)


finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("name", PIPELINES)
@given(rows=st.lists(st.lists(finite | st.just(math.nan), min_size=3, max_size=3), min_size=1, max_size=6))
def test_a_peek_shows_what_was_seen_and_learns_nothing(name: str, rows: list[list[float]]) -> None:
    represent = pipeline(name, 3)
    for row in rows:
        seen = represent(np.array(row))
        before = pickle.dumps(represent.state())
        assert np.array_equal(represent.transform(np.array(row)), seen)
        assert np.isfinite(represent.transform(np.array([math.nan, *row[1:]]))).all()
        assert pickle.dumps(represent.state()) == before
