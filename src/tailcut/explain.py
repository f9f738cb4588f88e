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
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from tailcut.display import data_frame, html_table
from tailcut.policies.pending import PendingRun
from tailcut.policies.policy import Policy
from tailcut.types import PENALTY, Array, Decision, Forecasts, Origin, Progress, check_whole_number

if TYPE_CHECKING:
    from tailcut.selector import Selector


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
        return any(belief.predicted_runtime is not None for belief in self.algorithms)

    def __repr__(self) -> str:
        return f"Explanation({self.selector}: {self._headline()}; {len(self.algorithms)} on offer)"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """Show the beliefs, the best by score first, and the features of the largest weight."""
        columns = ["algorithm", "runs", "score", "predicted runtime, s", "timeout"]
        rows = [
            [
                belief.name,
                belief.runs,
                belief.score,
                belief.predicted_runtime,
                None if belief.timeout_probability is None else percent(belief.timeout_probability),
            ]
            for belief in self._by_score()
        ]
        weights = "".join(f"<li>{escape(self._weight(feature))}</li>" for feature in self.features)
        table = html_table(self._headline(), columns, rows)
        return table + (f"<ul>{weights}</ul>" if weights else "")

    def to_frame(self) -> Any:
        """Return the beliefs as a pandas data frame, one row per algorithm."""
        return data_frame([asdict(belief) for belief in self.algorithms])

    def text(self, most: int | None = 12) -> str:
        """Return the explanation as lines of text with an aligned table of the `most` best by score.

        Runtimes beyond ten cutoffs are shown as such; None for `most` shows all algorithms.
        """
        ordered = self._by_score()
        best = ordered[:most]
        shown = [belief for belief in ordered if belief in best or belief.name == self.algorithm]
        lines = [self._headline(), *self._table(shown)]
        if len(shown) < len(ordered):
            lines.append(f"    and {len(ordered) - len(shown)} more")
        if not self.predicts_runtimes:
            lines.append(f"{self.selector} does not predict runtimes")
        if self.features:
            head = f"features that weigh most for {self.algorithm} against {self.rival}:"
            lines += _flowing(head, [self._weight(feature) for feature in self.features])
        if self.outcomes_since:
            count = f"{self.outcomes_since} outcome{'s were' if self.outcomes_since > 1 else ' was'}"
            lines.append(f"as of now: {count} learned since this decision")
        return "\n".join(lines)

    def _by_score(self) -> list[AlgorithmBelief]:
        return sorted(self.algorithms, key=lambda belief: (belief.score is None, belief.score))

    def _headline(self) -> str:
        return f"{self.algorithm} for at most {seconds(self.budget)} s, {self._because()}"

    def _because(self) -> str:
        judged = f" ({self.judged_by})" if self.judged_by else ""
        reasons = {
            "first run": "because it has not run before",
            "exploration": "at random, to explore",
            "fail-over": "because the run before it failed",
            "lowest score": f"because its score{judged} is lowest",
        }
        return reasons.get(self.reason, f"because: {self.reason}")

    def _table(self, shown: Sequence[AlgorithmBelief]) -> list[str]:
        head = ["", "runs", "score"]
        if self.predicts_runtimes:
            head += ["runtime (90% interval)", "timeout", f"expected PAR{self.penalty:g}"]
        rows = [head]
        for belief in shown:
            mark = "> " if belief.name == self.algorithm else "  "
            runs = "" if belief.runs is None else f"{belief.runs:,}"
            rows.append([mark + belief.name, runs, _plain(belief.score)])
            if self.predicts_runtimes:
                rows[-1] += _forecast(belief, 10.0 * self.cutoff)
        return _aligned(rows)

    def _weight(self, feature: FeatureEffect) -> str:
        name = f"feature {feature.index}" if feature.name is None else feature.name
        return f"{name} = {feature.value:.4g} ({effect(feature.effect, self.unit)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values, None for what is unknown or not finite."""
        return {name: _strict(value) for name, value in asdict(self).items()}

    def to_json(self, indent: int | None = None) -> str:
        """Return the explanation as strict JSON."""
        return json.dumps(self.to_dict(), allow_nan=False, indent=indent)


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


def _forecast(belief: AlgorithmBelief, most: float) -> list[str]:
    """Return the cells of a forecast; times beyond `most` are shown as `most`."""
    times = (belief.predicted_runtime, belief.low, belief.high)
    timeout, loss = belief.timeout_probability, belief.expected_par
    if None in times or timeout is None or loss is None:
        return ["", "", ""]
    median, low, high = (
        seconds(time) if time <= most else f">{seconds(most)}" for time in times if time is not None
    )
    return [f"{median} s ({low} - {high} s)", percent(timeout), f"{seconds(loss)} s"]


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if 100.0 <= abs(value) < 1e6 else f"{value:.2g}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
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
    whole = [item.replace(" ", "\0") for item in items]  # broken at no space of their own
    text = f"{head} {', '.join(whole)}"
    lines = wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def explain(
    selector: Selector, policy: Policy, decision: Decision, *, outcomes_since: int, top: int
) -> Explanation:
    """Return why `decision`, which knows its origin, was made, according to the policy's current belief."""
    top = check_whole_number("top", top, at_least=0)
    origin = decision.origin
    assert origin is not None
    times = decision.cutoff, origin.x, decision.budget, decision.spent
    run = PendingRun(decision.algorithm, None, *times, failed=origin.failed)
    progress = run.progress(selector.algorithms)
    number = {name: k for k, name in enumerate(selector.algorithms)}
    forecasts = None if selector.rated else policy.forecasts(origin.x, progress)
    others = {name: score for name, score in decision.scores.items() if name != decision.algorithm}
    rival = min(others, key=others.__getitem__) if others else None
    weights: list[FeatureEffect] = []
    if decision.algorithm in number and rival in number:
        pair = [number[rival], number[decision.algorithm]]
        weights = _effects(policy, selector.feature_names, origin, progress, pair)
    return Explanation(
        selector=selector.name,
        decision=None if decision.id < 0 else decision.id,
        instance=decision.instance,
        algorithm=decision.algorithm,
        reason=decision.reason,
        budget=decision.budget,
        cutoff=decision.cutoff,
        penalty=PENALTY if forecasts is None else forecasts.penalty,
        judged_by=policy.quantity.label,
        unit=policy.quantity.unit,
        algorithms=tuple(
            _belief(policy, forecasts, name, score, number.get(name))
            for name, score in decision.scores.items()
        ),
        rival=rival,
        features=tuple(weights[:top]),
        outcomes_since=outcomes_since,
    )


def _belief(
    policy: Policy, forecasts: Forecasts | None, name: str, score: float, k: int | None
) -> AlgorithmBelief:
    """Return the belief about algorithm `k`; None if it has been removed."""
    if k is None:
        return AlgorithmBelief(name, score, None)
    runs = policy.times_chosen(k)
    if forecasts is None:
        return AlgorithmBelief(name, score, runs)
    median, low, high, timeout, expected_par, _ = forecasts
    predicted = (float(values[k]) for values in (median, low, high, timeout, expected_par))
    return AlgorithmBelief(name, score, runs, *predicted)


def _effects(
    policy: Policy,
    names: Sequence[str] | None,
    origin: Origin,
    progress: Progress,
    rival_and_chosen: Sequence[int],
) -> list[FeatureEffect]:
    """Return the weights of the features in the comparison of two algorithms, largest first."""
    features = origin.features
    if features is None or not len(origin.x):
        return []

    def advantage(raw: Array) -> float:
        scores = policy.judge(policy.transform(raw), progress, rival_and_chosen)
        return 0.0 if scores is None else float(scores[0] - scores[1])

    whole = advantage(features)
    effects = []
    for index in np.flatnonzero(~np.isnan(features)).tolist():
        without = features.copy()
        without[index] = np.nan
        weight = whole - advantage(without)
        if weight != 0.0 and math.isfinite(weight):
            name = None if names is None else names[index]
            effects.append(FeatureEffect(name, index, float(features[index]), weight))
    return sorted(effects, key=lambda feature: -abs(feature.effect))
