"""Formulas of hard and soft clauses, and their files: WCNF as in MaxSAT Evaluations, before 2022 and since.

The old format announces itself, ``p wcnf VARIABLES CLAUSES TOP``, and a clause of weight TOP is hard. The new
one has no header: a hard clause begins with ``h``, a soft one with its weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tailcut.domains.programs import read_bytes
from tailcut.errors import FormulaError


class WeightedFormula(NamedTuple):
    """Clauses that must hold, and clauses that cost their weight if they do not."""

    n_variables: int
    hard: list[list[int]]
    soft: list[tuple[int, list[int]]]

    def cost(self, literals: Sequence[int]) -> int | None:
        r"""Return what an assignment costs; None if it breaks a hard clause. Variables left out are false.

        >>> formula = parse_wcnf("h 1 2 0\n3 -1 0\n")
        >>> formula.cost([1]), formula.cost([-1, 2]), formula.cost([-1])
        (3, 0, None)
        """
        true = {literal for literal in literals if literal > 0}

        def holds(clause: list[int]) -> bool:
            return any((abs(literal) in true) == (literal > 0) for literal in clause)

        if not all(map(holds, self.hard)):
            return None
        return sum(weight for weight, clause in self.soft if not holds(clause))


def read_wcnf(path: str | Path) -> WeightedFormula:
    """Return the formula in a file, plain or compressed."""
    return parse_wcnf(read_bytes(path).decode("ascii", "replace"), str(path))


def parse_wcnf(text: str, name: str = "formula") -> WeightedFormula:
    """Return the formula that WCNF text stands for; errors call it `name` and say the line."""
    hard: list[list[int]] = []
    soft: list[tuple[int, list[int]]] = []
    top: int | None = None
    announced = largest = 0
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("c"):
            continue
        try:
            if words[0] == "p":
                announced, top = _header(words)
                continue
            weight = None if words[0] == "h" else int(words[0])
            clause = [int(word) for word in words[1:]]
        except ValueError as error:
            raise FormulaError(f"{name}, line {number}: expected a clause or a header: {error}") from None
        if not clause or clause.pop() != 0 or 0 in clause or (weight is not None and weight < 0):
            raise FormulaError(f"{name}, line {number}: expected 'h' or a weight, literals, and 0 at the end")
        largest = max(largest, *map(abs, clause)) if clause else largest
        if weight is None or (top is not None and weight >= top):
            hard.append(clause)
        elif weight:
            soft.append((weight, clause))
    if not hard and not soft and not announced:
        raise FormulaError(f"{name}: holds no clause")
    return WeightedFormula(max(largest, announced), hard, soft)


def _header(words: list[str]) -> tuple[int, int | None]:
    if len(words) not in (4, 5) or words[1] not in ("wcnf", "cnf"):
        raise ValueError("a header reads 'p wcnf VARIABLES CLAUSES TOP'")
    return int(words[2]), int(words[4]) if len(words) == 5 else None


def dump_wcnf(formula: WeightedFormula) -> str:
    r"""Return a formula in the new format.

    >>> dump_wcnf(WeightedFormula(2, [[1, 2]], [(3, [-1])]))
    'h 1 2 0\n3 -1 0\n'
    """
    lines = [" ".join(["h", *map(str, clause), "0"]) for clause in formula.hard]
    lines += [" ".join([str(weight), *map(str, clause), "0"]) for weight, clause in formula.soft]
    return "\n".join(lines) + "\n"
