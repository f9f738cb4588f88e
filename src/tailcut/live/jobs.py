"""Jobs: the programs of a portfolio with their placeholders filled in, and their limits."""

from __future__ import annotations

import hashlib
import math
import threading
from pathlib import Path
from typing import NamedTuple

from tailcut.live.instances import Instance
from tailcut.live.limits import Call, Command, ResourceLimits, RunningProgram
from tailcut.live.portfolio import Clock, Portfolio, Solver
from tailcut.live.portfolio_program import Program

KEPT_OUTPUT = 64 * 2**20
"""Bytes kept of a program's output; a model of a million variables takes 8 million."""
_VERIFY_SECONDS = 300.0
"""Default seconds to verify an answer; they do not count."""
_GRACE = 5.0
"""Extra seconds of elapsed time for every run, to start on a busy machine."""


class JobStopper:
    """Ends the program of a job early; any thread may call it, even before the program has started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: RunningProgram | None = None
        self.stopped = False

    def attach(self, running: RunningProgram) -> None:
        """Attach the run to end."""
        with self._lock:
            self._running = running
            if self.stopped:
                running.cancel()

    def stop(self) -> None:
        """End the attached run, and any that is attached later."""
        with self._lock:
            self.stopped = True
            if self._running is not None:
                self._running.cancel()


class ProgramJob(NamedTuple):
    """A program to run within limits."""

    program: Command | Call
    limits: ResourceLimits
    keep_output: int = KEPT_OUTPUT
    instance: Path | None = None
    """The instance file, passed to it by this path."""
    made: Path | None = None
    """A file created for this run only, passed to it by this path."""
    stopper: JobStopper | None = None
    """If given, it may be stopped at any time: on this machine only."""


def features_job(portfolio: Portfolio, program: Program, instance: Instance, most: float) -> ProgramJob:
    """Return the run of the feature extractor on an instance, for at most so many seconds."""
    limits = _limits(portfolio, program, min(program.limit or math.inf, most))
    return ProgramJob(program.filled(instance=str(instance.path)), limits, instance=instance.path)


def run_seed(seed: int, instance: str, solver: str) -> int:
    """Return the seed of a solver's runs on an instance: from 0 to 2**31 - 1, the same every time.

    >>> run_seed(0, "a.cnf", "walk") == run_seed(0, "a.cnf", "walk") != run_seed(1, "a.cnf", "walk")
    True
    """
    text = f"{seed} {solver} {instance}".encode(errors="surrogateescape")
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1


def solver_job(
    portfolio: Portfolio, solver: Solver, instance: Instance, seconds: float, *, seed: int = 0
) -> ProgramJob:
    """Return the run of a solver on an instance for so many seconds; `seed` is that of the stream."""
    program = solver.program
    filled = program.filled(
        instance=str(instance.path),
        cutoff=f"{seconds:g}",
        memory=str(program.memory or 0),
        seed=str(run_seed(seed, instance.name, solver.name)),
    )
    return ProgramJob(filled, _limits(portfolio, program, seconds), instance=instance.path)


def verify_job(
    portfolio: Portfolio, program: Program, instance: Instance, answer: str, output: Path, solver: str
) -> ProgramJob:
    """Return the run of the program that verifies an answer, from a file with the solver's output."""
    filled = program.filled(instance=str(instance.path), output=str(output), answer=answer, solver=solver)
    limits = _limits(portfolio, program, program.limit or _VERIFY_SECONDS)
    return ProgramJob(filled, limits, instance=instance.path, made=output)


def _limits(portfolio: Portfolio, program: Program, seconds: float) -> ResourceLimits:
    """Return the limits of a run that is given `seconds` by the portfolio's clock."""
    if portfolio.clock is Clock.WALL:
        return ResourceLimits(wall=seconds, memory=program.memory)
    return ResourceLimits(cpu=seconds, wall=seconds * portfolio.wall_factor + _GRACE, memory=program.memory)
