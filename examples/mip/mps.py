"""Mixed-integer programs in MPS files, as far as the programs of this folder need them.

    minimise cost @ x   subject to   each row <=, >= or = its side,   lower <= x <= upper,   some x whole

Read here without help of a solver, so that `verify.py` trusts none of those it checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Program:
    """A mixed-integer program with n variables, m rows and k non-zero coefficients."""

    names: tuple[str, ...]
    """Of the variables, n of them."""
    cost: Floats
    """Shape (n,)."""
    whole: NDArray[np.bool_]
    """Which variables must be whole numbers, shape (n,)."""
    upper: Floats
    """Upper bounds, shape (n,); the lower bounds are 0."""
    senses: tuple[str, ...]
    """L, G or E for each row, m of them."""
    sides: Floats
    """Right-hand sides, shape (m,)."""
    rows: Indices
    """Row of each coefficient, shape (k,)."""
    columns: Indices
    """Variable of each coefficient, shape (k,)."""
    values: Floats
    """The coefficients, shape (k,)."""

    def activity(self, x: Floats) -> Floats:
        """Return the left-hand side of each row, shape (m,)."""
        return _sums(self.rows, self.values * x[self.columns], len(self.sides))


def write(path: Path, program: Program) -> None:
    """Write a program; its rows are called r0, r1, ..."""
    path.write_text("\n".join(_lines(path.stem, program)) + "\n", encoding="ascii")


def _lines(name: str, program: Program) -> Iterator[str]:
    """Yield the lines, their fields in the columns that old readers insist on."""
    yield f"NAME          {name}"
    yield from ("ROWS", " N  cost")
    yield from (f" {sense}  r{row}" for row, sense in enumerate(program.senses))
    yield "COLUMNS"
    entries: list[list[tuple[str, float]]] = [[("cost", value)] for value in program.cost]
    for row, column, value in zip(program.rows, program.columns, program.values, strict=True):
        entries[column].append((f"r{row}", value))
    for wanted, mark in ((True, "INTORG"), (False, "INTEND")):  # whole variables stand between two marks
        yield f"    MARKER                 'MARKER'                 '{mark}'"
        for column in np.flatnonzero(program.whole == wanted):
            yield from (
                f"    {program.names[column]:<8}  {row:<8}  {value:12g}" for row, value in entries[column]
            )
    yield "RHS"
    yield from (f"    RHS       {f'r{row}':<8}  {side:12g}" for row, side in enumerate(program.sides) if side)
    yield "BOUNDS"
    for name, bound in zip(program.names, program.upper, strict=True):
        yield f" UP BND       {name:<8}  {bound:12g}"
    yield "ENDATA"


def read(path: str | Path) -> Program:
    """Return the program in a file; a part of MPS that is not known here is a ValueError or KeyError."""
    sections = _sections(Path(path))
    row = {name: number - 1 for number, (_, name) in enumerate(sections["ROWS"])}  # the cost is row -1
    column: dict[str, int] = {}
    whole: list[bool] = []
    between_marks = False
    entries: list[tuple[int, int, float]] = []
    for first, *rest in sections["COLUMNS"]:
        if rest[0] == "'MARKER'":
            between_marks = rest[1] == "'INTORG'"
            continue
        if first not in column:
            column[first] = len(column)
            whole.append(between_marks)
        for name, value in zip(rest[::2], rest[1::2], strict=True):
            entries.append((row[name], column[first], float(value)))
    sides, upper = np.zeros(len(row) - 1), np.full(len(column), np.inf)
    for _, *rest in sections["RHS"]:
        for name, value in zip(rest[::2], rest[1::2], strict=True):
            sides[row[name]] = float(value)
    for kind, _, name, value in sections["BOUNDS"]:
        if kind != "UP":
            raise ValueError(f"{path}: only upper bounds (UP) are known here, got {kind}")
        upper[column[name]] = float(value)
    rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
    cost = _sums(columns[rows < 0], values[rows < 0], len(column))
    senses = tuple(sense for sense, _ in sections["ROWS"][1:])
    kept = rows >= 0
    return Program(
        tuple(column), cost, np.array(whole), upper, senses, sides, rows[kept], columns[kept], values[kept]
    )


def _sections(path: Path) -> dict[str, list[list[str]]]:
    """Return the words of each line, by the section they stand in."""
    sections: dict[str, list[list[str]]] = {name: [] for name in ("ROWS", "COLUMNS", "RHS", "BOUNDS")}
    current: list[list[str]] = []
    for line in path.read_text(encoding="ascii").splitlines():
        words = line.split()
        if words and not line.startswith(" "):
            current = sections.setdefault(words[0], [])
        elif words:
            current.append(words)
    return sections


def _sums(places: Indices, values: Floats, size: int) -> Floats:
    """Return the sum of the values at each place, shape (size,)."""
    return np.bincount(places, values, minlength=size).astype(np.float64)
