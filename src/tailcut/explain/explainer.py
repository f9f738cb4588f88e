"""How an explanation comes about: asking a policy what it believes, without changing it.

The numbers per algorithm are the policy's own forecasts. What a feature weighs is found by occlusion: the
instance is represented again with that value missing, and the chosen algorithm's advantage compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from tailcut.errors import InputError, NotExplainedError
from tailcut.explain.explanation import AlgorithmBelief, Explanation, FeatureEffect
from tailcut.explain.forecast import Forecasts, lognormal
from tailcut.models import Nothing
from tailcut.numerics.randomness import Still
from tailcut.policies.exploration import Uniform
from tailcut.policies.losses import ExpectedPar
from tailcut.policies.one_pick import Chooser, Policy
from tailcut.policies.pending import Ledger
from tailcut.policies.runs import Run
from tailcut.policies.targets import BoundedLoss, LogSeconds, Seconds
from tailcut.types import Array, Belief, Decision, Progress

_PENALTY = 10.0
"""The k of PARk where a policy does not say."""
NOT_MADE = -1
"""The number of a decision that was only considered."""


@runtime_checkable
class Forecasting(Protocol):
    """A verb that any `Chooser` may have on top: one whose runs can be predicted."""

    def forecasts(self, x: Array, progress: Progress) -> Forecasts | None:
        """Return what runs of all K algorithms will take, or None if that is not known."""
        ...


@runtime_checkable
class Judging(Protocol):
    """A verb that a schedule may have on top: one that can tell what it would think of an instance."""

    def peek(self, features: Array) -> Array:
        """Return raw features represented, learning nothing."""
        ...

    def judge(self, x: Array, progress: Progress) -> Array:
        """Return what all K algorithms score at `x`, the lower the better, shape (K,)."""
        ...


class View(NamedTuple):
    """What an explanation needs to see of a selector."""

    policy: Chooser
    selector: str
    algorithms: Sequence[str]
    feature_names: Sequence[str] | None
    top: int
    """How many features are told."""


class Instance(NamedTuple):
    """The instance that a decision is about."""

    x: Array
    """As the policy saw it, shape (d',)."""
    features: Array | None
    """Its raw features, nan where missing, shape (d,); None if they are no longer known."""
    progress: Progress


def explain_decision(view: View, decision: Decision, ledger: Ledger) -> Explanation:
    """Return why a decision was made, or raise if it is not known here."""
    if not isinstance(decision, Decision):
        raise InputError(f"expected the Decision itself, got {decision!r}: a number alone tells too little")
    ledger.check_own(decision)
    if decision.origin is None:
        raise NotExplainedError(f"decision {decision.id} does not know what it was made with")
    _, features, x, learned, failed = decision.origin
    name, cutoff, budget = decision.algorithm, decision.cutoff, decision.budget
    run = Run(name, None, cutoff, x, budget, decision.spent, failed=failed)
    instance = Instance(x, features, run.progress(view.algorithms))
    return explain(view, decision, instance, ledger.learned - learned)


def consider(view: View, features: Array, cutoff: float, offered: Sequence[int]) -> Explanation:
    """Return what would be chosen among the numbers `offered`, and why, were there no luck in it."""
    policy = view.policy
    if not isinstance(policy, Policy):
        raise NotExplainedError(f"{view.selector} is a schedule: ask for its decisions instead")
    x = policy.parts.representation.peek(features)
    scores = judge(policy, x, cutoff, offered).tolist()
    by_name = {view.algorithms[k]: score for k, score in zip(offered, scores, strict=True)}
    best = min(by_name, key=by_name.__getitem__)
    decision = Decision(NOT_MADE, None, best, cutoff, cutoff, by_name, "lowest score")
    return explain(view, decision, Instance(x, features, Progress(cutoff, 0.0, None)), 0)


def explain(view: View, decision: Decision, instance: Instance, outcomes_since: int) -> Explanation:
    """Return why `decision` is as it is, from what the policy believes now."""
    policy = view.policy
    number = {name: k for k, name in enumerate(view.algorithms)}
    found = forecasts(policy, instance.x, instance.progress)
    rival = _rival(decision)
    judged_by, unit = _judged_by(policy)
    return Explanation(
        selector=view.selector,
        decision=None if decision.id == NOT_MADE else decision.id,
        instance=decision.instance,
        algorithm=decision.algorithm,
        reason=decision.reason,
        budget=decision.budget,
        cutoff=decision.cutoff,
        penalty=_PENALTY if found is None else found.penalty,
        judged_by=judged_by,
        unit=unit,
        algorithms=tuple(
            _belief(policy, found, name, score, number.get(name)) for name, score in decision.scores.items()
        ),
        rival=rival,
        features=tuple(_effects(view, instance, number.get(decision.algorithm), number.get(rival or ""))),
        outcomes_since=outcomes_since,
    )


def _belief(
    policy: Chooser, found: Forecasts | None, name: str, score: float, k: int | None
) -> AlgorithmBelief:
    """Return what is believed of algorithm `k`; None: it has been removed since."""
    if k is None:
        return AlgorithmBelief(name, score, None)
    runs = int(policy.runs[k]) if isinstance(policy, Policy) else None
    if found is None:
        return AlgorithmBelief(name, score, runs)
    # median, low, high, timeout and expected PARk, in the order of the fields of both
    return AlgorithmBelief(name, score, runs, *(float(values[k]) for values in found[:5]))


def forecasts(policy: Chooser, x: Array, progress: Progress) -> Forecasts | None:
    """Return what runs on the instance represented by `x` will take, as far as the policy knows."""
    if isinstance(policy, Forecasting):
        return policy.forecasts(x, progress)
    if not isinstance(policy, Policy):
        return None
    parts = policy.parts
    penalty = parts.loss.penalty if isinstance(parts.loss, ExpectedPar) else _PENALTY
    if parts.forecast is not None:
        return parts.forecast.predict(policy.told(x), progress, penalty)
    if not isinstance(parts.target, LogSeconds) or isinstance(parts.model, Nothing):
        return None
    mean, variance = parts.model.predict(x)
    noise: float = getattr(parts.exploration, "noise", 1.0)  # models give variances for unit noise
    return lognormal(mean, noise * np.sqrt(1.0 + variance), progress, penalty)


def _rival(decision: Decision) -> str | None:
    """Return the other algorithm with the lowest score."""
    others = {name: score for name, score in decision.scores.items() if name != decision.algorithm}
    return min(others, key=others.__getitem__) if others else None


def judge(policy: Policy, x: Array, cutoff: float, algorithms: Sequence[int]) -> Array:
    """Return what the algorithms of these numbers score at `x` with no luck in it, the lower the better."""
    parts, chosen = policy.parts, list(algorithms)
    pairs = np.array([parts.model.look(k, x) for k in chosen])
    belief = Belief(pairs[:, 0].copy(), pairs[:, 1].copy(), policy.censored[chosen])
    return parts.loss.scores(parts.exploration.estimate(belief, cutoff, Still()), cutoff)


def _effects(view: View, instance: Instance, chosen: int | None, rival: int | None) -> list[FeatureEffect]:
    """Return what the features weigh in the comparison of two algorithms, the weightiest first."""
    policy, features, names = view.policy, instance.features, view.feature_names
    if features is None or chosen is None or rival is None or not len(instance.x):
        return []
    if not isinstance(policy, Policy | Judging):
        return []

    def advantage(raw: Array) -> float:
        if isinstance(policy, Policy):
            x = policy.parts.representation.peek(raw)
            scores = judge(policy, x, instance.progress.cutoff, [rival, chosen])
        else:
            scores = policy.judge(policy.peek(raw), instance.progress)[[rival, chosen]]
        return float(scores[0] - scores[1])

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


def _judged_by(policy: Chooser) -> tuple[str, str]:
    """Return what the scores of a policy are, in words, and their unit."""
    if isinstance(policy, Judging):
        return "expected loss of the best plan", "s"
    if not isinstance(policy, Policy):
        return "", ""
    parts = policy.parts
    if isinstance(parts.exploration, Uniform):
        return "a random number", ""
    if isinstance(parts.loss, ExpectedPar):
        return f"expected PAR{parts.loss.penalty:g}", "s"
    if isinstance(parts.target, LogSeconds):
        return "predicted log-runtime", "log s"
    if isinstance(parts.target, Seconds):
        return "predicted runtime", "s"
    return ("predicted loss between 0 and 1" if isinstance(parts.target, BoundedLoss) else ""), ""
