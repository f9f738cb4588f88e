"""Mixed-integer programs and their files; MPS is read without a solver's help, so that a check trusts none.

minimise or maximise  cost @ x + constant
subject to            row_lower <= A x <= row_upper,   lower <= x <= upper,   some x whole
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tailcut.domains.programs import COMPRESSED, needs_extra, read_bytes
from tailcut.errors import InputError

_REMARK = re.compile(r"(?<=\s)[$*].*")
"""What follows a dollar or an asterisk after a blank."""
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Entries = dict[str, list[tuple[str, float]]]
"""Name of a variable -> row and value of each of its coefficients."""


@dataclass(frozen=True)
class IntegerProgram:
    """A mixed-integer program with n variables, m rows and k coefficients that are not zero."""

    names: tuple[str, ...]
    """Of the variables, n of them."""
    cost: Floats
    """Shape (n,)."""
    whole: NDArray[np.bool_]
    """Which variables must be integers, shape (n,)."""
    lower: Floats
    upper: Floats
    """Bounds, shape (n,); infinite where there is none."""
    row_lower: Floats
    row_upper: Floats
    """Shape (m,)."""
    rows: Indices
    columns: Indices
    values: Floats
    """Row, variable and value of each coefficient, shape (k,)."""
    constant: float = 0.0
    maximise: bool = False
    row_names: tuple[str, ...] = ()
    """Shape (m,), if the rows have names."""

    def row_name(self, row: int) -> str:
        """Return what a row is called, its number if it has no name."""
        return self.row_names[row] if self.row_names else str(row)

    def activity(self, x: Floats) -> Floats:
        """Return the left-hand side of each row, shape (m,)."""
        sums = np.bincount(self.rows, self.values * x[self.columns], minlength=len(self.row_lower))
        return sums.astype(np.float64)

    def objective(self, x: Floats) -> float:
        return float(self.cost @ x) + self.constant


def read_program(path: str | Path) -> IntegerProgram:
    """Return the program in a file; LP files are read with highspy."""
    name = str(path)
    if name.endswith((".lp", *(f".lp{ending}" for ending in COMPRESSED))):
        return _read_lp(name)
    return parse_mps(read_bytes(path).decode("utf-8", "replace"), name)


@contextmanager
def uncompressed(file: str) -> Iterator[str]:
    """Yield the path of a file, uncompressed for readers that go by its ending."""
    if not Path(file).is_file():
        raise InputError(f"{file}: cannot be read: there is no such file")
    if not file.endswith(COMPRESSED):
        yield file
        return
    with tempfile.NamedTemporaryFile(suffix=Path(Path(file).stem).suffix) as plain:
        plain.write(read_bytes(file))
        plain.flush()
        yield plain.name


def parse_mps(text: str, name: str = "program") -> IntegerProgram:
    """Return the program that MPS text stands for, in free format or, where that fails, in fixed columns."""
    try:
        return _parse_mps(text, name, lambda line, _: line.split())
    except InputError as error:
        try:
            return _parse_mps(text, name, _fixed_words)
        except InputError:
            raise error from None


def _fixed_words(line: str, section: str) -> list[str]:
    """Return the fields of a line by their columns: names may have blanks, or be left out as above.

    >>> _fixed_words("    DEDO3 11  OB1PNW20        .02466   DEDO3 1R           -1.", "COLUMNS")
    ['DEDO3 11', 'OB1PNW20', '.02466', 'DEDO3 1R', '-1.']
    """
    if "'MARKER'" in line or not line[0].isspace():
        return line.split()
    fields = [line[start:end].strip() for start, end in _FIXED]
    last = max((place for place, field in enumerate(fields) if field), default=-1)
    return fields[: last + 1] if section in ("ROWS", "BOUNDS") else fields[1 : last + 1]


_FIXED = ((1, 4), (4, 13), (14, 23), (24, 37), (39, 48), (49, 62))
"""Where the fields of a line are in fixed format."""


def _parse_mps(text: str, name: str, fields: Callable[[str, str], list[str]]) -> IntegerProgram:
    reader = _MpsReader()
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        line = _REMARK.sub("", line)
        words = fields(line, section) if line.strip() else []
        if not words or line.startswith("*"):
            continue
        try:
            if not line[0].isspace():
                section = words[0].upper()
                if section == "ENDATA":
                    break
                if section in ("OBJSENSE", "OBJSENSEMAX") and len(words) > 1:
                    reader.objsense(words[1:])
            else:
                reader.take(section, words)
        except (KeyError, ValueError, IndexError) as error:
            problem = f"there is no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(
                f"{name}, line {number}: cannot be read as MPS, section {section}: {problem}"
            ) from None
    if not reader.objective_row:
        raise InputError(f"{name}: is not an MPS file: there is no row of type N")
    return reader.program()


def _number(word: str) -> float:
    """Return a number, which may be written as in Fortran.

    >>> _number("1.5D3")
    1500.0
    """
    value = float(word.lower().replace("d", "e"))
    if np.isnan(value):
        raise ValueError(f"{word} is no number")
    return value


class _MpsReader:
    def __init__(self) -> None:
        self.maximise = False
        self.objective_row = ""
        self.free_rows: set[str] = set()
        self.row: dict[str, int] = {}
        self.senses: list[str] = []
        self.sides: list[float] = []
        self.ranges: dict[int, float] = {}
        self.column: dict[str, int] = {}
        self.whole: list[bool] = []
        self.cost: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.bounded: set[int] = set()
        self.last_column = ""
        self.between_marks = False
        self.entries: list[tuple[int, int, float]] = []
        self.constant = 0.0
        self.sections: dict[str, Callable[[list[str]], None]] = {
            "OBJSENSE": self.objsense,
            "ROWS": self._row,
            "COLUMNS": self._entry,
            "RHS": self._side,
            "RANGES": self._range,
            "BOUNDS": self._bound,
        }

    def take(self, section: str, words: list[str]) -> None:
        if section not in self.sections:
            raise ValueError("not known here")
        self.sections[section](words)

    def objsense(self, words: list[str]) -> None:
        self.maximise = words[0].upper().startswith("MAX")

    def _row(self, words: list[str]) -> None:
        sense, name = words[0].upper(), words[1]
        if sense == "N":
            if self.objective_row:
                self.free_rows.add(name)
            else:
                self.objective_row = name
        elif sense in ("L", "G", "E"):
            self.row[name] = len(self.senses)
            self.senses.append(sense)
            self.sides.append(0.0)
        else:
            raise ValueError(f"a row is of type N, L, G or E, not {sense}")

    def _entry(self, words: list[str]) -> None:
        first, *rest = words
        first = first or self.last_column  # in fixed format, left out where it is that of the line above
        self.last_column = first
        if rest[0] == "'MARKER'":
            self.between_marks = rest[1] == "'INTORG'"
            return
        if first not in self.column:
            self.column[first] = len(self.column)
            self.whole.append(self.between_marks)
            self.cost.append(0.0)
            self.lower.append(0.0)
            self.upper.append(1.0 if self.between_marks else np.inf)  # until it has bounds: the old rule
        column = self.column[first]
        for name, value in zip(rest[::2], rest[1::2], strict=True):
            if name == self.objective_row:
                self.cost[column] += _number(value)
            elif name not in self.free_rows:
                self.entries.append((self.row[name], column, _number(value)))

    def _pairs(self, words: list[str]) -> Iterator[tuple[str, float]]:
        """Yield names and values; the name of the whole set may be left out."""
        rest = words[1:] if len(words) % 2 else words
        yield from zip(rest[::2], map(_number, rest[1::2]), strict=True)

    def _side(self, words: list[str]) -> None:
        for name, value in self._pairs(words):
            if name == self.objective_row:
                self.constant = -value
            elif name not in self.free_rows:
                self.sides[self.row[name]] = value

    def _range(self, words: list[str]) -> None:
        for name, value in self._pairs(words):
            self.ranges[self.row[name]] = value

    def _bound(self, words: list[str]) -> None:
        kind = words[0].upper()
        valued = kind in ("UP", "LO", "FX", "LI", "UI", "SC")
        name = words[-2] if valued or (len(words) == 4) else words[-1]
        value = _number(words[-1]) if valued else 0.0
        column = self.column[name]
        if column not in self.bounded:
            self.upper[column] = np.inf
        lower, upper = self.lower[column], self.upper[column]
        if kind in ("UP", "UI") and value < 0 and column not in self.bounded:
            lower = -np.inf
        bounds = {
            "UP": (lower, value), "UI": (lower, value), "LO": (value, upper), "LI": (value, upper),
            "FX": (value, value), "FR": (-np.inf, np.inf), "MI": (-np.inf, upper), "PL": (lower, np.inf),
            "BV": (0.0, 1.0),
        }  # fmt: skip
        if kind not in bounds:
            raise ValueError(f"bounds of type {kind} are not known here")
        self.lower[column], self.upper[column] = bounds[kind]
        self.whole[column] |= kind in ("BV", "LI", "UI")
        self.bounded.add(column)

    def program(self) -> IntegerProgram:
        senses, sides = np.array(self.senses, dtype=np.str_), np.array(self.sides)
        row_lower, row_upper = np.where(senses == "L", -np.inf, sides), np.where(senses == "G", np.inf, sides)
        for number, width in self.ranges.items():
            sense, side = self.senses[number], self.sides[number]
            if sense == "L" or (sense == "E" and width < 0):
                row_lower[number] = side - abs(width)
            else:
                row_upper[number] = side + abs(width)
        table = np.array(self.entries, dtype=np.float64).reshape(-1, 3)
        return IntegerProgram(
            tuple(self.column), np.array(self.cost), np.array(self.whole, dtype=np.bool_),
            np.array(self.lower), np.array(self.upper), row_lower, row_upper,
            table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2],
            self.constant, self.maximise, tuple(self.row),
        )  # fmt: skip


def _read_lp(name: str) -> IntegerProgram:
    with needs_extra("reading LP files", "mip"):
        import highspy
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    with uncompressed(name) as path:
        if solver.readModel(path) == highspy.HighsStatus.kError:
            raise InputError(f"{name}: HiGHS cannot read it as an LP file")
    lp = solver.getLp()
    n, m = lp.num_col_, lp.num_row_
    kinds = [str(kind).rpartition(".")[2] for kind in lp.integrality_]
    if solver.getModel().hessian_.dim_ or {*kinds} - {"kContinuous", "kInteger"}:
        raise InputError(f"{name}: has squares or semi-continuous variables, which are not read here")
    whole = np.array([kind == "kInteger" for kind in kinds] or [False] * n, dtype=np.bool_)
    start, index = np.asarray(lp.a_matrix_.start_), np.asarray(lp.a_matrix_.index_, dtype=np.int64)
    by_column = lp.a_matrix_.format_ == highspy.MatrixFormat.kColwise
    outer = np.repeat(np.arange(n if by_column else m), np.diff(start))
    return IntegerProgram(
        tuple(lp.col_names_), np.asarray(lp.col_cost_), whole, np.asarray(lp.col_lower_),
        np.asarray(lp.col_upper_), np.asarray(lp.row_lower_), np.asarray(lp.row_upper_),
        index if by_column else outer, outer if by_column else index, np.asarray(lp.a_matrix_.value_),
        lp.offset_, lp.sense_ == highspy.ObjSense.kMaximize, tuple(lp.row_names_),
    )  # fmt: skip


def dump_mps(program: IntegerProgram) -> str:
    """Return a program as MPS text that every reader takes: to be minimised, variables called x0, x1, ..."""
    equal = program.row_lower == program.row_upper
    senses = np.where(equal, "E", np.where(np.isfinite(program.row_upper), "L", "G")).tolist()
    side = np.where(np.isfinite(program.row_upper), program.row_upper, program.row_lower)
    side = np.where(np.isfinite(side), side, 0.0)
    names = [f"x{column}" for column in range(len(program.names))]
    sign = -1.0 if program.maximise else 1.0
    entries: Entries = {x: [("cost", c)] for x, c in zip(names, (sign * program.cost).tolist(), strict=True)}
    coefficients = zip(program.rows.tolist(), program.columns.tolist(), program.values.tolist(), strict=True)
    for row, column, value in coefficients:
        entries[names[column]].append((f"r{row}", value))
    rest = []
    double = np.flatnonzero(np.isfinite(program.row_lower) & np.isfinite(program.row_upper) & ~equal)
    if len(double):
        widths = program.row_upper - program.row_lower
        rest += ["RANGES", *(mps_field("RNG", f"r{row}", float(widths[row])) for row in double)]
    rest.append("BOUNDS")
    for name, low, high in zip(names, program.lower.tolist(), program.upper.tolist(), strict=True):
        rest.append(f" MI BND       {name}" if low == -np.inf else mps_field("BND", name, low, " LO"))
        rest.append(f" PL BND       {name}" if high == np.inf else mps_field("BND", name, high, " UP"))
    rows = list(zip(senses, side.tolist(), strict=True))
    return mps_text(rows, entries, {*compress(names, program.whole)}, rest, maximise=False)


def mps_text(
    rows: Sequence[tuple[str, float]], entries: Entries, whole: set[str], rest: list[str], maximise: bool
) -> str:
    """Return MPS text; `rows` have a sense and a side, and are called r0, r1, ...; `rest`: ranges and bounds.

    Fields stand in the columns that old readers insist on; integer variables are between two markers.
    """
    lines = ["NAME          generated", *(["OBJSENSE", "    MAX"] if maximise else []), "ROWS", " N  cost"]
    lines += [f" {sense}  r{row}" for row, (sense, _) in enumerate(rows)] + ["COLUMNS"]
    for wanted, mark in ((True, "INTORG"), (False, "INTEND")):
        lines.append(f"    MARKER                 'MARKER'                 '{mark}'")
        for name, column in entries.items():
            if (name in whole) == wanted:
                lines += [mps_field(name, row, value) for row, value in column]
    lines += ["RHS", *(mps_field("RHS", f"r{row}", side) for row, (_, side) in enumerate(rows) if side)]
    return "\n".join([*lines, *rest, "ENDATA", ""])


def mps_field(first: str, second: str, value: float, kind: str = "   ") -> str:
    return f"{kind} {first:<8}  {second:<8}  {value:.15g}"
