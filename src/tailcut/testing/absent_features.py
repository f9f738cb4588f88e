"""The checks of features that may be absent: who asks for them, and who can skip them."""

from __future__ import annotations

import math
from collections.abc import Callable

from tailcut.errors import InputError
from tailcut.explain import AlgorithmBelief
from tailcut.scenarios.synthetic import SyntheticScenario
from tailcut.selector import Selector
from tailcut.testing.small_stream import Factory, learned, outcome_of, serve, small_scenario
from tailcut.types import Decision


def asking_changes_nothing(make: Factory) -> None:
    """Say at any time how long features may take, and is the same afterwards."""
    scenario = small_scenario()
    selector = make(scenario)
    _asked(selector, scenario.cutoff)
    for row in range(20):
        decision = selector.select(scenario.features[row])
        _asked(selector, scenario.cutoff)
        selector.observe(decision, outcome_of(scenario, row, decision))
        _asked(selector, scenario.cutoff)


def _asked(selector: Selector, cutoff: float) -> None:
    before = learned(selector)
    for limit in (cutoff, cutoff / 2):
        budget = selector.feature_budget(cutoff=limit)
        assert 0.0 <= budget <= limit, f"features may take {budget} s of {limit} s"
        if not selector.needs_features:
            assert budget == 0.0, "wants features it never looks at"
        elif not selector.may_skip_features:
            assert budget == limit, "wants to skip features, and cannot"
    assert learned(selector) == before, "asking for the budget changed the selector"


def none_is_refused_or_served(make: Factory) -> None:
    """Refuse None and stay the same, or take it, even first."""
    scenario = small_scenario()
    selector = make(scenario)
    if selector.needs_features and not selector.may_skip_features:
        selector.select(scenario.features[0])
        before = learned(selector)
        try:
            selector.select(None)
        except InputError:
            assert learned(selector) == before, "a refused call changed the selector"
            return
        raise AssertionError("took an instance without features that it wanted")
    for decision in _mixed(selector, scenario, range(60)):
        assert decision.algorithm in scenario.algorithms
        assert all(math.isfinite(score) for score in decision.scores.values()), f"{decision.scores}"


def absent_features_are_saved(make: Factory) -> None:
    """Continue, restored, exactly as before, with instances of both kinds waiting."""
    scenario = small_scenario()
    original = make(scenario)
    if original.needs_features and not original.may_skip_features:
        return
    for last in (1, 2, 30):  # before there were any features, at the first of them, and later
        for _ in _mixed(original, scenario, range(last)):
            pass
        waiting = [original.select(None), original.select(scenario.features[last]), original.select(None)]
        restored = Selector.from_bytes(original.to_bytes())
        for selector in (original, restored):
            for decision in waiting:
                selector.observe(decision, censored_at=decision.budget)
        rows = range(last + 1, last + 20)
        taken = [list(_mixed(selector, scenario, rows)) for selector in (original, restored)]
        assert taken[0] == taken[1], "a restored selector decided differently"
        assert original.to_bytes() == restored.to_bytes(), "a restored selector learned differently"


def free_features_are_wanted(make: Factory) -> None:
    """Want features that cost nothing, and saying so changes nothing."""
    scenario = small_scenario()
    plain, charged = make(scenario), make(scenario)
    expected = list(serve(plain, scenario, range(60)))
    taken = []
    for row in range(60):
        assert (charged.feature_budget() > 0.0) == charged.needs_features
        decision: Decision | None = charged.select(
            scenario.features[row], instance=f"i{row}", feature_cost=0.0
        )
        while decision is not None:
            taken.append(decision)
            charged.observe(decision, outcome_of(scenario, row, decision))
            decision = charged.proceed(decision)
    assert taken == expected, "decided differently"


def late_features_lose_nothing(make: Factory) -> None:
    """Check that what was learned without features is still known when the first features arrive."""
    scenario = small_scenario()
    selector = make(scenario)
    if selector.needs_features and not selector.may_skip_features:
        return
    for row in range(20):
        decision: Decision | None = selector.select(None)
        while decision is not None:
            selector.observe(decision, outcome_of(scenario, row, decision))
            decision = selector.proceed(decision)
    before = selector.consider(None)
    waiting = selector.select(scenario.features[20])
    after = selector.consider(None)
    for one, other in zip(before.algorithms, after.algorithms, strict=True):
        assert _forecast(one) == _forecast(other), f"forgotten: {one} became {other}"
        if one.runs is not None and other.runs is not None:
            assert other.runs >= one.runs, f"{one.name} ran {one.runs} times before, {other.runs} now"
    restored = Selector.from_bytes(selector.to_bytes())
    for each in (selector, restored):
        each.observe(waiting, outcome_of(scenario, 20, waiting))
    taken = [list(serve(each, scenario, range(21, 50))) for each in (selector, restored)]
    assert taken[0] == taken[1], "a restored selector decided differently"


def _forecast(one: AlgorithmBelief) -> tuple[str, ...]:
    numbers = (one.predicted_runtime, one.low, one.high, one.timeout_probability, one.expected_par)
    return tuple("" if number is None else f"{number:.6g}" for number in numbers)


def _mixed(selector: Selector, scenario: SyntheticScenario, rows: range) -> list[Decision]:
    """Serve instances of which some have features, some were given up on, and some have none."""
    taken = []
    for row in rows:
        given = scenario.features[row] if row % 3 == 1 else None
        cost = 0.02 * scenario.cutoff if row % 3 else 0.0
        decision: Decision | None
        decision = first = selector.select(given, instance=f"i{row}", feature_cost=cost)
        assert first.spent == cost, "what features cost is not counted"
        while decision is not None:
            taken.append(decision)
            decision.explain()
            selector.observe(decision, outcome_of(scenario, row, decision))
            decision = selector.proceed(decision)
    return taken


FEATURE_BUDGET: list[Callable[[Factory], None]] = [
    asking_changes_nothing,
    none_is_refused_or_served,
    absent_features_are_saved,
    free_features_are_wanted,
    late_features_lose_nothing,
]
"""Every check of features that may be absent."""
