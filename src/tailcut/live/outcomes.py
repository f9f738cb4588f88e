"""From the end of a program to features, a verified answer, and the outcome to learn."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tailcut.domains.domain import read_answer
from tailcut.errors import LiveError
from tailcut.live.belief import read_objective
from tailcut.live.content import FileContent
from tailcut.live.instances import Instance
from tailcut.live.jobs import JobStopper, features_job, solver_job, verify_job
from tailcut.live.limits import Ended, Ending
from tailcut.live.portfolio import Clock, Portfolio, Solver
from tailcut.live.portfolio_program import Program
from tailcut.live.runnable import check_started
from tailcut.live.workflows import Workflow
from tailcut.types import Outcome

_SAMPLE = 200
"""Bytes kept of the output of a run without an answer."""
_LEAST = 1e-6
"""The censoring time of a run that never got a processor: 0 would mean that it never began."""


class FeatureValues(NamedTuple):
    """The output of a feature extractor, and the problem, if any."""

    values: dict[str, float]
    """Finite, or nan where missing; empty if nothing is usable."""
    problem: str | None = None


class VerifiedAnswer(NamedTuple):
    """The accepted answer of a run, or None, and the problem with the run, if any."""

    answer: str | None
    problem: str | None = None
    refuted: bool = False
    """Whether it gave an answer that was refuted."""


def read_features(ended: Ended) -> FeatureValues:
    """Return the features that a program printed as a JSON object."""
    if ended.ending is not Ending.FINISHED or ended.exit_code != 0:
        words = last_error_line(ended) or ended.detail or ended.ending
        return FeatureValues({}, f"features: {words} (exit code {ended.exit_code})")
    try:
        values = json.loads(ended.output, parse_int=float)  # an integer may have any number of digits
    except (ValueError, RecursionError) as error:
        return FeatureValues({}, f"features: not JSON of numbers: {error}")
    if not isinstance(values, dict) or "" in values:
        return FeatureValues({}, "features: the program must print one JSON object, name: number")
    if not values:
        return FeatureValues({}, "features: the program printed none")
    read = {name: _finite(value) for name, value in values.items()}
    wrong = [name for name, value in read.items() if value is None]
    problem = f"features: no finite number, so missing: {_some(wrong)}" if wrong else None
    return FeatureValues({name: math.nan if one is None else one for name, one in read.items()}, problem)


def _finite(value: object) -> float | None:
    """Return a value as a float, nan if missing; None if it is not a usable number."""
    if value is None:
        return math.nan
    if not isinstance(value, bool | float) or math.isinf(value):
        return None
    return float(value)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


class ComputedFeatures(NamedTuple):
    """The result of computing the features of an instance."""

    values: dict[str, float]
    seconds: float
    problem: str | None
    timed_out: bool

    def body(self, instance: Instance) -> dict[str, Any]:
        """Return it as an event body."""
        plain = {name: None if math.isnan(value) else value for name, value in self.values.items()}
        content = FileContent.of(instance.path)._asdict()
        return {"instance": instance.name, **self._asdict(), "values": plain, "content": content}

    @staticmethod
    def read(body: Mapping[str, Any]) -> ComputedFeatures:
        """Return the result that `body` was made from."""
        values = {name: math.nan if value is None else value for name, value in body["values"].items()}
        return ComputedFeatures(values, body["seconds"], body["problem"], body["timed_out"])


def computed_features(
    portfolio: Portfolio, program: Program, instance: Instance, most: float
) -> Workflow[ComputedFeatures]:
    """Compute the features of an instance, for at most so many seconds."""
    ended = yield features_job(portfolio, program, instance, most)
    check_started(ended, f"{portfolio.file}: features")
    values, problem = read_features(ended)
    return ComputedFeatures(values, seconds_of(portfolio, ended), problem, timed_out(portfolio, ended))


class SolverRun(NamedTuple):
    """The result of a run of a solver."""

    outcome: Outcome
    """The outcome to learn."""
    note: dict[str, Any]
    """What else is recorded."""
    output: bytes
    truncated: bool = False
    """Whether there was more output."""


def solver_run(
    portfolio: Portfolio,
    solver: Solver,
    instance: Instance,
    budget: float,
    *,
    seed: int = 0,
    stopper: JobStopper | None = None,
) -> Workflow[SolverRun]:
    """Run a solver on an instance for at most so many seconds, and verify its answer.

    The `stopper` can end the solver early, but not while its answer is being verified.
    """
    ended = yield solver_job(portfolio, solver, instance, budget, seed=seed)._replace(stopper=stopper)
    check_started(ended, f"{portfolio.file}: solvers.{solver.name}")
    found = yield from verified_answer(portfolio, solver, instance, ended)
    outcome = outcome_of(portfolio, ended, found.answer, budget)
    note = run_note(portfolio, ended, found, budget)
    objective = read_objective(solver.answers, found.answer, ended.output) if found.answer else None
    if objective is not None:
        note["objective"] = objective
    return SolverRun(outcome, note, ended.output, ended.output_truncated)


def dismissed_run() -> SolverRun:
    """Return the result of a run that never started because another solver had answered."""
    note: dict[str, Any] = {"ending": str(Ending.CANCELLED), "seconds": 0.0, "answer": None}
    return SolverRun(Outcome.censored(_LEAST), note, b"")


def verified_answer(
    portfolio: Portfolio, solver: Solver, instance: Instance, ended: Ended
) -> Workflow[VerifiedAnswer]:
    """Return the answer of a run, verified by the portfolio's program."""
    answer = None
    if ended.ending is Ending.FINISHED:
        answer = read_answer(solver.answers, ended.exit_code, ended.output)
    if answer is None:
        return VerifiedAnswer(None, ended.detail if ended.ending is Ending.CRASHED else None)
    if not solver.may_give(answer):
        may = ", ".join(solver.gives or ())
        return VerifiedAnswer(None, f"answer {answer}: ignored, because it may only give {may}")
    return (yield from _checked(portfolio, solver, instance, answer, ended))


def _checked(
    portfolio: Portfolio, solver: Solver, instance: Instance, answer: str, ended: Ended
) -> Workflow[VerifiedAnswer]:
    """Return an answer, verified by the portfolio's program if there is one."""
    if portfolio.verify is None:
        return VerifiedAnswer(answer)
    if ended.output_truncated:
        return VerifiedAnswer(None, f"answer {answer}: its output is too long to be verified")
    with tempfile.TemporaryDirectory(prefix="tailcut-") as folder:
        kept = Path(folder) / "answer.out"
        try:
            kept.write_bytes(ended.output)
        except OSError as error:
            raise LiveError(
                f"{folder}: no room to verify an answer: {error.strerror}; completed "
                "work is kept: run the same command again"
            ) from None
        checked = yield verify_job(portfolio, portfolio.verify, instance, answer, kept, solver.name)
    check_started(checked, f"{portfolio.file}: verify")
    finished = checked.ending is Ending.FINISHED
    if finished and checked.exit_code == 0:
        return VerifiedAnswer(answer)
    words = last_error_line(checked) or checked.detail or checked.ending
    return VerifiedAnswer(None, f"answer {answer} refuted: {words}", refuted=finished)


def last_error_line(ended: Ended) -> str:
    """Return the last line that a program wrote to standard error, empty if there is none."""
    lines = ended.errors.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def seconds_of(portfolio: Portfolio, ended: Ended) -> float:
    """Return how long a run took by the portfolio's clock."""
    return ended.wall if portfolio.clock is Clock.WALL else ended.cpu


def timed_out(portfolio: Portfolio, ended: Ended) -> bool:
    """Return whether a run was stopped at the limit of the portfolio's clock."""
    return ended.ending is (Ending.WALL_LIMIT if portfolio.clock is Clock.WALL else Ending.CPU_LIMIT)


def starved(portfolio: Portfolio, ended: Ended, budget: float) -> bool:
    """Return whether the wall-clock limit ended a run that was ready but had no processor.

    With the time that it waited, it would have used its budget. A run that slept would not.
    """
    by_wall = portfolio.clock is Clock.CPU and ended.ending is Ending.WALL_LIMIT
    return by_wall and ended.cpu + ended.waited >= budget


def outcome_of(portfolio: Portfolio, ended: Ended, answer: str | None, budget: float) -> Outcome:
    """Return the outcome of a run, by how it ended, never by comparing times.

    A run stopped at its budget is censored there. A run that waited for a processor until the wall-clock
    limit, or was given up, is censored at the time it had. A run that ended without an answer, crashed, used
    too much memory, or slept until the wall-clock limit has failed: more time would not have helped.
    """
    if ended.ending is Ending.FINISHED and answer is not None:
        return Outcome.solved(seconds_of(portfolio, ended))
    if starved(portfolio, ended, budget) or ended.ending is Ending.CANCELLED:
        return Outcome.censored(max(seconds_of(portfolio, ended), _LEAST))
    return Outcome.censored(budget) if timed_out(portfolio, ended) else Outcome.failed()


def run_note(portfolio: Portfolio, ended: Ended, found: VerifiedAnswer, budget: float) -> dict[str, Any]:
    """Return what is recorded of a run in addition to its outcome."""
    problem = found.problem
    if starved(portfolio, ended, budget):
        problem = (
            f"waited {ended.waited:.1f} s for a processor and was stopped by the wall-clock limit after "
            f"{ended.cpu:.2f} of {budget:g} s of CPU time: "
            "use fewer --jobs, a smaller --parallel, or a larger wall_factor"
        )
    note: dict[str, Any] = {
        "ending": str(ended.ending),
        "seconds": seconds_of(portfolio, ended),
        "cpu": ended.cpu,
        "wall": ended.wall,
        "memory": ended.peak_memory,
        "exit_code": ended.exit_code,
        "signal": ended.signal,
        "answer": found.answer,
    }
    if found.refuted:
        note["refuted"] = True
    if problem:
        note["problem"] = problem
    elif found.answer is None and ended.ending is Ending.FINISHED:
        note["said"] = _sample(ended)
    return note


class SilentSolver(NamedTuple):
    """A solver whose runs finished, but none with a readable answer."""

    solver: str
    runs: int
    said: str
    """The end of the output of one of these runs."""

    def __str__(self) -> str:
        runs = "its only run, which" if self.runs == 1 else f"{self.runs} runs; one"
        return f"no answer at all from {self.solver} in {runs} printed: {self.said}"


def _sample(ended: Ended) -> str:
    """Return the end of a run's output, and its exit code."""
    printed = (ended.output[-_SAMPLE:] or ended.errors[-_SAMPLE:]).decode(errors="replace").strip()
    return f"{printed or 'nothing'} (exit code {ended.exit_code})"
