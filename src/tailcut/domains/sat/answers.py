"""A solver's answer to a formula, in the output format of SAT competitions.

``s SATISFIABLE``, ``s UNSATISFIABLE`` or ``s UNKNOWN``; with a model, ``v`` lines of literals that end in 0.
The exit code repeats it: 10, 20, or 0.

``python -m tailcut.domains.sat.answers FILE OUTPUT`` verifies what a solver printed: a model clause by
clause. Unsatisfiability is not verified: contradictions between solvers are found elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from tailcut.domains.programs import entry_point, print_verdict, read_to_check
from tailcut.domains.sat.cnf import Literals, read, satisfies
from tailcut.errors import InputError

_PER_LINE = 12
"""Literals on a ``v`` line: below 78 characters for formulas of up to 99,999 variables."""


class SatStatus(StrEnum):
    SATISFIABLE = "SATISFIABLE"
    UNSATISFIABLE = "UNSATISFIABLE"
    UNKNOWN = "UNKNOWN"

    @property
    def exit_code(self) -> int:
        return {SatStatus.SATISFIABLE: 10, SatStatus.UNSATISFIABLE: 20}.get(self, 0)


@dataclass(frozen=True, eq=False)
class Answer:
    """A status and, if satisfiable, a model: true literals, which may leave variables open."""

    status: SatStatus
    model: Literals | None = None

    @classmethod
    def of(cls, satisfiable: bool | None, model: Sequence[int] | Literals | None = None) -> Answer:
        """Return the answer of a solver that says yes, no, or neither (None)."""
        if satisfiable:
            return cls(SatStatus.SATISFIABLE, np.asarray([] if model is None else model, dtype=np.int32))
        return cls(SatStatus.UNKNOWN if satisfiable is None else SatStatus.UNSATISFIABLE)

    def text(self) -> str:
        r"""Return the lines to print.

        >>> Answer.of(True, [1, -2]).text()
        's SATISFIABLE\nv 1 -2 0\n'
        """
        lines = [f"s {self.status}"]
        if self.model is not None:
            words = [*map(str, self.model.tolist()), "0"]
            lines += ["v " + " ".join(words[i : i + _PER_LINE]) for i in range(0, len(words), _PER_LINE)]
        return "\n".join(lines) + "\n"


def parse_output(text: str) -> Answer:
    r"""Return the answer in what a solver printed; unknown if it printed none.

    Some solvers leave out the 0 at the end of a model. One that contains anything but integers is ignored.

    >>> parse_output("c hello\ns SATISFIABLE\nv 1 -2\nv 3 0\n").model.tolist()
    [1, -2, 3]
    >>> parse_output("s SATISFIABLE\nv 1 x 0\n").model is None
    True
    """
    status = SatStatus.UNKNOWN
    words: list[str] = []
    for line in text.splitlines():
        if line.startswith("s "):
            said = line[2:].strip()
            if said not in SatStatus.__members__:
                raise InputError(
                    f"a solver's answer must be one of {', '.join(SatStatus)}, not {said[:40]!r}"
                )
            status = SatStatus(said)
        elif line.startswith("v"):
            words += line[1:].split()
    if status is not SatStatus.SATISFIABLE or not words:
        return Answer(status)
    literals = words[:-1] if words[-1] == "0" else words
    try:
        return Answer(status, np.array(literals, dtype=np.int64).astype(np.int32))
    except (ValueError, OverflowError):
        return Answer(status)


def refuted(formula: Path, output: str, _: str = "") -> str | None:
    answer = parse_output(output)
    if answer.status is not SatStatus.SATISFIABLE:
        return None
    if answer.model is None:
        return "there is no model (v lines of whole numbers)"
    satisfied = satisfies(read_to_check(read, formula), answer.model)
    return None if satisfied else "the model does not satisfy every clause"


verify = entry_point(__name__, print_verdict, "DIMACS CNF file", refuted)
