"""What the checks serve: fresh selectors, a small scenario, and its instances one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tailcut.catalogue import recipe
from tailcut.policies.recipes import Row
from tailcut.scenarios.synthetic import SyntheticScenario, generate
from tailcut.selector import Selector
from tailcut.types import Decision, Outcome


@dataclass(frozen=True)
class Factory:
    """Makes fresh selectors of one kind."""

    recipe: Row
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


def factory(selector: str | Row, **hyperparameters: Any) -> Factory:
    """Return the factory of a selector, by name or by recipe."""
    return Factory(recipe(selector) if isinstance(selector, str) else selector, hyperparameters)


def small_scenario(n_instances: int = 60, n_algorithms: int = 4) -> SyntheticScenario:
    """Return made-up instances of five features, two in five runs beyond the cutoff."""
    return generate(n_instances=n_instances, n_algorithms=n_algorithms, n_features=5, timeouts=0.4, seed=7)


def outcome_of(scenario: SyntheticScenario, row: int, decision: Decision) -> Outcome:
    """Return how the run went, from scratch and for at most its budget; every eleventh instance fails."""
    algorithm = scenario.algorithms.index(decision.algorithm)
    if row % 11 == 10:
        return Outcome.failed()
    runtime = float(scenario.runtimes[row, algorithm])
    if scenario.solved[row, algorithm] and runtime <= decision.budget:
        return Outcome.solved(runtime)
    return Outcome.censored(decision.budget)


def learned(selector: Selector) -> bytes:
    """Return all that a selector has learned, for comparison; nothing where it keeps that to itself."""
    return selector.to_bytes() if selector.can_be_saved else b""


def serve(selector: Selector, scenario: SyntheticScenario, rows: range) -> Iterator[Decision]:
    """Serve instances one after the other, each until it is over, every run observed at once."""
    for row in rows:
        decision: Decision | None = selector.select(scenario.features[row], instance=f"i{row}")
        while decision is not None:
            yield decision
            selector.observe(decision, outcome_of(scenario, row, decision))
            decision = selector.proceed(decision)
