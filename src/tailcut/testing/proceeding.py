"""The checks of `Selector.proceed`: they hold for schedules and for selectors that pick once alike."""

from __future__ import annotations

from collections.abc import Callable

from tailcut.errors import OutOfTurnError, TailcutError, UnknownDecisionError
from tailcut.selector import Selector
from tailcut.testing.small_stream import Factory, learned, serve, small_scenario
from tailcut.types import Decision

_MOST = 1000
"""More runs than any sensible schedule starts on one instance."""


def budgets_fit_the_cutoff(make: Factory) -> None:
    """All runs on an instance together take at most what is left of its cutoff; stages are counted."""
    scenario = small_scenario()
    selector = make(scenario)
    for row in range(40):
        spent = (row % 4) * 0.25 * scenario.cutoff
        decision: Decision | None = selector.select(scenario.features[row], instance=str(row), spent=spent)
        stage = 0
        while decision is not None:
            assert decision.budget > 0.0, f"a run was given {decision.budget} s"
            assert (decision.instance, decision.cutoff) == (str(row), scenario.cutoff)
            assert (decision.stage, decision.spent) == (stage, spent), "stages or seconds are miscounted"
            stage, spent = stage + 1, min(scenario.cutoff, spent + decision.budget)
            assert decision.spent + decision.budget <= scenario.cutoff * (1 + 1e-9), (
                "budgets exceed the cutoff"
            )
            assert stage < _MOST, "the instance never ends"
            selector.observe(decision, censored_at=decision.budget)
            decision = selector.proceed(decision)
        if not selector.schedules:
            assert (stage, spent) == (1, scenario.cutoff), "one pick gets all the time there is"


def solved_ends_it(make: Factory) -> None:
    """Once solved, an instance is over, however often one asks."""
    scenario = small_scenario()
    selector = make(scenario)
    for row in range(20):
        decision = selector.select(scenario.features[row])
        selector.observe(decision, runtime=decision.budget / 2)
        assert selector.proceed(decision) is None, "a solved instance was continued"
        assert selector.proceed(decision.id) is None


def save_and_load_within_an_instance(make: Factory) -> None:
    """Restored between two runs on an instance, or during one, a selector continues exactly as before."""
    scenario = small_scenario()
    original = make(scenario)
    if not original.can_be_saved:
        return
    for _ in serve(original, scenario, range(30)):
        pass
    decision: Decision | None = original.select(scenario.features[30], among=scenario.algorithms[1:])
    while decision is not None:
        restored = Selector.from_bytes(original.to_bytes())
        for selector in (original, restored):
            selector.observe(decision, censored_at=decision.budget)
        restored = Selector.from_bytes(restored.to_bytes())
        following = original.proceed(decision)
        assert restored.proceed(decision) == following, "a restored selector continued differently"
        assert original.to_bytes() == restored.to_bytes(), "a restored selector differs after continuing"
        original, decision = restored, following


def failed_is_not_offered_again(make: Factory) -> None:
    """Algorithms that failed on an instance are not run on it again, however much time is left."""
    scenario = small_scenario()
    selector = make(scenario)
    for row in range(20):
        decision: Decision | None = selector.select(scenario.features[row])
        tried: set[str] = set()
        while decision is not None:
            assert decision.algorithm not in tried, f"{decision.algorithm} failed and was run again"
            assert not tried & set(decision.scores), "what failed was still weighed"
            tried.add(decision.algorithm)
            selector.observe(decision, failed=True)
            decision = selector.proceed(decision, spent=0.001 * len(tried) * scenario.cutoff)


def algorithms_change_within_an_instance(make: Factory) -> None:
    """Algorithms may come and go between two runs on an instance."""
    scenario = small_scenario()
    selector = make(scenario)
    for row in range(20):
        first = selector.select(scenario.features[row])
        selector.observe(first, censored_at=first.budget / 2)
        gone, new = selector.algorithms[row % 4], f"new{row}"
        selector.remove_algorithm(gone)
        selector.add_algorithm(new)
        decision = selector.proceed(first)
        while decision is not None:
            assert decision.algorithm in selector.algorithms
            assert set(decision.scores) <= set(selector.algorithms)
            selector.observe(decision, censored_at=decision.budget)
            decision = selector.proceed(decision)
    chosen = selector.select(scenario.features[0], among=[selector.algorithms[0]])
    selector.remove_algorithm(chosen.algorithm)
    selector.observe(chosen, censored_at=chosen.budget / 2)
    assert selector.proceed(chosen) is None, "continued with an algorithm that was not offered"


def out_of_turn_is_refused(make: Factory) -> None:
    """Without the outcome, twice, or from a decision never made, `proceed` raises and changes nothing."""
    scenario = small_scenario()
    selector = make(scenario)
    first = selector.select(scenario.features[0])
    _refused(selector, first, OutOfTurnError)
    _refused(selector, 99, UnknownDecisionError)
    selector.observe(first, censored_at=first.budget / 2)
    if selector.proceed(first) is not None:
        _refused(selector, first, OutOfTurnError)
    else:
        assert selector.proceed(first) is None, "over, and then not"


def _refused(selector: Selector, decision: Decision | int, expected: type[TailcutError]) -> None:
    before = learned(selector)
    try:
        selector.proceed(decision)
    except expected:
        assert learned(selector) == before, "a refused call changed the selector"
    else:
        raise AssertionError(f"proceed() on {decision} was accepted")


PROCEEDING: list[Callable[[Factory], None]] = [
    budgets_fit_the_cutoff,
    solved_ends_it,
    save_and_load_within_an_instance,
    failed_is_not_offered_again,
    algorithms_change_within_an_instance,
    out_of_turn_is_refused,
]
"""Every check of `proceed`, in the order of reading."""
