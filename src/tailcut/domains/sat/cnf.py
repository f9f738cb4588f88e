"""Formulas in conjunctive normal form: as arrays, checked against a model, cleaned; and their DIMACS files.

A literal is a variable's number (from 1) or its negative. Tolerated in files, plain or compressed (.gz, .xz,
.bz2): comments anywhere, no header line, clauses over several lines or several on one, more variables
declared than used, and the ``%`` that ends the files of SATLIB. Everything else is an error with its line.

>>> formula = Formula.of([[1, -2], [2]])
>>> parse(dump(formula)) == formula
True
"""

from __future__ import annotations

import gzip
import lzma
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailcut.domains.programs import read_bytes
from tailcut.errors import FormulaError, InputError

Literals = NDArray[np.int32]
LARGEST = 2**31 - 2
"""The largest number of a variable: its literals, and one more, fit into 32 bits."""

_HEADER = re.compile(rb"^[ \t]*p[^\n]*$", re.MULTILINE)
_COUNTS = re.compile(rb"\s*p\s+cnf\s+(\d{1,10})\s+(\d{1,10})\s*")
_COMMENT = re.compile(rb"^[ \t]*c[^\n]*$", re.MULTILINE)
_SPACE = np.zeros(256, dtype=np.bool_)
_SPACE[list(b" \t\r\n\v\f")] = True
_MINUS = ord("-")


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
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def clauses(self) -> list[list[int]]:
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
    true_so_far = np.zeros(len(formula.literals) + 1, dtype=np.int64)
    np.cumsum(true[formula.literals.astype(np.int64) + n], out=true_so_far[1:])
    return bool((np.diff(true_so_far[formula.offsets]) > 0).all())


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


def read(path: str | os.PathLike[str]) -> Formula:
    """Return the formula in a DIMACS file; a name that ends in .gz or .xz says that it is compressed."""
    try:
        data = read_bytes(Path(path))
    except InputError as error:
        raise FormulaError(str(error)) from None
    return parse(data, str(path))


def parse(data: bytes, name: str = "formula") -> Formula:
    r"""Return the formula that DIMACS text stands for; errors call it `name`.

    >>> parse(b"c two clauses\np cnf 3 2\n1 -3 0 2\n3 0\n").clauses()
    [[1, -3], [2, 3]]
    """
    clean = _COMMENT.sub(b"", data) if b"c" in data else data
    if b"%" in clean:
        clean = clean[: clean.index(b"%")]
    if not clean.strip():
        raise FormulaError(f"{name}: holds no formula; expected 'p cnf VARIABLES CLAUSES' and clauses")
    header = _HEADER.search(clean)
    counts = _COUNTS.fullmatch(header.group()) if header else None
    values = _integers(clean[header.end() :] if header else clean)
    if values is None or (header and (not counts or clean[: header.start()].strip())):
        raise _first_mistake(data, name)
    ends = np.flatnonzero(values == 0)
    if len(values) and values[-1] != 0:
        raise FormulaError(f"{name}: the last clause has no 0 at its end")
    largest = int(np.abs(values).max(initial=0))
    n_variables, n_clauses = (int(counts[1]), int(counts[2])) if counts else (largest, len(ends))
    if counts and n_variables > LARGEST:
        raise FormulaError(f"{name}: the header announces {n_variables} variables; there may be {LARGEST}")
    if largest > min(n_variables, LARGEST):
        raise _first_mistake(data, name)
    if len(ends) != n_clauses:
        raise FormulaError(f"{name}: the header announces {n_clauses} clauses, but there are {len(ends)}")
    offsets = np.zeros(len(ends) + 1, dtype=np.int64)
    offsets[1:] = ends - np.arange(len(ends))
    return Formula(n_variables, values[values != 0].astype(np.int32), offsets)


def write(path: str | os.PathLike[str], formula: Formula, comment: str = "") -> None:
    """Write a DIMACS file, all or nothing; a name that ends in .gz or .xz is compressed.

    The bytes depend on the formula, the comment and the ending alone: no time, no name.
    """
    target = Path(path)
    data = dump(formula, comment)
    if target.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    elif target.suffix == ".xz":
        data = lzma.compress(data)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def dump(formula: Formula, comment: str = "") -> bytes:
    lines = [f"c {line}".rstrip() for line in comment.splitlines()]
    lines.append(f"p cnf {formula.n_variables} {formula.n_clauses}")
    words = list(map(str, formula.literals.tolist()))
    offsets = formula.offsets.tolist()
    lines += [" ".join([*words[start:end], "0"]) for start, end in pairwise(offsets)]
    return ("\n".join(lines) + "\n").encode()


def _integers(body: bytes) -> NDArray[np.int64] | None:
    if body.translate(None, b"0123456789- \t\r\n\v\f"):
        return None
    text = np.frombuffer(b" " + body + b" ", dtype=np.uint8)
    space = _SPACE[text]
    minus = np.flatnonzero(text == _MINUS)
    if not space[minus - 1].all() or (space | (text == _MINUS))[minus + 1].any():
        return None  # a minus in the middle of a number, or before none
    # Now every token is an optional minus and digits, which is all that this can read without complaint.
    return np.zeros(0, np.int64) if space.all() else np.fromstring(body.decode("ascii"), np.int64, sep=" ")


def _first_mistake(data: bytes, name: str) -> FormulaError:
    """Return what is wrong in text that is not a header followed by literals of its variables."""
    begun, largest = False, LARGEST
    for number, line in enumerate(data.split(b"\n"), start=1):
        place, kind = f"{name}, line {number}", line.lstrip(b" \t")[:1]
        if kind == b"c":
            continue
        line, end, _ = line.partition(b"%")
        words = line.split()
        if kind == b"p":
            counts = _COUNTS.fullmatch(line)
            if begun:
                return FormulaError(f"{place}: a header, but there was one, or clauses, before it")
            if not counts:
                return FormulaError(f"{place}: expected 'p cnf VARIABLES CLAUSES', got {_shown(line)}")
            words, largest = [], min(int(counts[1]), LARGEST)
        begun = begun or bool(line.strip())
        for word in words:
            digits = word.lstrip(b"-0")
            if not re.fullmatch(rb"-?\d+", word):
                return FormulaError(f"{place}: expected integers, got {_shown(word)}")
            if len(digits) > len(str(largest)) or int(digits or b"0") > largest:
                return FormulaError(f"{place}: literal {_shown(word)}, but the last variable is {largest}")
        if end:
            break
    raise AssertionError(f"{name}: read as malformed, but no line is")


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("utf-8", "replace").strip())
