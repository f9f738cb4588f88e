"""Asking the programs of a portfolio: what the features are, what the answer is, whether it stands."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Generator
from pathlib import Path

from tailcut.domains.domain import read_answer
from tailcut.live import judge
from tailcut.live.instances import Instance
from tailcut.live.limits import Ended, Ending
from tailcut.live.portfolio import Portfolio, Program, Solver
from tailcut.live.work import Job

_VERIFY_SECONDS = 300.0
"""Time to check an answer, where the portfolio sets none; it does not count."""


def features_job(portfolio: Portfolio, program: Program, instance: Instance, most: float) -> Job:
    """Return the run of the feature extractor on an instance, for at most so many seconds."""
    limits = judge.limits_for(portfolio, program, min(program.limit or math.inf, most))
    return Job(program.filled(instance=str(instance.path)), limits, instance=instance.path)


def solver_job(portfolio: Portfolio, solver: Solver, instance: Instance, seconds: float) -> Job:
    """Return the run of a solver on an instance with so much time."""
    program = solver.program
    filled = program.filled(
        instance=str(instance.path), cutoff=f"{seconds:g}", memory=str(program.memory or 0)
    )
    return Job(filled, judge.limits_for(portfolio, program, seconds), instance=instance.path)


def read_features(ended: Ended) -> tuple[dict[str, float], str | None]:
    """Return the features that a program printed as a JSON object, and what went wrong, if something did."""
    if ended.ending is not Ending.FINISHED or ended.exit_code != 0:
        return {}, f"features: {ended.detail or ended.ending}, exit code {ended.exit_code}"
    try:
        values = json.loads(ended.output)
        if not isinstance(values, dict):
            return {}, "features: the program must print one JSON object, name: number"
        return {name: math.nan if value is None else float(value) for name, value in values.items()}, None
    except (ValueError, TypeError) as error:
        return {}, f"features: not JSON of numbers: {error}"


def answer_of(
    portfolio: Portfolio, solver: Solver, instance: Instance, ended: Ended
) -> Generator[Job, Ended, tuple[str | None, str | None]]:
    """Return the answer of a run, if it has one that stands, and what was wrong with the run."""
    answer = None
    if ended.ending is Ending.FINISHED:
        answer = read_answer(solver.answers, ended.exit_code, ended.output)
    if answer is None:
        return None, ended.detail if ended.ending is Ending.CRASHED else None
    problem = yield from _refuted(portfolio, instance, answer, ended)
    return (answer, None) if problem is None else (None, problem)


def _refuted(
    portfolio: Portfolio, instance: Instance, answer: str, ended: Ended
) -> Generator[Job, Ended, str | None]:
    """Let the portfolio's program check an answer; return what is wrong with it, or None."""
    program = portfolio.verify
    if program is None:
        return None
    if ended.output_truncated:
        return f"answer {answer}: its output is too long to be checked"
    with tempfile.NamedTemporaryFile(prefix="tailcut-", suffix=".out") as kept:
        kept.write(ended.output)
        kept.flush()
        filled = program.filled(instance=str(instance.path), output=kept.name, answer=answer)
        limits = judge.limits_for(portfolio, program, program.limit or _VERIFY_SECONDS)
        checked = yield Job(filled, limits, instance=instance.path, made=Path(kept.name))
    if checked.ending is Ending.FINISHED and checked.exit_code == 0:
        return None
    said = checked.errors.decode(errors="replace").strip().splitlines()
    return f"answer {answer} refuted: {said[-1] if said else checked.detail or checked.ending}"
