"""What a domain adds to a portfolio: how answers are read, features computed, answers verified.

And which of its solvers are on this machine, as Python modules or programs.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple


@dataclass(frozen=True)
class AnswerRule:
    """When a run gave a certain answer, by its exit code, its output or both; None means any."""

    answer: str
    """The answer; `{objective}` in it is replaced by the pattern's group of that name."""
    exit_code: int | None = None
    pattern: re.Pattern[bytes] | None = None
    """A regular expression that must be found in the output; ^ and $ match at lines."""
    unless: re.Pattern[bytes] | None = None
    """A regular expression that must not be found there, such as an error before the answer."""

    @property
    def kind(self) -> str:
        """The kind of the answer, without values from the output: `optimal` for `optimal {objective}`."""
        return self.answer.partition("{")[0].strip()

    def read(self, exit_code: int, output: bytes) -> str | None:
        if self.exit_code is not None and exit_code != self.exit_code:
            return None
        if self.unless is not None and self.unless.search(output) is not None:
            return None
        if self.pattern is None:
            return self.answer
        match = self.pattern.search(output)
        if match is None:
            return None
        answer = self.answer
        for name, text in match.groupdict(b"").items():
            answer = answer.replace(f"{{{name}}}", text.decode(errors="replace"))
        return answer


_HERE = Path(__file__).parent
OBJECTIVE_TOLERANCE = 1e-5
"""Relative difference of two objectives that are the same: solvers compute with floating-point numbers."""

_SOLUTION = ("sat", "satisfiable", "optimal", "optimum found")
_NO_SOLUTION = ("unsat", "unsatisfiable", "infeasible", "unbounded")
"""Kinds of answers that exclude each other, in lower case."""

EXIT_CODE_0_SOLVES = (AnswerRule("solved", exit_code=0),)


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
    >>> optimal = AnswerRule("optimal {objective}", pattern=re.compile(rb"^value: (?P<objective>.+)$"))
    >>> read_answer([optimal], 0, b"value: 42")
    'optimal 42'
    """
    if exit_code is None:
        return None
    answers = (rule.read(exit_code, output) for rule in rules)
    return next((answer for answer in answers if answer is not None), None)


def contradiction(rules: Sequence[AnswerRule], exit_code: int | None, output: bytes) -> str | None:
    r"""Return the verdicts of an output that says both that there is a solution and that there is none.

    >>> rules = [AnswerRule("sat", pattern=re.compile(b"^sat")), AnswerRule("unsat", exit_code=20)]
    >>> contradiction(rules, 20, b"sat\n"), contradiction(rules, 10, b"sat\n")
    ('sat and unsat', None)
    """
    said = [rule.kind for rule in rules if exit_code is not None and rule.read(exit_code, output) is not None]
    some, none = ([one for one in said if one.lower() in kinds] for kinds in (_SOLUTION, _NO_SOLUTION))
    return f"{some[0]} and {none[0]}" if some and none else None


def answers_agree(first: str, second: str) -> bool:
    """Return whether two answers agree: word by word, with numbers compared up to a tolerance.

    >>> answers_agree("optimal 3.0000001", "optimal 3"), answers_agree("optimal 3", "optimal 4")
    (True, False)
    >>> answers_agree("infeasible", "optimal 3")
    False
    """
    words = first.split(), second.split()
    return len(words[0]) == len(words[1]) and all(map(_words_agree, *words))


def _words_agree(first: str, second: str) -> bool:
    if first == second:
        return True
    try:
        a, b = float(first), float(second)
    except ValueError:
        return False
    return math.isclose(a, b, rel_tol=OBJECTIVE_TOLERANCE, abs_tol=OBJECTIVE_TOLERANCE)


class EntryProgram(NamedTuple):
    """A Python function, `module:function`, that is called like a program."""

    entry: str
    arguments: tuple[str, ...]
    needs: str | None = None
    """A module of the domain's extra that it needs."""


class SolverWay(NamedTuple):
    """One way to run a solver: a Python function (`entry`) with its arguments, or a command."""

    arguments: tuple[str, ...]
    """With `{instance}`, and `{program}` for the path of the program."""
    entry: str | None = None
    """`module:function`; None: the arguments are a command."""
    module: str | None = None
    program: str | None = None
    install: str = ""
    takes_options: bool = False
    """Whether the entry point hands options before `{instance}` on to the program."""

    @property
    def where(self) -> str:
        return self.program or f"Python: {self.module}"


def as_program(program: str, *arguments: str, entry: str | None = None, install: str = "") -> SolverWay:
    """Return the way to run a solver that is a program, as a command or through an entry point."""
    before = ("{program}",) if entry is None else ()
    return SolverWay((*before, *arguments, "{instance}"), entry, program=program, install=install)


class DomainSolver(NamedTuple):
    """A solver that a domain knows, and the ways to run it."""

    name: str
    what: str
    """One line."""
    ways: tuple[SolverWay, ...]
    """The first one available is used."""

    @property
    def install(self) -> str:
        return " or ".join(dict.fromkeys(way.install for way in self.ways if way.install))

    def found(self) -> SolverWay | None:
        """Return the first way that is available here, with the path of its program."""
        for way in self.ways:
            path = None if way.program is None else find_program(way.program)
            if (way.module is None or is_installed(way.module)) and (way.program is None or path):
                words = tuple(word.replace("{program}", path or "") for word in way.arguments)
                return way._replace(arguments=words, program=path)
        return None


class TinyInstance(NamedTuple):
    path: Path
    answer: str | None = None
    """The right one; None if it is not known."""


@dataclass(frozen=True)
class Domain:
    """The defaults for every portfolio of a domain."""

    what: str = ""
    """One line."""
    solvers: tuple[DomainSolver, ...] = ()
    answers: tuple[AnswerRule, ...] = ()
    features: EntryProgram | None = None
    """Computes the features of `{instance}`."""
    verify: EntryProgram | None = None
    """Verifies the answer in `{output}`."""
    instances: tuple[str, ...] = ("*",)
    """Which files of a folder are instances."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Files that are not instances if others are beside them: a model, `*.mzn`, with its data, `*.dzn`."""
    preload: tuple[str, ...] = ()
    """Modules that entry points need, loaded once; those that are not installed are left out."""
    extra: str | None = None
    """The extra that installs what the domain's own programs need."""
    check: tuple[TinyInstance, ...] = ()
    """What `tailcut run --check` tries."""


@cache
def domain_table(name: str) -> dict[str, Any]:
    return tomllib.loads((_HERE / name / "domain.toml").read_text(encoding="utf-8"))


def bundled(name: str) -> Domain:
    """Return a domain of this package: what its table holds, and what follows from its name."""
    package, tiny, table = f"tailcut.domains.{name}", _HERE / name / "tiny", domain_table(name)
    features = f"{package}.{table.get('features', 'answers:features')}"
    modules = dict.fromkeys([f"{package}.solve", features.partition(":")[0], f"{package}.answers"])
    return Domain(
        what=table["what"],
        solvers=tuple(
            DomainSolver(solver, given["what"], tuple(_way(name, **way) for way in given["ways"]))
            for solver, given in table["solvers"].items()
        ),
        answers=tuple(_rule(answer, **given) for answer, given in table["answers"].items()),
        features=EntryProgram(features, ("{instance}",), table.get("features_need")),
        verify=EntryProgram(f"{package}.answers:verify", ("{instance}", "{output}", "{solver}")),
        instances=tuple(table["instances"]),
        models=table.get("models", {}),
        preload=(*table["preload"], *modules),
        extra=name,
        check=tuple(TinyInstance(tiny / file, answer) for file, answer in table["tiny"].items()),
    )


def _way(domain: str, arguments: list[str], entry: str = "main", **given: Any) -> SolverWay:
    """Return a way to run a solver, through `solve` of the domain unless the program comes first."""
    if "module" in given:
        given["install"] = f"pip install 'tailcut[{domain}]'"
    function = None if arguments[0] == "{program}" else f"tailcut.domains.{domain}.solve:{entry}"
    return SolverWay((*arguments, "{instance}"), function, **given)


def _rule(answer: str, exit_code: int | None = None, **patterns: str) -> AnswerRule:
    compiled = {name: re.compile(text.encode(), re.MULTILINE) for name, text in patterns.items()}
    return AnswerRule(answer, exit_code, **compiled)


def find_solvers(domain: Domain) -> dict[str, SolverWay]:
    ways = {solver.name: solver.found() for solver in domain.solvers}
    return {name: way for name, way in ways.items() if way is not None}


def is_installed(module: str) -> bool:
    """Return whether a module can be found; nothing but its parents is imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def find_program(name: str) -> str | None:
    """Return the path of a program: installed by a wheel for this Python, or on the PATH."""
    own = [sysconfig.get_path("scripts"), *(f"{folder}/bin" for folder in sys.path if folder)]
    return shutil.which(name, path=os.pathsep.join([*own, os.environ.get("PATH", os.defpath)]))
