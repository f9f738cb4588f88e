"""The reasons for a decision: the policy's belief, read without changing it.

The numbers per algorithm are the policy's own forecasts. The weight of a feature is found by occlusion: the
instance is represented again with that value missing, and the chosen algorithm's advantage is compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tailcut.errors import InputError, NotExplainedError
from tailcut.explain.explanation import AlgorithmBelief, Explanation, FeatureEffect
from tailcut.policies.pending import PendingDecisions, PendingRun
from tailcut.policies.policy import Offered, Policy
from tailcut.types import PENALTY, Array, Decision, Forecasts, Progress

NOT_MADE = -1
"""The number of a decision that was only considered."""


class SelectorView(NamedTuple):
    """What an explanation needs from a selector."""

    policy: Policy
    selector: str
    algorithms: Sequence[str]
    feature_names: Sequence[str] | None
    top: int
    """How many features are shown."""
    rated: bool = False
    """Whether it learns losses, so that it predicts no runtimes."""


class SeenInstance(NamedTuple):
    """The instance that a decision is about."""

    x: Array
    """As the policy saw it, shape (d',)."""
    features: Array | None
    """Its raw features, nan where missing, shape (d,); None if they are no longer known."""
    progress: Progress


def explain_decision(view: SelectorView, decision: Decision | int, pending: PendingDecisions) -> Explanation:
    """Return why a decision was made, or raise if it is not known here."""
    if not isinstance(decision, Decision):
        raise InputError(
            f"expected the Decision itself, got {decision!r}: its number alone is not enough",
            field="decision",
        )
    pending.check_own(decision)
    origin = decision.origin
    if origin is None:
        raise NotExplainedError(f"decision {decision.id} does not know what it was made with")
    progress = PendingRun(
        decision.algorithm,
        None,
        decision.cutoff,
        origin.x,
        decision.budget,
        decision.spent,
        failed=origin.failed,
    ).progress(view.algorithms)
    instance = SeenInstance(origin.x, origin.features, progress)
    return explain(view, decision, instance, pending.learned - origin.learned)


def consider(view: SelectorView, features: Array, progress: Progress, offered: Offered) -> Explanation:
    """Return what would be chosen among the numbers `offered` without randomness, and why."""
    x = view.policy.peek(features)
    choice = view.policy.consider(x, offered, progress)
    if choice is None:
        raise NotExplainedError(f"{view.selector} cannot say what it would do: ask for its decisions instead")
    numbers = range(len(view.algorithms)) if offered is None else offered.tolist()
    decision = Decision(
        id=NOT_MADE,
        instance=None,
        algorithm=view.algorithms[choice.algorithm],
        budget=choice.budget,
        cutoff=progress.cutoff,
        scores={view.algorithms[k]: float(choice.scores[k]) for k in numbers},
        reason=choice.reason,
    )
    return explain(view, decision, SeenInstance(x, features, progress), 0)


def explain(
    view: SelectorView, decision: Decision, instance: SeenInstance, outcomes_since: int
) -> Explanation:
    """Return why `decision` was made, according to the policy's current belief."""
    policy = view.policy
    number = {name: k for k, name in enumerate(view.algorithms)}
    found = None if view.rated else policy.forecasts(instance.x, instance.progress)
    rival = _rival(decision)
    return Explanation(
        selector=view.selector,
        decision=None if decision.id == NOT_MADE else decision.id,
        instance=decision.instance,
        algorithm=decision.algorithm,
        reason=decision.reason,
        budget=decision.budget,
        cutoff=decision.cutoff,
        penalty=PENALTY if found is None else found.penalty,
        judged_by=policy.quantity.label,
        unit=policy.quantity.unit,
        algorithms=tuple(
            _belief(policy, found, name, score, number.get(name)) for name, score in decision.scores.items()
        ),
        rival=rival,
        features=tuple(_effects(view, instance, number.get(decision.algorithm), number.get(rival or ""))),
        outcomes_since=outcomes_since,
    )


def _belief(
    policy: Policy, found: Forecasts | None, name: str, score: float, k: int | None
) -> AlgorithmBelief:
    """Return the belief about algorithm `k`; None if it has been removed."""
    if k is None:
        return AlgorithmBelief(name, score, None)
    runs = policy.times_chosen(k)
    if found is None:
        return AlgorithmBelief(name, score, runs)
    return AlgorithmBelief(
        name,
        score,
        runs,
        predicted_runtime=float(found.median[k]),
        low=float(found.low[k]),
        high=float(found.high[k]),
        timeout_probability=float(found.timeout[k]),
        expected_par=float(found.expected_par[k]),
    )


def _rival(decision: Decision) -> str | None:
    """Return the other algorithm with the lowest score."""
    others = {name: score for name, score in decision.scores.items() if name != decision.algorithm}
    return min(others, key=others.__getitem__) if others else None


def _effects(
    view: SelectorView, instance: SeenInstance, chosen: int | None, rival: int | None
) -> list[FeatureEffect]:
    """Return the weights of the features in the comparison of two algorithms, largest first."""
    policy, features, names = view.policy, instance.features, view.feature_names
    if features is None or chosen is None or rival is None or not len(instance.x):
        return []

    def advantage(raw: Array) -> float:
        scores = policy.judge(policy.peek(raw), instance.progress, [rival, chosen])
        return 0.0 if scores is None else float(scores[0] - scores[1])

    whole = advantage(features)
    found = []
    for index in np.flatnonzero(~np.isnan(features)).tolist():
        without = features.copy()
        without[index] = np.nan
        effect = whole - advantage(without)
        if effect != 0.0 and math.isfinite(effect):
            name = None if names is None else names[index]
            found.append(FeatureEffect(name, index, float(features[index]), effect))
    return sorted(found, key=lambda one: -abs(one.effect))[: view.top]
