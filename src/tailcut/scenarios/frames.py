"""Scenarios from tables: mappings of columns, data frames of pandas or polars, or CSV files.

Neither library is imported: a frame is whatever gives its column names by ``keys()`` or ``.columns`` and a
column by ``frame[name]``.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tailcut.errors import InputError
from tailcut.scenarios.aggregate import RunColumns, collect_runs, doubles, mean, median
from tailcut.scenarios.arff import STATUSES, Codes, codes, shown
from tailcut.scenarios.scenario import FeatureStep, Scenario
from tailcut.types import Array, check_names, check_seconds


class DataFrame(Protocol):
    """The part of pandas' and polars' data frames that is used."""

    @property
    def columns(self) -> Any: ...

    def __getitem__(self, name: Any, /) -> Any: ...


class FileColumns(dict[str, list[str | None]]):
    """Columns that were read from a file: errors name it and the line, not the number of the row."""

    def __init__(self, columns: Mapping[str, list[str | None]], file: str, lines: Sequence[int]) -> None:
        super().__init__(columns)
        self.file, self.lines = file, lines


Frame = Mapping[str, Sequence[Any]] | DataFrame


def from_frames(
    runs: Frame, features: Frame, *, cutoff: float, name: str = "scenario", feature_costs: Frame | None = None
) -> Scenario:
    """Return the scenario in these tables; `Scenario.from_frames` says what they hold."""
    seconds = check_seconds("cutoff", cutoff, above_zero=True)
    if not isinstance(name, str) or not name:
        raise InputError(f"name must be a non-empty string, got {name!r}")
    recorded = _runs(_FrameReader("runs", runs), seconds)
    given = _FrameReader("features", features)
    n = len(recorded.instances)
    rows = given.rows(recorded.instances, all_needed=True)
    names = given.measured()
    values = np.empty((n, len(names)))
    for number, feature in enumerate(names):
        values[:, number] = mean(rows, given.numbers(feature), n)
    total, steps = _steps(feature_costs, recorded.instances, names, values)
    return Scenario(
        name=name,
        cutoff=seconds,
        instances=recorded.instances,
        algorithms=recorded.algorithms,
        feature_names=names,
        features=values,
        runtimes=recorded.runtimes,
        solved=(recorded.statuses == 0) & (recorded.runtimes <= seconds),
        statuses=recorded.statuses.astype(np.uint8),
        feature_cost=total,
        feature_steps=steps,
        has_feature_costs=feature_costs is not None,
    )


def scenario_from_csv(runs: Path, features: Path, *, cutoff: float, name: str) -> Scenario:
    """Return the scenario that two CSV files hold; their columns are those of `Scenario.from_frames`.

    Errors name the file and the line.
    """
    return Scenario.from_frames(read_columns(runs), read_columns(features), cutoff=cutoff, name=name)


def read_columns(path: Path) -> FileColumns:
    """Return the columns of a CSV file; empty cells are None."""
    rows, lines = _rows(path)
    if not rows:
        raise InputError(f"{path}: is empty; expected a line of column names")
    names = [name.strip() for name in rows[0]]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}, line {lines[0]}: column {name!r} comes twice")
    columns: dict[str, list[str | None]] = {name: [] for name in names}
    for line, row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != len(names):
            raise InputError(f"{path}, line {line}: expected {len(names)} cells, got {len(row)}")
        for name, cell in zip(names, row, strict=True):
            columns[name].append(cell.strip() or None)
    return FileColumns(columns, str(path), lines[1:])


def _rows(path: Path) -> tuple[list[list[str]], list[int]]:
    """Return the rows that are not empty, and the line of the file on which each begins."""
    rows, lines, line = [], [], 1
    try:
        content = path.read_bytes()
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        for row in reader:
            if row:
                rows.append(row)
                lines.append(line)
            line = reader.line_num + 1
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: is not a CSV file in UTF-8: {error.reason}") from None
    except csv.Error as error:
        raise InputError(f"{path}, line {line}: is not a CSV file: {error}") from None
    return rows, lines


def _runs(frame: _FrameReader, cutoff: float) -> RunColumns:
    instances, algorithms = frame.texts("instance"), frame.texts("algorithm")
    if not instances:
        raise InputError(f"{frame.title} has no rows")
    seconds = frame.numbers("runtime")
    for row in np.flatnonzero(seconds < 0.0).tolist():
        raise InputError(f"{frame.place('runtime', row)} must be >= 0, got {seconds[row]:g}")
    statuses = frame.statuses("status") if "status" in frame.names else np.where(seconds <= cutoff, 0, 1)
    for row in np.flatnonzero(np.isnan(seconds) & (statuses == 0)).tolist():
        raise InputError(f"{frame.place('runtime', row)} is missing, but its status is ok")

    def complain(row: int | None, field: str, message: str) -> None:
        raise InputError(f"{frame.place(field if row is None else None, row)}: {message}")

    return collect_runs(instances, algorithms, frame.repetitions(), seconds, statuses, cutoff, complain)


def _steps(
    costs: Frame | None, instances: tuple[str, ...], features: tuple[str, ...], values: Array
) -> tuple[Array, tuple[FeatureStep, ...]]:
    """Return the total costs and the steps.

    Which step provides which feature is not known here, only that all of them together give all
    features: so the last step provides them and requires the others.
    """
    n = len(instances)
    known = ~np.isnan(values).all(axis=1) if features else np.ones(n, dtype=bool)
    statuses = np.where(known, STATUSES.index("ok"), STATUSES.index("unknown")).astype(np.uint8)
    if costs is None:
        return np.zeros(n), (FeatureStep("all", features, (), np.zeros(n), statuses),)
    frame = _FrameReader("feature_costs", costs)
    rows = frame.rows(instances, all_needed=False)
    names = frame.measured()
    total = np.zeros(n)
    steps = []
    for number, name in enumerate(names):
        seconds = frame.numbers(name)
        if (seconds < 0.0).any():
            raise InputError(f"{frame.place(name)} must be >= 0 seconds")
        column = np.nan_to_num(median(rows, np.nan_to_num(seconds), n))
        last = number == len(names) - 1
        steps.append(
            FeatureStep(name, features if last else (), names[:-1] if last else (), column, statuses)
        )
        total += column
    return total, tuple(steps)


class _FrameReader:
    """Takes columns out of a frame; errors name the frame, the column and the row."""

    def __init__(self, title: str, frame: Frame) -> None:
        self.title = frame.file if isinstance(frame, FileColumns) else title
        self._lines = frame.lines if isinstance(frame, FileColumns) else None
        if not hasattr(frame, "__getitem__") or not (isinstance(frame, Mapping) or hasattr(frame, "columns")):
            raise InputError(
                f"{self.title} must be a mapping of columns or a data frame, got {type(frame).__name__}"
            )
        labels = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
        self.names = check_names(f"columns of {title}", [str(label) for label in labels])
        self._columns = {name: list(frame[label]) for name, label in zip(self.names, labels, strict=True)}
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"the columns of {title} differ in length: {lengths}")

    def place(self, name: str | None, row: int | None = None) -> str:
        """Return where a row, a column or a value is, for errors."""
        if self._lines is not None:
            where = f"{self.title}, line {self._lines[row]}" if row is not None else self.title
            separator = ", " if row is None else ": "
            return where if name is None else f"{where}{separator}{name}"
        if name is None:
            return f"{self.title}, row {row}"
        return f"{self.title}[{name!r}]" + ("" if row is None else f"[{row}]")

    def column(self, name: str) -> list[Any]:
        if name not in self.names:
            raise InputError(f"{self.title} has no column {name!r}; it has {', '.join(self.names)}")
        return self._columns[name]

    def measured(self) -> tuple[str, ...]:
        names = tuple(name for name in self.names if name not in ("instance", "repetition"))
        if "instance_id" in names:  # as "repetition", a name that ASlib's files use themselves
            raise InputError(f"{self.title}: 'instance_id' is a name that ASlib's own columns have")
        return names

    def texts(self, name: str) -> list[str]:
        """Return a column of names; whole numbers become text."""
        texts = []
        for row, value in enumerate(self.column(name)):
            number = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not number and (not isinstance(value, str) or not value):
                raise InputError(f"{self.place(name, row)} must be a non-empty string, got {shown(value)}")
            texts.append(str(value))
        return texts

    def numbers(self, name: str) -> Array:
        """Return a column of finite numbers, nan where missing."""
        values = self.column(name)
        result = np.full(len(values), math.nan)
        for row, value in enumerate(values):
            if value is None or type(value).__name__ == "NAType":
                continue
            try:
                result[row] = float(value)
            except (TypeError, ValueError, OverflowError):
                raise InputError(f"{self.place(name, row)} must be a number, got {shown(value)}") from None
            if math.isinf(result[row]):
                missing = "use nan" if self._lines is None else "leave the cell empty"
                raise InputError(f"{self.place(name, row)} must be finite; {missing} for missing")
        return result

    def statuses(self, name: str) -> Codes:
        statuses = [str(value).lower() for value in self.column(name)]
        numbers = codes(statuses, STATUSES)
        for row in np.flatnonzero(numbers < 0).tolist():
            expected = f"one of {', '.join(STATUSES)}"
            raise InputError(f"{self.place(name, row)} must be {expected}; got {shown(statuses[row])}")
        return numbers

    def repetitions(self) -> Codes:
        """Return the repetition of each row; 1 if there is no such column."""
        if "repetition" not in self.names:
            return np.ones(len(self.column(self.names[0])), dtype=np.int64)
        given = self.numbers("repetition")
        for row in np.flatnonzero(
            ~((given >= 1.0) & (given == np.floor(given)) & (given < 2.0**53))
        ).tolist():
            raise InputError(f"{self.place('repetition', row)} must be a whole number >= 1")
        return given.astype(np.int64)

    def rows(self, instances: tuple[str, ...], *, all_needed: bool) -> Codes:
        """Return the number of each row's instance; each instance and repetition may come once."""
        names = self.texts("instance")
        rows = codes(names, instances)
        for row in np.flatnonzero(rows < 0).tolist():
            raise InputError(f"{self.place('instance', row)}: {shown(names[row])} has no runs")
        for row in doubles(rows, self.repetitions()):
            raise InputError(f"{self.place('instance', row)} repeats {shown(names[row])}")
        missing = sorted(set(instances) - set(names))
        if missing and all_needed:
            raise InputError(f"{self.title} has no row for instance {shown(missing[0])}")
        return rows
