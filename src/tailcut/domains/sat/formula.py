"""Formulas in conjunctive normal form: as arrays, checked against a model, cleaned.

A literal is a variable's number (from 1) or its negative; `dimacs` reads and writes files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailcut.errors import InputError

__all__ = ["Formula", "Literals", "satisfies", "tidy"]

Literals = NDArray[np.int32]
LARGEST = 2**31 - 2
"""The largest number of a variable: its literals, and one more, fit into 32 bits."""


@dataclass(frozen=True, eq=False)
class Formula:
    """m clauses over variables 1 to `n_variables`, as one flat array of literals.

    >>> formula = Formula.of([[1, -2], [2], []])
    >>> formula.n_variables, formula.n_clauses, formula.literals.tolist(), formula.offsets.tolist()
    (2, 3, [1, -2, 2], [0, 2, 3, 3])
    """

    n_variables: int
    literals: Literals
    """All clauses' literals, one clause after the other, shape (sum of lengths,)."""
    offsets: NDArray[np.int64]
    """Clause i is ``literals[offsets[i]:offsets[i + 1]]``, shape (m + 1,)."""

    @classmethod
    def of(cls, clauses: Iterable[Sequence[int]], n_variables: int | None = None) -> Formula:
        """Return the formula of these clauses; without `n_variables`, the largest one used is the last."""
        rows = list(clauses)
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        literals = np.array([literal for row in rows for literal in row], dtype=np.int64)
        largest = int(np.abs(literals).max(initial=0))
        n = largest if n_variables is None else n_variables
        if (literals == 0).any() or largest > min(n, LARGEST):
            raise InputError(f"a literal must be from -{n} to {n} and not 0")
        return cls(n, literals.astype(np.int32), offsets)

    @property
    def n_clauses(self) -> int:
        """How many clauses there are."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of literals per clause, shape (m,)."""
        return np.diff(self.offsets)

    def clauses(self) -> list[list[int]]:
        """Return the clauses as lists.

        >>> Formula.of([[1, -2], [2]]).clauses()
        [[1, -2], [2]]
        """
        flat = self.literals.tolist()
        return [flat[start:end] for start, end in pairwise(self.offsets.tolist())]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Formula)
            and self.n_variables == other.n_variables
            and np.array_equal(self.literals, other.literals)
            and np.array_equal(self.offsets, other.offsets)
        )

    def __hash__(self) -> int:
        return hash((self.n_variables, self.literals.tobytes(), self.offsets.tobytes()))


def satisfies(formula: Formula, model: ArrayLike) -> bool:
    """Say whether the literals in `model` make every clause true.

    The model may leave variables open; a literal and its negative together, 0, or a variable that the
    formula does not have make it no model.

    >>> formula = Formula.of([[1, -2], [2, 3]])
    >>> satisfies(formula, [1, 2]), satisfies(formula, [-1, 2]), satisfies(formula, [1, -1, 2])
    (True, False, False)
    """
    chosen = np.asarray(model, dtype=np.int64).ravel()
    n = formula.n_variables
    if (chosen == 0).any() or np.abs(chosen).max(initial=0) > n:
        return False
    true = np.zeros(2 * n + 1, dtype=np.bool_)
    true[chosen + n] = True
    if (true & true[::-1]).any():
        return False
    return bool((_count_per_clause(formula, true[formula.literals.astype(np.int64) + n]) > 0).all())


def _count_per_clause(formula: Formula, marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many literals of each clause are marked, shape (m,)."""
    running = np.zeros(len(marks) + 1, dtype=np.int64)
    np.cumsum(marks, out=running[1:])
    return np.diff(running[formula.offsets])


def tidy(formula: Formula) -> Formula:
    """Return the formula without clauses that are always true and without literals that come twice.

    The literals of a clause come out in ascending order.

    >>> tidy(Formula.of([[1, -1], [2, 1, 2]])).clauses()
    [[1, 2]]
    """
    if len(formula.literals) == 0:
        return formula
    row = np.repeat(np.arange(formula.n_clauses), formula.lengths)
    width = 2 * formula.n_variables + 1
    # Sorting and searching by hand: np.unique and np.isin import a module of 10 ms on their first call.
    place = np.sort(row * width + formula.literals + formula.n_variables)
    place = place[np.diff(place, prepend=-1) != 0]
    row, literals = place // width, place % width - formula.n_variables
    opposite = row * width - literals + formula.n_variables
    always_true = np.zeros(formula.n_clauses, dtype=np.bool_)
    nearest = place[np.minimum(np.searchsorted(place, opposite), len(place) - 1)]
    always_true[row[nearest == opposite]] = True
    kept = ~always_true[row]
    lengths = np.bincount(row, minlength=formula.n_clauses)[~always_true]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Formula(formula.n_variables, literals[kept].astype(np.int32), offsets)
