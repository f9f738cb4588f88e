"""A few decisions of one selector, made again on one scenario and explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailcut.bench.labels import conditions_of, name_of
from tailcut.bench.plan import Contender
from tailcut.bench.replay import shuffled
from tailcut.catalogue import find
from tailcut.explain import Explanation
from tailcut.report.numbers.standings import Standing
from tailcut.scenarios import Scenario
from tailcut.selector import Selector
from tailcut.types import Decision, Outcome

PARTS = (0.1, 0.5, 1.0)
"""How far into the stream the explained decisions lie."""


@dataclass(frozen=True)
class ExplainedDecision:
    """One decision, and what was not known when it was made."""

    step: int
    """Its number in the stream, counted from 1."""
    explanation: Explanation
    runtimes: dict[str, float | None]
    """Seconds that each algorithm needs on this instance; None: it does not solve it."""


@dataclass(frozen=True)
class ExplainedDecisions:
    """Decisions along the stream of one scenario, in order."""

    scenario: str
    selector: str
    seed: int
    instances: int
    decisions: tuple[ExplainedDecision, ...]


def explainable(standings: Sequence[Standing]) -> str | None:
    """Return the best selector whose decisions are explained by runtimes, at a cost that does not grow."""
    for standing in standings:
        row = find(name_of(standing.selector))
        if conditions_of(standing.selector):
            continue  # its decisions are not those of a plain stream
        if row is not None and row.bounded and row.predicts_runtimes:
            return standing.selector
    return None


def explain_decisions(scenario: Scenario, label: str, seed: int) -> ExplainedDecisions:
    """Return decisions of the selector `label`, served the instances in the order of `seed`."""
    contender = Contender.parse(label)
    selector = Selector(
        contender.selector,
        scenario.algorithms,
        scenario.cutoff,
        seed=seed,
        feature_names=scenario.feature_names,
        **contender.settings(),
    )
    order = shuffled(len(scenario.instances), seed).tolist()
    wanted = {max(round(part * len(order)), 1) for part in PARTS}
    found = []
    for step, row in enumerate(order, start=1):
        runtimes = _runtimes(scenario, row)
        decision: Decision | None = selector.select(scenario.features[row], instance=scenario.instances[row])
        if step in wanted and decision is not None:
            found.append(ExplainedDecision(step, decision.explain(), runtimes))
        while decision is not None:
            runtime = runtimes[decision.algorithm]
            solved = runtime is not None and runtime <= decision.budget
            selector.observe(
                decision, Outcome.solved(runtime or 0.0) if solved else Outcome.censored(decision.budget)
            )
            decision = selector.proceed(decision)
    return ExplainedDecisions(scenario.name, label, seed, len(order), tuple(found))


def _runtimes(scenario: Scenario, row: int) -> dict[str, float | None]:
    return {
        name: float(scenario.runtimes[row, k]) if scenario.solved[row, k] else None
        for k, name in enumerate(scenario.algorithms)
    }
