"""Formulas in conjunctive normal form: re-exports `formula` (the type) and `dimacs` (files).

>>> formula = Formula.of([[1, -2], [2]])
>>> parse(dump(formula)) == formula
True
"""

from tailcut.domains.sat.dimacs import dump, parse, read, write
from tailcut.domains.sat.formula import Formula, satisfies, tidy

__all__ = ["Formula", "dump", "parse", "read", "satisfies", "tidy", "write"]
