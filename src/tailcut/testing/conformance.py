"""The conformance suite: what must hold for every selector, whatever it is made of.

A check takes a `Factory`, which makes fresh selectors of one kind, and raises AssertionError where the
selector breaks a promise of `tailcut.Selector`. The package's own tests cross all checks with all rows
of the catalogue; a selector of your own is checked the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tailcut.catalogue import Recipe, recipe
from tailcut.errors import ConflictingOutcomeError
from tailcut.selector import Selector
from tailcut.synthetic import SyntheticScenario, generate
from tailcut.types import Array, Decision, Outcome


@dataclass(frozen=True)
class Factory:
    """Makes fresh selectors of one kind."""

    recipe: Recipe
    hyperparameters: dict[str, Any] = field(default_factory=dict)

    def __call__(self, scenario: SyntheticScenario, **options: Any) -> Selector:
        """Return a new selector for the algorithms and the cutoff of `scenario`."""
        settings: dict[str, Any] = {
            "algorithms": scenario.algorithms,
            "cutoff": scenario.cutoff,
            **self.hyperparameters,
            **options,
        }
        return Selector(self.recipe, **settings)


def factory(selector: str | Recipe, **hyperparameters: Any) -> Factory:
    """Return the factory of a selector, by name or by recipe."""
    return Factory(recipe(selector) if isinstance(selector, str) else selector, hyperparameters)


def _scenario(n_instances: int = 60, n_algorithms: int = 4) -> SyntheticScenario:
    return generate(n_instances=n_instances, n_algorithms=n_algorithms, n_features=5, timeouts=0.4, seed=7)


def _outcome(scenario: SyntheticScenario, row: int, decision: Decision) -> Outcome:
    """Return how the run went; every eleventh fails."""
    algorithm = scenario.algorithms.index(decision.algorithm)
    if row % 11 == 10:
        return Outcome.failed()
    if scenario.solved[row, algorithm]:
        return Outcome.solved(float(scenario.runtimes[row, algorithm]))
    return Outcome.censored(scenario.cutoff)


def _serve(selector: Selector, scenario: SyntheticScenario, rows: range) -> Iterator[Decision]:
    """Serve instances one after the other, each observed at once."""
    for row in rows:
        decision = selector.select(scenario.features[row], instance=f"i{row}")
        yield decision
        selector.observe(decision, _outcome(scenario, row, decision))


def same_seed_same_choices(make: Factory) -> None:
    """Two selectors of the same seed decide alike on the same stream, scores included."""
    scenario = _scenario()
    runs = [list(_serve(make(scenario, seed=3), scenario, range(60))) for _ in range(2)]
    assert runs[0] == runs[1], "the same seed gave different decisions"


def save_and_load_continue(make: Factory) -> None:
    """Restored from its bytes, a selector goes on exactly as before, pending decisions included."""
    scenario = _scenario()
    original = make(scenario)
    for _ in _serve(original, scenario, range(30)):
        pass
    waiting = original.select(scenario.features[30], instance="waiting")
    restored = Selector.from_bytes(original.to_bytes())
    for selector in (original, restored):
        selector.observe(waiting, censored_at=scenario.cutoff)
    continued = [list(_serve(selector, scenario, range(31, 60))) for selector in (original, restored)]
    assert continued[0] == continued[1], "a restored selector decided differently"
    assert original.to_bytes() == restored.to_bytes(), "a restored selector learned differently"


def feedback_in_any_order(make: Factory) -> None:
    """Outcomes may come late, in another order, or never."""
    scenario = _scenario()
    selector = make(scenario)
    decisions = [selector.select(scenario.features[row], instance=str(row)) for row in range(30)]
    for row in (*range(29, 14, -1), *range(0, 14, 2)):
        assert selector.observe(decisions[row].id, _outcome(scenario, row, decisions[row]))
    assert len(selector.pending) == 8
    for decision in _serve(selector, scenario, range(30, 60)):
        _assert_finite(decision)


def observed_once(make: Factory) -> None:
    """Seen again, an outcome changes nothing; a different one is an error and changes nothing."""
    scenario = _scenario()
    selector = make(scenario)
    decision = selector.select(scenario.features[0])
    assert selector.observe(decision, runtime=1.0)
    before = selector.to_bytes()
    assert not selector.observe(decision, runtime=1.0)
    try:
        selector.observe(decision, censored_at=1.0)
    except ConflictingOutcomeError:
        pass
    else:
        raise AssertionError("a second, different outcome was accepted")
    assert selector.to_bytes() == before, "a repeated outcome changed the selector"


def bounded_memory(make: Factory) -> None:
    """However long the stream, the state does not grow, unless the recipe says that it does."""
    if not make.recipe.bounded:
        return
    scenario = _scenario(n_instances=900)
    selector = make(scenario, max_pending=20)
    sizes = []
    for row, _ in enumerate(_serve(selector, scenario, range(900))):
        if row % 3 == 0:
            selector.select(scenario.features[row])  # its outcome never arrives
        if row % 300 == 299:
            sizes.append(len(selector.to_bytes()))
    # Numbers written in decimal may gain a few digits; learned data may not gain an entry.
    assert max(sizes) - min(sizes) < 1000, f"the state grows with the stream: {sizes} bytes"


def only_offered_are_chosen(make: Factory) -> None:
    """Every single choice respects the subset offered, and only its scores are shown."""
    scenario = _scenario()
    selector = make(scenario)
    for row in range(60):
        offered = {scenario.algorithms[row % 4], scenario.algorithms[(row // 4 + 1) % 4]}
        decision = selector.select(scenario.features[row], among=offered)
        assert decision.algorithm in offered, f"{decision.algorithm} was chosen among {offered}"
        assert set(decision.scores) == offered
        selector.observe(decision, _outcome(scenario, row, decision))


def scores_are_finite(make: Factory) -> None:
    """Awkward features, cutoffs and outcomes give finite scores and a valid choice."""
    scenario = _scenario()
    for cutoff in (1e-3, 1.0, 1e8):
        selector = make(scenario, cutoff=cutoff)
        for step, features in enumerate(_awkward_features(scenario)):
            decision = selector.select(features)
            _assert_finite(decision)
            assert decision.algorithm in scenario.algorithms
            assert 0.0 < decision.budget <= cutoff
            selector.observe(decision, _awkward_outcome(step, cutoff))


def _awkward_features(scenario: SyntheticScenario) -> list[Array]:
    """Return missing, zero, constant, huge, tiny and repeated feature vectors between plain ones."""
    d = scenario.features.shape[1]
    odd = [
        np.full(d, np.nan),
        np.zeros(d),
        np.ones(d),
        np.full(d, 1e300),
        np.full(d, -1.7e308),
        np.full(d, 5e-324),
        np.array([1e300, -1e300, np.nan, 0.0, 1e-300]),
    ]
    return [*odd, *scenario.features[:10], *odd, *scenario.features[:10], *odd]


def _awkward_outcome(step: int, cutoff: float) -> Outcome:
    return [
        Outcome.solved(0.0),
        Outcome.censored(cutoff),
        Outcome.failed(),
        Outcome.solved(cutoff),
        Outcome.censored(cutoff * 1e-6),
    ][step % 5]


def _assert_finite(decision: Decision) -> None:
    assert all(math.isfinite(score) for score in decision.scores.values()), f"scores {decision.scores}"


def algorithms_come_and_go(make: Factory) -> None:
    """Algorithms can be added and removed while the selector runs; late outcomes of both are taken."""
    scenario = _scenario()
    selector = make(scenario)
    for _ in _serve(selector, scenario, range(20)):
        pass
    gone = scenario.algorithms[1]
    late = selector.select(scenario.features[20], among=[gone])
    selector.remove_algorithm(gone)
    assert selector.observe(late, censored_at=scenario.cutoff)
    selector.add_algorithm("newcomer")
    seen = set()
    for row in range(21, 60):
        decision = selector.select(scenario.features[row])
        _assert_finite(decision)
        seen.add(decision.algorithm)
        selector.observe(decision, runtime=1.0)
    assert gone not in seen, "a removed algorithm was chosen"
    assert "newcomer" in seen, "an added algorithm was never tried"


def one_algorithm(make: Factory) -> None:
    """With a single algorithm there is no choice, and no trouble."""
    scenario = _scenario(n_algorithms=1)
    for decision in _serve(make(scenario), scenario, range(20)):
        assert decision.algorithm == scenario.algorithms[0]
        _assert_finite(decision)


CHECKS: list[Callable[[Factory], None]] = [
    same_seed_same_choices,
    save_and_load_continue,
    feedback_in_any_order,
    observed_once,
    bounded_memory,
    only_offered_are_chosen,
    scores_are_finite,
    algorithms_come_and_go,
    one_algorithm,
]
"""Every check, in the order of reading."""
