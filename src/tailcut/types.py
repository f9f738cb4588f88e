"""The values that cross every boundary: Outcome, Decision, Progress, Belief, Estimate.

Each is frozen. What comes from outside (an `Outcome`) is validated once, when it is made; all code
behind the border trusts it. Whether a run was censored is a field, set by whoever stopped the run:
nothing in Tailcut finds out by comparing times.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.errors import InputError, NotExplainedError
from tailcut.explain.explanation import Explanation

Array = NDArray[np.float64]
"""A float64 array; docstrings give its shape, with K algorithms and d features."""

PENALTY = 10.0
"""The k of PARk: an unsolved instance counts k times its cutoff."""


class Status(enum.Enum):
    """How a run ended."""

    SOLVED = "solved"
    CENSORED = "censored"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of a run after it ended: solved at t, censored at t, or failed.

    Build it with one of the three named constructors:

    >>> Outcome.solved(12.5)
    Outcome(status=<Status.SOLVED: 'solved'>, time=12.5)
    >>> Outcome.censored(300).time
    300.0
    >>> Outcome.failed().time is None
    True
    >>> Outcome.solved(float("nan"))
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: runtime must be a finite number of seconds >= 0, got nan
    """

    status: Status
    time: float | None
    """Seconds the run took (solved), or was watched (censored); None for a failure."""

    @staticmethod
    def solved(runtime: float) -> Outcome:
        """Return the outcome of a run that solved its instance after `runtime` seconds."""
        return Outcome(Status.SOLVED, _seconds("runtime", runtime))

    @staticmethod
    def censored(at: float) -> Outcome:
        """Return the outcome of a run that was stopped, unfinished, after `at` seconds."""
        seconds = _seconds("censored_at", at)
        if seconds == 0.0:
            raise InputError("censored_at must be more than 0 seconds: a run never started teaches nothing")
        return Outcome(Status.CENSORED, seconds)

    @staticmethod
    def failed() -> Outcome:
        """Return the outcome of a run that ended without an answer: crashed, out of memory, wrong.

        A failed run would not have solved the instance however long it had been left, so selectors
        learn from it as from a run censored at the cutoff.
        """
        return Outcome(Status.FAILED, None)


def _seconds(name: str, value: float) -> float:
    """Return `value` as a float, or say what is wrong with it."""
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number of seconds, got {value!r}") from None
    if not 0.0 <= seconds < math.inf:
        raise InputError(f"{name} must be a finite number of seconds >= 0, got {value!r}")
    return seconds


Origin = tuple[Callable[[], Any], Array | None, Array, int, Mapping[str, float] | None]
"""Where a decision comes from: a plain tuple, because every decision makes one.

It holds a function that returns the selector or None, if that is gone; the instance's raw features, shape
(d,), None if they were not known any more; the represented instance, shape (d',); how many outcomes the
selector had learned; and, of a schedule, the longest each algorithm had run in vain on the instance.
"""


def _nobody() -> None:
    """Return no selector."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Which algorithm to run on an instance, for how long, and what it was weighed against."""

    id: int
    """The decision's number, counted from 0 by the selector that made it."""
    instance: str | None
    algorithm: str
    budget: float
    """Seconds to give to this run; at most `cutoff` - `spent`."""
    cutoff: float
    """Seconds after which the instance counts as unsolved, all its runs and features together."""
    scores: Mapping[str, float]
    """Score per offered algorithm, the lower the better, in the unit of the selector's loss."""
    reason: str
    """Why this one: 'first run', 'exploration' or 'lowest score'; schedules may have words of their own."""
    stage: int = 0
    """How many runs on this instance came before; only a schedule goes beyond 0."""
    spent: float = 0.0
    """Seconds used on the instance before this run, features included."""
    origin: Origin | None = field(default=None, repr=False, compare=False)
    """What `explain` needs."""

    def explain(self, *, top: int = 5) -> Explanation:
        """Return why it fell like this, with the `top` features that weighed most; best asked at once.

        `Explanation.outcomes_since` tells whether the selector has learned since.

        >>> from tailcut import Selector
        >>> selector = Selector("thompson", algorithms=["a", "b"], cutoff=60)
        >>> print(selector.select([1.0, 2.0]).explain())  # nothing is known yet
        a for at most 60 s, because it has not run before
               runs  score  runtime (90% interval)  timeout  expected PAR10
          > a     1   -1.1      1 s (0.058 - 17 s)      1 %           8.7 s
            b     0   -0.8      1 s (0.058 - 17 s)      1 %           8.7 s
        """
        selector = None if self.origin is None else self.origin[0]()
        if selector is None:
            raise NotExplainedError(
                f"decision {self.id} does not know its selector any more; ask the selector: "
                "selector.explain(decision)"
            )
        explanation: Explanation = selector.explain(self, top=top)
        return explanation

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a copy, in another process for example, know everything but the selector."""
        values = [getattr(self, one.name) for one in fields(self)]
        if self.origin is not None:
            values[-1] = (_nobody, *self.origin[1:])
        return Decision, tuple(values)


class Progress(NamedTuple):
    """How far the work on one instance has come when a run on it is chosen."""

    cutoff: float
    """Seconds after which the instance counts as unsolved."""
    used: float
    """Seconds used on it so far, features included."""
    failed: Array | None
    """The longest each algorithm has run on it in vain, shape (K,): 0 where it has not run, the cutoff
    where it failed. None for policies that pick once, which have nothing to look back on."""

    @property
    def left(self) -> float:
        """Seconds left until the cutoff.

        >>> Progress(cutoff=60.0, used=12.5, failed=None).left
        47.5
        """
        return self.cutoff - self.used


class Belief(NamedTuple):
    """What a model thinks of all K algorithms on one instance: the value between model and score."""

    mean: Array
    """Predicted target (log-seconds or seconds), shape (K,)."""
    variance: Array
    """Variance of that prediction for unit noise, x'A^-1 x for a ridge model, shape (K,)."""
    censored: Array
    """How many runs of each algorithm ended unsolved so far, shape (K,)."""


class Estimate(NamedTuple):
    """What exploration makes of a belief: an optimistic and a pessimistic value, and a spread.

    A sample, or a plain mean, is an estimate whose two values are the same array.
    """

    low: Array
    """Optimistic target, shape (K,)."""
    high: Array
    """Pessimistic target, shape (K,); the same object as `low` where there is only one value."""
    spread: Array
    """Standard deviation of the log-runtime around these, shape (K,)."""
