"""Trying a portfolio before it is relied on: features and every solver on a tiny instance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tailcut.live import judge
from tailcut.live.asking import answer_of, features_job, read_features, solver_job
from tailcut.live.instances import Instance
from tailcut.live.limits import Ended, Ending
from tailcut.live.portfolio import Portfolio, Program, Solver
from tailcut.live.work import Work

SECONDS = 5.0
"""Time for each program on a tiny instance."""


@dataclass(frozen=True)
class Tried:
    """How a program did on a tiny instance."""

    program: str
    """A solver's name, or `features`."""
    instance: str
    seconds: float
    answer: str | None
    ending: str
    problem: str | None
    """What is wrong; None if all is well."""


def attempts(portfolio: Portfolio, instances: list[tuple[Instance, str | None]]) -> Iterator[Work[Tried]]:
    """Yield the tries: the features and every solver, on each instance with its answer, if that is known."""
    for instance, expected in instances:
        if portfolio.features is not None:
            yield _features(portfolio, portfolio.features, instance)
        for solver in portfolio.solvers.values():
            yield _solver(portfolio, solver, instance, expected)


def _features(portfolio: Portfolio, program: Program, instance: Instance) -> Work[Tried]:
    ended = yield features_job(portfolio, program, instance, SECONDS)
    values, problem = read_features(ended)
    if problem is not None:
        problem = f"{problem}{_last_words(ended)}"
    return Tried(
        "features",
        instance.name,
        judge.seconds_of(portfolio, ended),
        f"{len(values)} values",
        str(ended.ending),
        problem,
    )


def _solver(portfolio: Portfolio, solver: Solver, instance: Instance, expected: str | None) -> Work[Tried]:
    ended = yield solver_job(portfolio, solver, instance, SECONDS)
    answer, problem = yield from answer_of(portfolio, solver, instance, ended)
    stopped = ended.ending in (Ending.CPU_LIMIT, Ending.WALL_LIMIT)
    if answer is None and problem is None and not stopped:
        problem = f"no answer could be read: {ended.ending}, exit code {ended.exit_code}{_last_words(ended)}"
    elif answer is not None and expected is not None and answer != expected:
        problem = f"the answer is {expected}"
    return Tried(
        solver.name, instance.name, judge.seconds_of(portfolio, ended), answer, str(ended.ending), problem
    )


def _last_words(ended: Ended) -> str:
    said = ended.errors.decode(errors="replace").strip().splitlines()
    return f"; it says: {said[-1][:200]}" if said else ""


def silent(portfolio: Portfolio, tried: list[Tried]) -> list[str]:
    """Return the solvers that answered nothing; one that cannot tell everything must tell something."""
    answered = {one.program for one in tried if one.answer is not None}
    return [name for name in portfolio.solvers if name not in answered]
