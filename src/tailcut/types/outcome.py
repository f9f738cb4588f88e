"""The outcome of a run: solved, censored, failed, or rated by a loss."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from tailcut.checks.inputs import as_number, check_seconds
from tailcut.errors import InputError

PENALTY = 10.0
"""The k of PARk: an unsolved instance counts k times its cutoff."""


class Status(enum.Enum):
    """How a run ended."""

    SOLVED = "solved"
    CENSORED = "censored"
    FAILED = "failed"
    RATED = "rated"
    """Its answer was rated by a loss, not by its time."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known about a run after it ended: solved at t, censored at t, failed, or rated by a loss.

    Build it with one of the named constructors:

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
    """Seconds the run took (solved), or was watched (censored); None for a failure or a loss."""
    loss: float | None = None
    """How bad the answer was, from 0 (best) to 1 (worst); for rated runs only."""

    def __repr__(self) -> str:
        loss = "" if self.loss is None else f", loss={self.loss}"
        return f"Outcome(status={self.status!r}, time={self.time}{loss})"

    @property
    def answered(self) -> bool:
        """Whether the run gave an answer, so that its instance is done."""
        return self.status is Status.SOLVED or self.status is Status.RATED

    @staticmethod
    def solved(runtime: float) -> Outcome:
        """Return the outcome of a run that solved its instance after `runtime` seconds."""
        return Outcome(Status.SOLVED, check_seconds("runtime", runtime))

    @staticmethod
    def censored(at: float) -> Outcome:
        """Return the outcome of a run that was stopped unsolved after `at` seconds."""
        seconds = check_seconds("censored_at", at)
        if seconds == 0.0:
            raise InputError(
                "censored_at must be more than 0 seconds: a run that never started teaches nothing",
                field="censored_at",
            )
        return Outcome(Status.CENSORED, seconds)

    @staticmethod
    def failed() -> Outcome:
        """Return the outcome of a run that ended without an answer: crashed, out of memory, wrong.

        A failed run would not have solved the instance with more time either, so selectors learn it as
        censored at the cutoff.
        """
        return Outcome(Status.FAILED, None)

    @staticmethod
    def rated(loss: float, *, best: float = 0.0, worst: float = 1.0) -> Outcome:
        """Return the outcome of a run whose answer is worth `loss`, on a scale from `best` to `worst`.

        If higher values are better, `best` is the larger bound. A value out of bounds is an error.

        >>> Outcome.rated(0.37)
        Outcome(status=<Status.RATED: 'rated'>, time=None, loss=0.37)
        >>> Outcome.rated(75.0, best=100.0, worst=0.0).loss
        0.25
        >>> Outcome.rated(1.5)
        Traceback (most recent call last):
            ...
        tailcut.errors.InputError: loss must be a number from 0 to 1, got 1.5
        """
        ends = [as_number(one) for one in (best, worst)]
        if not all(map(math.isfinite, ends)) or ends[0] == ends[1]:
            raise InputError(
                f"best and worst must be two different finite numbers, got {best!r} and {worst!r}",
                field="loss",
            )
        value = as_number(loss)
        if not min(ends) <= value <= max(ends):
            raise InputError(
                f"loss must be a number from {min(ends):g} to {max(ends):g}, got {loss!r}", field="loss"
            )
        share = (value - ends[0]) / (ends[1] - ends[0])
        return Outcome(Status.RATED, None, min(max(share, 0.0), 1.0))

    @staticmethod
    def one_of(
        outcome: Outcome | None,
        runtime: float | None,
        censored_at: float | None,
        failed: bool,
        loss: float | None = None,
    ) -> Outcome:
        """Return the one outcome that was given, in any of its forms."""
        given = (outcome is not None) + (runtime is not None) + (censored_at is not None)
        given += (loss is not None) + bool(failed)
        if given != 1:
            raise InputError(
                f"give exactly one of outcome, runtime, censored_at, loss and failed=True; got {given}",
                field="outcome",
            )
        if runtime is not None:
            return Outcome.solved(runtime)
        if censored_at is not None:
            return Outcome.censored(censored_at)
        if loss is not None:
            return Outcome.rated(loss)
        if outcome is not None and not isinstance(outcome, Outcome):
            raise InputError(f"outcome must be an Outcome, got {outcome!r}", field="outcome")
        return Outcome.failed() if outcome is None else outcome
