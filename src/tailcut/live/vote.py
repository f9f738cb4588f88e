"""Which of several answers to an instance is accepted, and which solvers contradict it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tailcut.domains.domain import AnswerRule, answers_agree

if TYPE_CHECKING:
    from tailcut.live.instance_record import RunRecord

TOLERANCE = 2e-4
"""The relative difference that two objectives may have: solvers stop at a gap of 1e-4, above or below."""


class Verdict(NamedTuple):
    """The combined answer to one instance."""

    believed: RunRecord | None
    """The run whose answer is accepted: the first, unless a majority of at least two agrees on another."""
    wrong: frozenset[str]
    """Solvers that are outvoted."""
    involved: frozenset[str]
    """Solvers that contradict each other, whether decided or not."""

    @property
    def is_open(self) -> bool:
        """Whether solvers contradict each other and none is outvoted."""
        return bool(self.involved) and not self.wrong


def same_answer(one: RunRecord, other: RunRecord) -> bool:
    """Return whether two runs gave the same answer, with the same objective if both have one.

    >>> run = {"solver": "a", "budget": 1.0, "ending": "finished", "seconds": 1.0, "answer": "optimal"}
    >>> same_answer({**run, "objective": 100.0}, {**run, "objective": 100.001})
    True
    >>> same_answer({**run, "objective": 100.0}, {**run, "objective": 101.0})
    False
    >>> same_answer({**run, "answer": "optimal 941"}, {**run, "answer": "optimal 940.999998"})
    True
    """
    first, second = one["answer"], other["answer"]
    if first != second and (first is None or second is None or not answers_agree(first, second)):
        return False
    if "objective" not in one or "objective" not in other:
        return True
    return math.isclose(one["objective"], other["objective"], rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def verdict(runs: Iterable[RunRecord]) -> Verdict:
    """Return the combined answer of some runs, given in order of arrival."""
    groups: list[list[RunRecord]] = []
    for run in runs:
        if run["answer"] is not None:
            own = next((group for group in groups if same_answer(group[0], run)), None)
            if own is None:
                groups.append([run])
            else:
                own.append(run)
    if len(groups) < 2:
        return Verdict(groups[0][0] if groups else None, frozenset(), frozenset())
    votes = [len({run["solver"] for run in group}) for group in groups]
    involved = frozenset(run["solver"] for group in groups for run in group)
    most = max(votes)
    if most < 2 or votes.count(most) > 1:
        return Verdict(groups[0][0], frozenset(), involved)
    winners = groups[votes.index(most)]
    outvoted = involved - {run["solver"] for run in winners}
    return Verdict(winners[0], outvoted, involved)


def said(runs: Iterable[RunRecord]) -> str:
    """Return in words what each solver answered."""
    words = {
        run["solver"]: f"{run['solver']} says {run['answer']}"
        + (f" with objective {run['objective']:.10g}" if "objective" in run else "")
        for run in runs
        if run["answer"] is not None
    }
    return ", ".join(words.values())


def read_objective(rules: Sequence[AnswerRule], answer: str, output: bytes) -> float | None:
    r"""Return the number that the group `objective` of an answer's pattern finds; None if there is none.

    >>> import re
    >>> rule = AnswerRule("optimal", pattern=re.compile(rb"^obj = (?P<objective>\S+)", re.M))
    >>> read_objective([rule], "optimal", b"obj = -1.5e3\n")
    -1500.0
    """
    for rule in rules:
        if rule.answer == answer and rule.pattern is not None and "objective" in rule.pattern.groupindex:
            found = rule.pattern.search(output)
            try:
                value = float(found["objective"]) if found is not None else math.nan
            except (TypeError, ValueError):
                return None
            return value if math.isfinite(value) else None
    return None
