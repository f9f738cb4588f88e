"""What a domain adds to a portfolio: how answers are read, features computed, answers verified."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


@dataclass(frozen=True)
class AnswerRule:
    """When a run gave a certain answer, by its exit code, its output or both; None does not matter."""

    answer: str
    exit_code: int | None = None
    pattern: re.Pattern[bytes] | None = None
    """A regular expression that must be found in the output; ^ and $ match at lines."""
    unless: re.Pattern[bytes] | None = None
    """One that must not be found there, such as an error before the answer."""

    def matches(self, exit_code: int, output: bytes) -> bool:
        """Return whether a run that ended like this gave the answer."""
        if self.exit_code is not None and exit_code != self.exit_code:
            return False
        if self.unless is not None and self.unless.search(output) is not None:
            return False
        return self.pattern is None or self.pattern.search(output) is not None


EXIT_CODE_0_SOLVES = (AnswerRule("solved", exit_code=0),)
"""Where no other rule is given, a run that ends with exit code 0 solved its instance."""


def read_answer(rules: Sequence[AnswerRule], exit_code: int | None, output: bytes) -> str | None:
    r"""Return the answer a finished run gave, by the first rule that matches; None if none does.

    >>> rules = (
    ...     AnswerRule("SAT", pattern=re.compile(rb"^s SATISFIABLE", re.M)),
    ...     AnswerRule("UNSAT", exit_code=20),
    ... )
    >>> read_answer(rules, 0, b"c hello\ns SATISFIABLE\nv 1 0\n"), read_answer(rules, 20, b"")
    ('SAT', 'UNSAT')
    >>> read_answer(rules, 0, b"s UNKNOWN") is None
    True
    """
    if exit_code is None:
        return None
    return next((rule.answer for rule in rules if rule.matches(exit_code, output)), None)


class EntryProgram(NamedTuple):
    """A Python function, `module:function`, that is called like a program."""

    entry: str
    arguments: tuple[str, ...]
    needs: str | None = None
    """A module of the domain's extra, without which it cannot be called."""


class TinyInstance(NamedTuple):
    """An instance to try solvers on."""

    path: Path
    answer: str | None = None
    """The right one; None if it is not known."""


@dataclass(frozen=True)
class Domain:
    """What holds for every portfolio of a domain, unless its file says otherwise."""

    answers: tuple[AnswerRule, ...] = ()
    features: EntryProgram | None = None
    """Computes the features of `{instance}`."""
    verify: EntryProgram | None = None
    """Checks the answer in `{output}`."""
    instances: tuple[str, ...] = ("*",)
    """Which files of a folder are instances."""
    preload: tuple[str, ...] = ()
    """Modules that entry points need, loaded once; those that are not installed are left out."""
    extra: str | None = None
    """The extra that installs what the domain's own programs need."""
    solver_needs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Entry point -> a solver's name among its arguments -> the module that this solver needs."""
    check: tuple[TinyInstance, ...] = ()
    """What `tailcut run --check` tries."""
