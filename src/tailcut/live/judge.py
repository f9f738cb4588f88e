"""From how a run ended to what is learned of it."""

from __future__ import annotations

from typing import Any

from tailcut.live.limits import Ended, Ending, ResourceLimits
from tailcut.live.portfolio import Portfolio, Program
from tailcut.types import Outcome

_GRACE = 5.0
"""Seconds of the wall's clock that every run may take besides: to start on a busy machine."""


def limits_for(portfolio: Portfolio, program: Program, seconds: float) -> ResourceLimits:
    """Return the limits of a run that is given `seconds` by the portfolio's clock."""
    if portfolio.clock == "wall":
        return ResourceLimits(wall=seconds, memory=program.memory)
    return ResourceLimits(cpu=seconds, wall=seconds * portfolio.wall_factor + _GRACE, memory=program.memory)


def seconds_of(portfolio: Portfolio, ended: Ended) -> float:
    """Return how long a run took by the portfolio's clock."""
    return ended.wall if portfolio.clock == "wall" else ended.cpu


def outcome(portfolio: Portfolio, ended: Ended, answer: str | None, budget: float) -> Outcome:
    """Return what a run teaches: by who ended it, never by comparing times.

    A run stopped at its budget is censored there. One that ended without an answer, crashed, took too much
    memory, or waited so long that the wall's clock ran out would not have solved its instance in any time.
    """
    if ended.ending is Ending.FINISHED and answer is not None:
        return Outcome.solved(seconds_of(portfolio, ended))
    return Outcome.censored(budget) if timed_out(portfolio, ended) else Outcome.failed()


def timed_out(portfolio: Portfolio, ended: Ended) -> bool:
    """Return whether a run was stopped at the limit of the clock that counts."""
    return ended.ending is (Ending.WALL_LIMIT if portfolio.clock == "wall" else Ending.CPU_LIMIT)


def note(portfolio: Portfolio, ended: Ended, answer: str | None, problem: str | None) -> dict[str, Any]:
    """Return what is written down of a run besides its outcome."""
    told: dict[str, Any] = {
        "ending": str(ended.ending),
        "seconds": seconds_of(portfolio, ended),
        "cpu": ended.cpu,
        "wall": ended.wall,
        "memory": ended.peak_memory,
        "exit_code": ended.exit_code,
        "signal": ended.signal,
        "answer": answer,
    }
    if problem:
        told["problem"] = problem
    return told
