"""Features of a formula of hard and soft clauses: ``python -m tailcut.domains.maxsat.features FILE``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tailcut.domains.maxsat.wcnf import read_wcnf
from tailcut.domains.programs import entry_point, print_features


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


main = entry_point(__name__, print_features, extract, "WCNF file")
