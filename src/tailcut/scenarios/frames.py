"""Scenarios from tables in memory: mappings of columns, or data frames of pandas or polars.

Neither library is imported: a frame is whatever gives its column names by ``keys()`` or ``.columns`` and a
column by ``frame[name]``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from tailcut.errors import InputError
from tailcut.scenarios import aggregate, run_table, tables
from tailcut.scenarios.columns import STATUSES, Codes, codes
from tailcut.scenarios.problems import shown
from tailcut.scenarios.scenario import FeatureStep, Scenario
from tailcut.types import Array, check_names, check_seconds


class DataFrame(Protocol):
    """The part of pandas' and polars' data frames that is used."""

    @property
    def columns(self) -> Any:
        """The column names."""

    def __getitem__(self, name: Any, /) -> Any: ...


class FileColumns(dict[str, list[str | None]]):
    """Columns that were read from a file: errors name it and the line, not the number of the row."""

    def __init__(self, columns: Mapping[str, list[str | None]], file: str, lines: Sequence[int]) -> None:
        super().__init__(columns)
        self.file, self.lines = file, lines


Frame = Mapping[str, Sequence[Any]] | DataFrame

RESERVED = ("instance_id", "repetition")
"""Column names that ASlib's files use themselves, so that no feature or step can have them."""


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
    names = given.names_except("instance")
    values = np.empty((n, len(names)))
    for number, feature in enumerate(names):
        values[:, number] = aggregate.mean(rows, given.numbers(feature), n)
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


def _runs(frame: _FrameReader, cutoff: float) -> run_table.RunColumns:
    instances, algorithms = frame.texts("instance"), frame.texts("algorithm")
    if not instances:
        raise InputError(f"{frame.title} has no rows")
    seconds = frame.numbers("runtime")
    negative = np.flatnonzero(seconds < 0.0)
    if len(negative):
        place = frame.place("runtime", negative[0])
        raise InputError(f"{place} must be >= 0, got {seconds[negative[0]]:g}")
    statuses = frame.statuses("status") if "status" in frame.names else np.where(seconds <= cutoff, 0, 1)
    unknown = np.flatnonzero(np.isnan(seconds) & (statuses == 0))
    if len(unknown):
        raise InputError(f"{frame.place('runtime', unknown[0])} is missing, but its status is ok")

    def complain(row: int | None, field: str, message: str) -> None:
        place = frame.column_place(field) if row is None else frame.row_place(row)
        raise InputError(f"{place}: {message}")

    return run_table.collect_runs(
        instances, algorithms, frame.repetitions(), seconds, statuses, cutoff, complain
    )


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
    names = frame.names_except("instance")
    total = np.zeros(n)
    steps = []
    for number, name in enumerate(names):
        seconds = frame.numbers(name)
        if (seconds < 0.0).any():
            raise InputError(f"{frame.column_place(name)} must be >= 0 seconds")
        column = np.nan_to_num(aggregate.median(rows, np.nan_to_num(seconds), n))
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
        self.frame = frame
        self._lines = frame.lines if isinstance(frame, FileColumns) else None
        listed = list(frame) if isinstance(frame, Mapping) else self._columns(frame)
        self.names = check_names(f"columns of {title}", [str(name) for name in listed])
        self.labels = dict(zip(self.names, listed, strict=True))
        lengths = {name: len(self.column(name)) for name in self.names}
        if len(set(lengths.values())) > 1:
            raise InputError(f"the columns of {title} differ in length: {lengths}")

    def _columns(self, frame: Any) -> list[Any]:
        columns = getattr(frame, "columns", None)
        if columns is None or not hasattr(frame, "__getitem__"):
            raise InputError(
                f"{self.title} must be a mapping of columns or a data frame, got {type(frame).__name__}"
            )
        return list(columns)

    def place(self, name: str, row: int) -> str:
        """Return where a value is, for errors."""
        return f"{self.title}[{name!r}][{row}]" if self._lines is None else f"{self.row_place(row)}: {name}"

    def row_place(self, row: int) -> str:
        """Return where a row is, for errors."""
        return f"{self.title}, row {row}" if self._lines is None else f"{self.title}, line {self._lines[row]}"

    def column_place(self, name: str) -> str:
        """Return where a column is, for errors."""
        return f"{self.title}[{name!r}]" if self._lines is None else f"{self.title}, {name}"

    def column(self, name: str) -> list[Any]:
        """Return a column as a list."""
        if name not in self.names:
            raise InputError(f"{self.title} has no column {name!r}; it has {', '.join(self.names)}")
        return list(self.frame[self.labels[name]])

    def names_except(self, *known: str) -> tuple[str, ...]:
        """Return the names of the columns that hold features or steps."""
        names = tuple(name for name in self.names if name not in (*known, "repetition"))
        for name in names:
            if name in RESERVED:
                raise InputError(f"{self.title}: {name!r} is a name that ASlib's own columns have")
        return names

    def texts(self, name: str) -> list[str]:
        """Return a column of names; whole numbers become text."""
        return [self._text(name, row, value) for row, value in enumerate(self.column(name))]

    def _text(self, name: str, row: int, value: Any) -> str:
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value:
            raise InputError(f"{self.place(name, row)} must be a non-empty string, got {shown(value)}")
        return str(value)

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
        """Return a column of statuses as positions in `STATUSES`."""
        found = [str(value).lower() for value in self.column(name)]
        numbers = codes(found, {status: number for number, status in enumerate(STATUSES)})
        bad = np.flatnonzero(numbers < 0)
        if len(bad):
            raise InputError(
                f"{self.place(name, bad[0])} must be one of {', '.join(STATUSES)}; got {shown(found[bad[0]])}"
            )
        return numbers

    def repetitions(self) -> Codes:
        """Return the repetition of each row; 1 if there is no such column."""
        if "repetition" not in self.names:
            return np.ones(len(self.column(self.names[0])), dtype=np.int64)
        given = self.numbers("repetition")
        bad = np.flatnonzero(~((given >= 1.0) & (given == np.floor(given)) & (given < 2.0**53)))
        if len(bad):
            raise InputError(f"{self.place('repetition', bad[0])} must be a whole number >= 1")
        return given.astype(np.int64)

    def rows(self, instances: tuple[str, ...], *, all_needed: bool) -> Codes:
        """Return the number of each row's instance; each instance and repetition may come once."""
        names = self.texts("instance")
        found = codes(names, tables.number_of(instances))
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            row = unknown[0]
            raise InputError(f"{self.place('instance', row)}: {shown(names[row])} has no runs")
        for row in tables.doubles(found, self.repetitions()):
            raise InputError(f"{self.place('instance', row)} repeats {shown(names[row])}")
        missing = sorted(set(instances) - set(names))
        if missing and all_needed:
            raise InputError(f"{self.title} has no row for instance {shown(missing[0])}")
        return found
