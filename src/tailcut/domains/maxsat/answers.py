"""Formulas of hard and soft clauses: their files, their features, and what solvers print of them, verified.

Files are WCNF as in MaxSAT Evaluations, before 2022 and since. The old format announces itself,
``p wcnf VARIABLES CLAUSES TOP``, and a clause of weight TOP is hard. The new one has no header: a hard clause
begins with ``h``, a soft one with its weight.

Solvers print ``o COST``, ``s OPTIMUM FOUND`` and a model, as bits or as literals. The model must satisfy
every hard clause and have the cost that is claimed. Optimality is not verified: contradictions between
solvers are found elsewhere.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tailcut.domains.programs import entry_point, print_features, print_verdict, read_bytes, read_to_check
from tailcut.errors import FormulaError, InputError


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
    lines = [" ".join(["h", *map(str, clause), "0"]) for clause in formula.hard]
    lines += [" ".join([str(weight), *map(str, clause), "0"]) for weight, clause in formula.soft]
    return "\n".join(lines) + "\n"


class Optimum(NamedTuple):
    cost: int
    model: list[int]


def optimum_text(cost: int, model: Sequence[int], n_variables: int) -> str:
    true = {literal for literal in model if literal > 0}
    bits = "".join("1" if variable in true else "0" for variable in range(1, n_variables + 1))
    return f"o {cost}\ns OPTIMUM FOUND\nv {bits}\n"


def parse_optimum(text: str) -> Optimum | None:
    r"""Return the optimum that a solver printed; None if it claims none.

    >>> parse_optimum("o 5\no 3\ns OPTIMUM FOUND\nv 1 -2\n")
    Optimum(cost=3, model=[1, -2])
    """
    lines = text.splitlines()
    if not any(line.split() == ["s", "OPTIMUM", "FOUND"] for line in lines):
        return None
    try:
        costs = [int(line.split()[1]) for line in lines if line.startswith("o ")]
        words = [word for line in lines if line.startswith("v") for word in line[1:].split()]
        bits = len(words) == 1 and set(words[0]) <= {"0", "1"}
        literals = (
            [n if bit == "1" else -n for n, bit in enumerate(words[0], 1)] if bits else list(map(int, words))
        )
    except (ValueError, IndexError) as error:
        raise InputError(f"cannot be read: {error}") from None
    if not costs:
        raise InputError("an optimum was found, but no line 'o COST' says which")
    return Optimum(costs[-1], [literal for literal in literals if literal])


def refuted(file: Path, output: str, _: str = "") -> str | None:
    try:
        claimed = parse_optimum(output)
    except InputError as error:
        return str(error)
    if claimed is None:
        return None
    cost = read_to_check(read_wcnf, file).cost(claimed.model)
    if cost is None:
        return "the model breaks a hard clause"
    return None if cost == claimed.cost else f"the model costs {cost}, not {claimed.cost}"


def extract(path: str | Path) -> dict[str, float | None]:
    """Return sizes, lengths and signs of clauses, and how weights and occurrences vary."""
    formula = read_wcnf(path)
    soft = [clause for _, clause in formula.soft]
    every = [*formula.hard, *soft]
    weights = [weight for weight, _ in formula.soft]
    occurrences = Counter(abs(literal) for clause in every for literal in clause)
    literals = sum(map(len, every))
    positive = sum(literal > 0 for clause in every for literal in clause)
    return {
        "log_variables": math.log1p(formula.n_variables),
        "log_hard": math.log1p(len(formula.hard)),
        "log_soft": math.log1p(len(soft)),
        "hard_per_variable": len(formula.hard) / max(formula.n_variables, 1),
        "soft_per_variable": len(soft) / max(formula.n_variables, 1),
        "hard_binary": _share(formula.hard, 2),
        "hard_ternary": _share(formula.hard, 3),
        "soft_unit": _share(soft, 1),
        "positive": positive / max(literals, 1),
        "horn": sum(sum(literal > 0 for literal in clause) <= 1 for clause in every) / max(len(every), 1),
        "distinct_weights": len(set(weights)) / max(len(weights), 1),
        "log_distinct_weights": math.log1p(len(set(weights))),
        **_shape("hard_length", [len(clause) for clause in formula.hard]),
        **_shape("soft_length", [len(clause) for clause in soft]),
        **_shape("weight", [math.log(weight) for weight in weights]),
        **_shape("occurrences", list(occurrences.values())),
    }


def _share(clauses: list[list[int]], length: int) -> float:
    return sum(len(clause) == length for clause in clauses) / max(len(clauses), 1)


def _shape(name: str, values: Sequence[float]) -> dict[str, float | None]:
    n = max(len(values), 1)
    mean = sum(values) / n
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / n)
    return {f"{name}_mean": mean, f"{name}_spread": spread, f"{name}_max": max(values, default=0.0)}


features = partial(print_features, __name__, extract, "WCNF file")
verify = entry_point(__name__, print_verdict, "WCNF file", refuted)
