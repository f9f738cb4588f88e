"""What is run, under which limits, and how it ended: frozen records, checked when they are made."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tailcut.errors import InputError


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """What a run may use, all its processes together; None is no limit.

    >>> ResourceLimits(cpu=60, memory=2 * 2**30)
    ResourceLimits(cpu=60.0, wall=None, memory=2147483648)
    >>> ResourceLimits(wall=-1)
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: wall must be a finite number of seconds > 0, or None for no limit, got -1
    """

    cpu: float | None = None
    """Seconds of CPU time, user and system, summed over all processes and threads of the run."""
    wall: float | None = None
    """Seconds on the clock."""
    memory: int | None = None
    """Bytes of physical memory, summed over all processes of the run."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cpu", _seconds("cpu", self.cpu))
        object.__setattr__(self, "wall", _seconds("wall", self.wall))
        if self.memory is not None and (not isinstance(self.memory, int) or self.memory <= 0):
            words = "memory must be a whole number of bytes > 0, or None for no limit"
            raise InputError(f"{words}, got {self.memory!r}")


def _seconds(name: str, value: float | None) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and 0 < value < math.inf:
        return float(value)
    raise InputError(f"{name} must be a finite number of seconds > 0, or None for no limit, got {value!r}")


@dataclass(frozen=True, slots=True)
class Command:
    """A program of the system, looked up on the PATH unless its name has a slash.

    >>> Command(("minisat", "queue/i1.cnf")).argv
    ('minisat', 'queue/i1.cnf')
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] | None = None
    """Variables set on top of those of Tailcut's own process."""
    folder: Path | None = None
    """Where it runs; a program's name with a slash is relative to it. None: where Tailcut runs."""

    def __post_init__(self) -> None:
        _texts("argv", self.argv)
        if not self.argv or not self.argv[0]:
            raise InputError("argv must begin with the name of a program, got nothing")
        _environment(self.environment)


@dataclass(frozen=True, slots=True)
class Call:
    """A Python function, called with a list of arguments in a forked process; it returns the exit code.

    What it prints is the run's output; an exception is a traceback on standard error and exit code 1.

    >>> Call("tailcut.domains.sat.solve:main", ("minisat22", "queue/i1.cnf")).entry
    'tailcut.domains.sat.solve:main'
    >>> Call("tailcut.domains.sat.solve")
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: entry must read 'module:function', got 'tailcut.domains.sat.solve'
    """

    entry: str
    """'module:function'. A module among the preloaded ones costs no time when the run begins."""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    """Variables set on top of those of Tailcut's own process; libraries already loaded may ignore them."""
    folder: Path | None = None
    """Where it runs. None: where Tailcut runs."""

    def __post_init__(self) -> None:
        module, colon, function = self.entry.partition(":")
        if not (colon and function and all(part.isidentifier() for part in module.split("."))):
            raise InputError(f"entry must read 'module:function', got {self.entry!r}")
        _texts("arguments", self.arguments)
        _environment(self.environment)


def _texts(name: str, values: tuple[str, ...]) -> None:
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise InputError(f"{name} must be a tuple of strings, got {values!r}")
    if any("\0" in value for value in values):
        raise InputError(f"{name} must not contain the null character, got {values!r}")


def _environment(variables: Mapping[str, str] | None) -> None:
    for name, value in (variables or {}).items():
        if not name or "=" in name or "\0" in name + value:
            raise InputError(f"environment: {name!r} = {value!r} cannot be an environment variable")


class Ending(enum.StrEnum):
    """How a run ended; recorded by the code that ended it, never inferred by comparing times."""

    FINISHED = "finished"
    """The program ended itself, with whatever exit code."""
    CPU_LIMIT = "cpu limit"
    WALL_LIMIT = "wall limit"
    MEMORY_LIMIT = "memory limit"
    CRASHED = "crashed"
    """A signal that Tailcut did not send ended it, or it could not be started."""
    CANCELLED = "cancelled"
    """`RunningProgram.cancel` was called, or the `Launcher` was closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The outcome of a run that has ended."""

    ending: Ending
    exit_code: int | None = None
    """What the program returned; None unless it finished."""
    signal: int | None = None
    """The signal that ended the program; None if it finished or did not start."""
    cpu: float
    """CPU seconds of all its processes, from the moment the program or function was entered."""
    wall: float
    """Seconds from that moment until its first process had ended."""
    waited: float = 0.0
    """Seconds that its processes were ready but had no processor; known for runs with both time limits."""
    peak_memory: int = 0
    """Bytes; a higher peak between two samples of a tree of several processes may be missed."""
    output: bytes = b""
    """The beginning of its output."""
    output_truncated: bool = False
    """Whether it printed more than was kept."""
    errors: bytes = b""
    """The end of its standard error."""
    detail: str = ""
    """How it ended: 'no such program: foo'; empty if it finished."""
    tampered: bool = False
    """Whether the processes that watched it were stopped or killed, as a rule by the program itself. If they
    were killed, `cpu` is the time that passed, at most the limit, and the output is lost."""
