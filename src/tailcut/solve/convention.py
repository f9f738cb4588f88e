"""The result of a call: the output and exit code of the solver that answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tailcut.domains.domain import EXIT_CODE_0_SOLVES
from tailcut.live.portfolio import Portfolio

COMPETITION_CODES = {"SATISFIABLE": 10, "UNSATISFIABLE": 20, "OPTIMUM FOUND": 30}
"""Answer -> exit code in the competitions of SAT, MaxSAT and pseudo-Boolean solvers. Tools rely on it, so it
also applies to solvers that give their answer only in their output."""
NO_ANSWER = 1
"""Exit code without an answer, if 0 would mean that there is one."""


class Shown(NamedTuple):
    """What the caller of a solver sees."""

    output: bytes
    exit_code: int


def shown_answer(answer: str, output: bytes, exit_code: int | None) -> Shown:
    r"""Return what the answering solver printed, and the exit code.

    >>> shown_answer("SATISFIABLE", b"s SATISFIABLE\nv 1 0\n", 0).exit_code
    10
    >>> shown_answer("sat", b"sat\n", 0).exit_code
    0
    """
    return Shown(output, COMPETITION_CODES.get(answer, exit_code or 0))


def shown_unknown(portfolio: Portfolio) -> Shown:
    """Return what is shown for an unsolved instance."""
    answers = _answers(portfolio)
    if not answers.isdisjoint(COMPETITION_CODES):
        return Shown(b"s UNKNOWN\n", 0)
    if not answers.isdisjoint(("sat", "unsat")):
        return Shown(b"unknown\n", 0)
    return Shown(b"", NO_ANSWER)


def _answers(portfolio: Portfolio) -> set[str]:
    rules: Iterable[str] = (rule.answer for one in portfolio.solvers.values() for rule in one.answers)
    return set(rules) - {rule.answer for rule in EXIT_CODE_0_SOLVES}
