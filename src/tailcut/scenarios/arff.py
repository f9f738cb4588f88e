"""ARFF tables, read column by column, and the problems found on the way, each with its file, line and field.

Nearly every line of nearly every ASlib file is free of quotes, so the body is split at its commas in one
go; only lines with a quote are taken apart piece by piece. A missing value (an unquoted ``?``) is None.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from tailcut.errors import NotRuntimeError, ScenarioError
from tailcut.types import Array

Column = list[str | None]
Codes = NDArray[np.int64]
Severity = Literal["error", "warning"]

STATUSES = ("ok", "timeout", "memout", "not_applicable", "crash", "other", "presolved", "unknown")
"""How a run or a feature step can end (ASlib format); a status array holds positions in this tuple."""

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_FIELD = re.compile(rf"\s*+(?:(?:{_QUOTED.pattern})\s*+|(?!['\"])([^,]*))(,|\Z)", re.DOTALL)
"""A value and the comma after it. Spaces are never given back: long runs of them would cost n squared."""
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_TYPES = {"numeric": "numeric", "real": "numeric", "integer": "numeric", "string": "string"}
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a scenario.

    >>> print(Problem("cv.arff", 9, "fold", "expected a whole number >= 1, got 'x'"))
    cv.arff, line 9, fold: expected a whole number >= 1, got 'x'
    """

    file: str
    line: int | None
    """Line in that file, counted from 1; None if no single line is to blame."""
    field: str | None
    """Column of the table, or field of the description."""
    message: str
    severity: Severity = "error"
    """An error makes the scenario unreadable; a warning does not."""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}{', ' + self.field if self.field else ''}: {self.message}"


class UnusableFileError(Exception):
    """Nothing more can be read from a file; why is among the problems."""


@dataclass
class Problems:
    """Collects problems while files are read, so that reading and checking are the same code."""

    found: list[Problem] = field(default_factory=list)
    not_runtime: bool = False
    """Whether the scenario is about the quality of solutions, which is no fault of its files."""

    def error(self, file: str, line: int | None, field: str | None, message: str) -> None:
        self.found.append(Problem(file, line, field, message))

    def warning(self, file: str, line: int | None, field: str | None, message: str) -> None:
        self.found.append(Problem(file, line, field, message, "warning"))

    def give_up(self, file: str, line: int | None, field: str | None, message: str) -> NoReturn:
        self.error(file, line, field, message)
        raise UnusableFileError

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.found if problem.severity == "error"]

    def raise_if_any(self, folder: str) -> None:
        """Raise `ScenarioError` with the first error, and say how many more there are."""
        errors = self.errors
        if errors:
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            kind = NotRuntimeError if self.not_runtime else ScenarioError
            raise kind(f"{folder}: {errors[0]}{more}")


def shown(value: object) -> str:
    """Return a value for a message: quoted, and cut if a damaged file made it very long.

    >>> shown("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'..."
    """
    if isinstance(value, str) and len(value) > 60:
        return repr(value[:60]) + "..."
    return repr(value)


def codes(column: Sequence[str | None], names: Sequence[str]) -> Codes:
    """Return the position of each cell among the names, -1 for one that is none of them."""
    position = {name: number for number, name in enumerate(names)}.get
    return np.fromiter((position(cell, -1) for cell in column), np.int64, len(column))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    kind: str
    """'numeric', 'string' or 'nominal'."""
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArffTable:
    """The columns of one ARFF file; reading them notes every bad cell with its line."""

    file: str
    attributes: tuple[Attribute, ...]
    columns: list[Column]
    lines: Sequence[int]
    problems: Problems

    def find(self, name: str) -> int | None:
        """Return the position of a column, by its name in any case."""
        wanted = name.lower()
        return next((i for i, a in enumerate(self.attributes) if a.name.lower() == wanted), None)

    def require(self, *names: str) -> list[int]:
        """Return the positions of columns; give up after noting which are missing."""
        found = {name: self.find(name) for name in names}
        for name, position in found.items():
            if position is None:
                self.error(None, name, "this column is missing")
        positions = [position for position in found.values() if position is not None]
        if len(positions) < len(names):
            raise UnusableFileError
        return positions

    def error(self, row: int | None, column: int | str, message: str) -> None:
        self.problems.error(*self._place(row, column), message)

    def warning(self, row: int | None, column: int | str, message: str) -> None:
        self.problems.warning(*self._place(row, column), message)

    def _place(self, row: int | None, column: int | str) -> tuple[str, int | None, str]:
        name = self.attributes[column].name if isinstance(column, int) else column
        return self.file, None if row is None else self.lines[row], name

    def numbers(self, position: int) -> Array:
        """Return a column as float64, nan where a value is missing or not a number."""
        column = self.columns[position]
        cells = ["nan" if cell is None else cell for cell in column]
        with contextlib.suppress(ValueError):  # if one cell is no number, find which
            if "_" not in "".join(cells):
                return np.array(list(map(float, cells)), dtype=np.float64)
        result = np.full(len(column), math.nan)
        for row, cell in enumerate(column):
            number = math.nan if cell is None else as_number(cell)
            if number is None:
                self.error(row, position, f"expected a number or ?, got {shown(cell)}")
            else:
                result[row] = number
        return result

    def whole_numbers(self, position: int) -> Codes:
        """Return a column of whole numbers >= 1; bad cells are noted and read as 0."""
        before = len(self.problems.found)
        values = self.numbers(position)
        good = np.isfinite(values) & (values >= 1.0) & (values <= 2.0**53) & (values == np.floor(values))
        if len(self.problems.found) == before:
            for row in np.flatnonzero(~good).tolist():
                cell = self.columns[position][row] or "?"
                self.error(row, position, f"expected a whole number >= 1, got {shown(cell)}")
        return np.where(good, values, 0.0).astype(np.int64)

    def texts(self, position: int) -> list[str]:
        """Return a column of names; missing or empty ones are noted and read as ''."""
        column = self.columns[position]
        if None in column or "" in column:
            for row, cell in enumerate(column):
                if not cell:
                    self.error(row, position, "expected a name, got none")
        return [cell or "" for cell in column]

    def statuses(self, position: int) -> Codes:
        """Return a column of statuses as positions in `STATUSES`; bad cells are noted and read as 'other'."""
        column = self.columns[position]
        numbers = codes(column, STATUSES)
        for row in np.flatnonzero(numbers < 0).tolist():
            lowered = (column[row] or "").lower()
            numbers[row] = STATUSES.index(lowered if lowered in STATUSES else "other")
            if lowered not in STATUSES:
                names = ", ".join(STATUSES)
                self.error(row, position, f"expected one of {names}; got {shown(column[row] or '?')}")
        return numbers

    def check_levels(self, position: int) -> None:
        """Note values of a nominal column that the header does not declare."""
        attribute = self.attributes[position]
        levels = {*attribute.levels, None}
        if attribute.kind != "nominal" or set(self.columns[position]) <= levels:
            return
        declared = shown(", ".join(attribute.levels))
        for row, cell in enumerate(self.columns[position]):
            if cell not in levels:
                self.error(row, position, f"{shown(cell)} is not among the declared values {declared}")


def as_number(cell: str) -> float | None:
    """Return the number that a text is, or None; ``1_000``, which float() reads, is none."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def parse(data: bytes, file: str, problems: Problems) -> ArffTable:
    r"""Return the table in `data`, or give up if its header cannot be used; note what is wrong.

    >>> text = b"@RELATION r\n@ATTRIBUTE id STRING\n@ATTRIBUTE 'a b' NUMERIC\n@DATA\n'x, y',?"
    >>> table = parse(text, "some.arff", Problems())
    >>> table.attributes[1].name, table.columns
    ('a b', [['x, y'], [None]])
    """
    text = decode(data, file, problems)
    lines = text.split("\n")
    attributes, start = _header(lines, file, problems)
    numbers: Sequence[int] = range(start + 1, len(lines) + 1)
    body = lines[start:]
    if body and not body[-1].strip():
        body.pop()
    if "%" in text or not all(map(str.strip, body)):
        kept = [i for i, line in enumerate(body) if line.strip() and not line.lstrip().startswith("%")]
        numbers, body = [start + 1 + i for i in kept], [body[i] for i in kept]
    return _table(file, tuple(attributes), body, numbers[: len(body)], problems)


def decode(data: bytes, file: str, problems: Problems) -> str:
    """Return UTF-8 bytes as text with plain line ends, or give up at the line that is not UTF-8."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.give_up(file, line, None, f"byte 0x{data[error.start]:02x} is not UTF-8 text")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _header(lines: list[str], file: str, problems: Problems) -> tuple[list[Attribute], int]:
    attributes: list[Attribute] = []
    names: set[str] = set()
    before = len(problems.errors)
    for position, raw in enumerate(lines):
        line = raw.strip()
        if not line or line.startswith("%"):
            continue
        keyword = re.split(r"[\s,]", line, maxsplit=1)[0].lower()
        if keyword == "@data":
            if line.lower() != "@data":
                problems.warning(file, position + 1, None, f"expected @DATA alone, got {shown(line)}")
            break
        if keyword == "@attribute":
            attribute = _attribute(line[len(keyword) :].strip(), file, position + 1, problems)
            if attribute is not None:
                if attribute.name in names:
                    problems.error(file, position + 1, attribute.name, "this column is declared twice")
                names.add(attribute.name)
                attributes.append(attribute)
        elif keyword != "@relation":
            message = f"expected @RELATION, @ATTRIBUTE or @DATA, got {shown(line)}"
            problems.give_up(file, position + 1, None, message)
    else:
        problems.give_up(file, None, None, "has no @DATA line")
    if not attributes:
        problems.error(file, None, None, "declares no @ATTRIBUTE")
    if len(problems.errors) > before:
        raise UnusableFileError
    return attributes, position + 1


def _attribute(text: str, file: str, line: int, problems: Problems) -> Attribute | None:
    quoted = _QUOTED.match(text)
    if quoted:
        name, kind = _unquote(quoted), text[quoted.end() :].strip()
    else:
        name, _, kind = (text.replace("\t", " ") + " ").partition(" ")
        if "{" in name:  # the space between name and levels is often forgotten
            name, brace, levels = text.partition("{")
            kind = brace + levels
        kind = kind.strip()
    if not name:
        problems.error(file, line, None, "expected @ATTRIBUTE with a name and a type")
        return None
    if kind.lower() in _TYPES:
        return Attribute(name, _TYPES[kind.lower()])
    if kind.startswith("{") and kind.endswith("}"):
        levels_found = _fields(kind[1:-1])
        if levels_found is not None and None not in levels_found:
            return Attribute(name, "nominal", tuple(level for level in levels_found if level is not None))
    expected = "expected the type NUMERIC, REAL, INTEGER, STRING or {...}"
    problems.error(file, line, name, f"{expected}, got {shown(kind)}")
    return None


def _table(
    file: str, attributes: tuple[Attribute, ...], body: list[str], numbers: Sequence[int], problems: Problems
) -> ArffTable:
    width = len(attributes)
    joined = ",".join(body)
    plain = "'" not in joined and '"' not in joined
    if plain and all(line.count(",") == width - 1 for line in body):
        cells: Column = list(joined.split(",")) if body else []
        if " " in joined or "\t" in joined:
            cells = [cell.strip() for cell in cells if cell is not None]
        columns = [cells[i::width] for i in range(width)]
        for i, column in enumerate(columns):
            if "?" in column:
                columns[i] = [None if cell == "?" else cell for cell in column]
        return ArffTable(file, attributes, columns, numbers, problems)
    rows: list[Column] = []
    kept: list[int] = []
    for line, number in zip(body, numbers, strict=True):
        fields = _fields(line)
        if fields is None:
            message = "a quoted value does not end, or is followed by something else"
            problems.error(file, number, None, message)
        elif line.lstrip().startswith("{"):
            problems.error(file, number, None, "sparse rows ({...}) are not part of the ASlib format")
        elif len(fields) != width:
            problems.error(file, number, None, f"expected {width} values, got {len(fields)}")
        else:
            rows.append(fields)
            kept.append(number)
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
    return ArffTable(file, attributes, columns, kept, problems)


def _fields(line: str) -> Column | None:
    if "'" not in line and '"' not in line:
        return [None if value == "?" else value for value in (part.strip() for part in line.split(","))]
    fields: Column = []
    position = 0
    while field := _FIELD.match(line, position):
        value = _unquote(field) if field[3] is None else field[3].strip()
        fields.append(None if field[3] is not None and value == "?" else value)
        if not field[4]:
            return fields
        position = field.end()
    return None


def _unquote(match: re.Match[str]) -> str:
    return _ESCAPE.sub(_unescape, match[1] if match[1] is not None else match[2])


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 5:
        point = int(code[1:], 16)
        return "\ufffd" if 0xD800 <= point <= 0xDFFF else chr(point)  # half a character is none
    return _ESCAPED.get(code, code)
