"""A decision: which algorithm runs on an instance, for how long, and where that comes from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from tailcut.display.html_table import html_table
from tailcut.errors import NotExplainedError
from tailcut.types.arrays import Array

if TYPE_CHECKING:
    from tailcut.explain.explanation import Explanation


def _no_selector() -> None:
    """Return no selector."""


class Origin(NamedTuple):
    """Where a decision comes from: what an explanation of it needs."""

    selector: Callable[[], Any]
    """Returns the selector, or None if it is gone."""
    features: Array | None
    """The instance's raw features, shape (d,); None if they are no longer known."""
    x: Array
    """The represented instance, shape (d',)."""
    learned: int
    """How many outcomes the selector had learned."""
    failed: Mapping[str, float] | None
    """For a schedule: the longest unsuccessful run of each algorithm on the instance."""


@dataclass(frozen=True, slots=True, repr=False)
class Decision:
    """Which algorithm to run on an instance, for how long, and the scores of all algorithms on offer.

    >>> decision = Decision(0, "i1", "kissat", 60.0, 60.0, {"kissat": 0.2, "minisat": 0.7}, "lowest score")
    >>> decision
    Decision(0: kissat for 60 s on 'i1', lowest score of 2)
    >>> Decision.from_dict(decision.to_dict()) == decision
    True
    """

    id: int
    """The decision's number, counted from 0 by the selector that made it."""
    instance: str | None
    algorithm: str
    budget: float
    """Seconds for this run; at most `cutoff` - `spent`."""
    cutoff: float
    """Seconds after which the instance counts as unsolved, all its runs and features together."""
    scores: Mapping[str, float]
    """Score per offered algorithm, the lower the better, in the unit of the selector's loss."""
    reason: str
    """Why this one: 'first run', 'exploration' or 'lowest score'; schedules may have other reasons."""
    stage: int = 0
    """The number of earlier runs on this instance; more than 0 only for schedules."""
    spent: float = 0.0
    """Seconds used on the instance before this run, features included."""
    origin: Origin | None = field(default=None, compare=False)
    """What `explain` needs."""

    def __repr__(self) -> str:
        place = "" if self.instance is None else f" on {self.instance!r}"
        run = f"{self.algorithm} for {self.budget:.4g} s{place}"
        return f"Decision({self.id}: {run}, {self.reason} of {len(self.scores)})"

    def _repr_html_(self) -> str:
        """Show the scores, the lowest first."""
        rows = sorted(self.scores.items(), key=lambda one: (math.isnan(one[1]), one[1]))
        return html_table(repr(self), ["algorithm", "score"], rows)

    def explain(self, *, top: int = 5) -> Explanation:
        """Return why it was made, with the `top` features of the largest weight; best called at once.

        `Explanation.outcomes_since` says whether the selector has learned since.

        >>> from tailcut import Selector
        >>> selector = Selector("thompson", algorithms=["a", "b"], cutoff=60)
        >>> print(selector.select([1.0, 2.0]).explain())  # nothing is known yet
        a for at most 60 s, because it has not run before
               runs  score  runtime (90% interval)  timeout  expected PAR10
          > a     1   -1.1      1 s (0.058 - 17 s)       1%           8.7 s
            b     0   -0.8      1 s (0.058 - 17 s)       1%           8.7 s
        """
        selector = None if self.origin is None else self.origin.selector()
        if selector is None:
            raise NotExplainedError(
                f"decision {self.id} does not know its selector any more; ask the selector: "
                "selector.explain(decision)"
            )
        explanation: Explanation = selector.explain(self, top=top)
        return explanation

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as JSON values, without what only an explanation needs."""
        return {
            "id": self.id,
            "instance": self.instance,
            "algorithm": self.algorithm,
            "budget": self.budget,
            "cutoff": self.cutoff,
            "scores": {name: score if math.isfinite(score) else None for name, score in self.scores.items()},
            "reason": self.reason,
            "stage": self.stage,
            "spent": self.spent,
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Decision:
        """Return the decision that `to_dict` turned into `values`; other keys are ignored."""
        given = {name: values[name] for name in _DECISION}
        given["scores"] = {k: math.nan if v is None else v for k, v in given["scores"].items()}
        return Decision(**given)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the selector out of a copy, for example in another process."""
        origin = None if self.origin is None else self.origin._replace(selector=_no_selector)
        return Decision, (*(getattr(self, name) for name in _DECISION), origin)


_DECISION = tuple(one.name for one in fields(Decision) if one.name != "origin")
