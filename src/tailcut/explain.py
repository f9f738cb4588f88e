"""Why a decision was made: numbers per algorithm and per feature, as text and as JSON.

The numbers per algorithm are the policy's own forecasts, read without changing it. The weight of a feature is
found by occlusion: the instance is represented again with that value missing, and the chosen algorithm's
advantage is compared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from tailcut.display import data_frame, html_table
from tailcut.errors import InputError, NotExplainedError
from tailcut.policies.pending import PendingDecisions, PendingRun
from tailcut.policies.policy import Policy
from tailcut.types import PENALTY, Array, Decision, Forecasts, Progress


@dataclass(frozen=True, slots=True)
class AlgorithmBelief:
    """The selector's belief about one algorithm; None for numbers that it does not predict."""

    name: str
    score: float | None
    """The score that decides, the lower the better; a random draw if the selector explores that way."""
    runs: int | None
    """How often it had been chosen so far, this decision included."""
    predicted_runtime: float | None = None
    """Median of the predicted runtime in seconds."""
    low: float | None = None
    """The runtime is shorter with a probability of 5%."""
    high: float | None = None
    """The runtime is longer with a probability of 5%."""
    timeout_probability: float | None = None
    """Probability that a run needs more than all the time that was left."""
    expected_par: float | None = None
    """Expected PARk of giving it all the time that was left, in seconds."""


@dataclass(frozen=True, slots=True)
class FeatureEffect:
    """The weight of one feature of the instance."""

    name: str | None
    """None where the features have no names."""
    index: int
    value: float
    effect: float
    """How much the chosen algorithm's advantage over its rival would shrink if the value were missing: a
    positive effect speaks for the chosen one, a negative one for its rival."""


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Why a selector chose an algorithm; `str()` gives a table for people, `to_json()` one for programs."""

    selector: str
    decision: int | None
    """The decision's number; None where nothing was decided (`Selector.consider`)."""
    instance: str | None
    algorithm: str
    reason: str
    budget: float
    cutoff: float
    penalty: float
    """The k of PARk: an unsolved instance counts k times its cutoff."""
    judged_by: str
    """What the scores are, in words."""
    unit: str
    """Unit of scores and effects: 's', 'log s', or '' where they have none."""
    algorithms: tuple[AlgorithmBelief, ...]
    """All algorithms that were on offer."""
    rival: str | None
    """The other algorithm with the lowest score; None if there was no other."""
    features: tuple[FeatureEffect, ...]
    """The features of the largest weight, in decreasing order."""
    outcomes_since: int
    """How many outcomes the selector has learned since the decision. If 0, this is the belief that the
    decision was made with, otherwise the current one."""

    @property
    def predicts_runtimes(self) -> bool:
        """Whether there are predicted runtimes."""
        return any(one.predicted_runtime is not None for one in self.algorithms)

    def __repr__(self) -> str:
        run = f"{self.algorithm} for at most {seconds(self.budget)} s"
        return f"Explanation({self.selector}: {run}, {self._because()}; {len(self.algorithms)} on offer)"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """Show the beliefs, the best by score first, and the features of the largest weight."""
        ordered = sorted(self.algorithms, key=lambda one: (one.score is None, one.score))
        columns = ["algorithm", "runs", "score", "predicted runtime, s", "timeout"]
        rows = [
            [one.name, one.runs, one.score, one.predicted_runtime, _share(one.timeout_probability)]
            for one in ordered
        ]
        weights = "".join(f"<li>{escape(self._weight(one))}</li>" for one in self.features)
        table = html_table(
            f"{self.algorithm} for at most {seconds(self.budget)} s, {self._because()}", columns, rows
        )
        return table + (f"<ul>{weights}</ul>" if weights else "")

    def to_frame(self) -> Any:
        """Return the beliefs as a pandas data frame, one row per algorithm."""
        return data_frame([asdict(one) for one in self.algorithms])

    def text(self, most: int | None = 12) -> str:
        """Return the explanation as lines of text with an aligned table of the `most` best by score.

        Runtimes beyond ten cutoffs are shown as such; None for `most` shows all algorithms.
        """
        ordered = sorted(self.algorithms, key=lambda one: (one.score is None, one.score))
        shown = [
            one for i, one in enumerate(ordered) if most is None or i < most or one.name == self.algorithm
        ]
        lines = [f"{self.algorithm} for at most {seconds(self.budget)} s, {self._because()}"]
        lines += self._table(shown)
        if len(shown) < len(ordered):
            lines.append(f"    and {len(ordered) - len(shown)} more")
        if not self.predicts_runtimes:
            lines.append(f"{self.selector} does not predict runtimes")
        if self.features:
            head = f"features that weigh most for {self.algorithm} against {self.rival}:"
            lines += _flowing(head, [self._weight(one) for one in self.features])
        if self.outcomes_since:
            count = f"{self.outcomes_since} outcome{'s were' if self.outcomes_since > 1 else ' was'}"
            lines.append(f"as of now: {count} learned since this decision")
        return "\n".join(lines)

    def _because(self) -> str:
        judged = f" ({self.judged_by})" if self.judged_by else ""
        known = {
            "first run": "because it has not run before",
            "exploration": "at random, to explore",
            "fail-over": "because the run before it failed",
            "lowest score": f"because its score{judged} is lowest",
        }
        return known.get(self.reason, f"because: {self.reason}")

    def _table(self, shown: Sequence[AlgorithmBelief]) -> list[str]:
        head = ["runs", "score"]
        cells = [[_whole(one.runs), _plain(one.score)] for one in shown]
        if self.predicts_runtimes:
            head += ["runtime (90% interval)", "timeout", f"expected PAR{self.penalty:g}"]
            for row, one in zip(cells, shown, strict=True):
                row += _forecast(one, 10.0 * self.cutoff)
        names = [("> " if one.name == self.algorithm else "  ") + one.name for one in shown]
        return _aligned([["", *head], *([name, *row] for name, row in zip(names, cells, strict=True))])

    def _weight(self, one: FeatureEffect) -> str:
        name = f"feature {one.index}" if one.name is None else one.name
        return f"{name} = {one.value:.4g} ({effect(one.effect, self.unit)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values, None for what is unknown or not finite."""
        plain: dict[str, Any] = _strict(asdict(self))
        return plain

    def to_json(self, indent: int | None = None) -> str:
        """Return the explanation as strict JSON."""
        return json.dumps(self.to_dict(), allow_nan=False, indent=indent)


def _share(probability: float | None) -> str | None:
    return None if probability is None else percent(probability)


def seconds(value: float) -> str:
    """Return a time as people write it: two digits below 100, no decimals above.

    >>> [seconds(value) for value in (0.0, 1e-9, 0.8123, 12.34, 104.4, 86400.0, 3.2e9)]
    ['0', '<0.001', '0.81', '12', '104', '86,400', '3e+09']
    """
    if 0.0 < value < 1e-3:
        return "<0.001"
    if value >= 1e7:
        return f"{value:.0e}"
    return f"{value:.2g}" if value < 99.5 else f"{value:,.0f}"


def percent(probability: float) -> str:
    """Return a probability as people write it; only 0 and 1 are shown as certain.

    >>> [percent(p) for p in (0.0, 0.001, 0.042, 0.999, 1.0)]
    ['0%', '<1%', '4%', '>99%', '100%']
    """
    if 0.0 < probability < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= probability < 1.0 else f"{100.0 * probability:.0f}%"


def effect(value: float, unit: str) -> str:
    """Return an effect with its sign; an effect on the log-runtime is shown as a factor.

    >>> effect(35.2, "s"), effect(-0.0312, ""), effect(0.6931, "log s")
    ('+35 s', '-0.031', 'x 2')
    """
    if unit == "log s":
        return f"x {math.exp(min(value, 700.0)):.2g}"
    sign = "-" if value < 0.0 else "+"
    return f"{sign}{seconds(abs(value))} s" if unit == "s" else f"{value:+.2g}"


def _forecast(one: AlgorithmBelief, most: float) -> list[str]:
    """Return the cells of a forecast; times beyond `most` are shown as `most`."""
    if one.predicted_runtime is None or one.low is None or one.high is None:
        return ["", "", ""]
    assert one.timeout_probability is not None
    assert one.expected_par is not None
    median, low, high = (
        seconds(value) if value <= most else f">{seconds(most)}"
        for value in (one.predicted_runtime, one.low, one.high)
    )
    return [
        f"{median} s ({low} - {high} s)",
        percent(one.timeout_probability),
        f"{seconds(one.expected_par)} s",
    ]


def _whole(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if 100.0 <= abs(value) < 1e6 else f"{value:.2g}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines: the first column left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        f"  {row[0]:<{widths[0]}}"
        + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        for row in rows
    ]


def _flowing(head: str, items: Sequence[str], width: int = 110) -> list[str]:
    """Return a list in words, broken between items if a line gets too long.

    >>> _flowing("three:", ["one", "two", "three"], width=16)
    ['three: one, two,', '  three']
    """
    lines = [head]
    for number, item in enumerate(items, start=1):
        word = item if number == len(items) else f"{item},"
        if len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"  {word}")
    return lines


def _strict(value: Any) -> Any:
    """Return nested values in which every number is finite."""
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
        decision=None if decision.id < 0 else decision.id,
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
        scores = policy.judge(policy.transform(raw), instance.progress, [rival, chosen])
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
