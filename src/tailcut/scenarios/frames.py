"""Scenarios from tables: mappings of columns, data frames of pandas or polars, or CSV files.

Neither library is imported: a frame is whatever gives its column names by ``keys()`` or ``.columns`` and a
column by ``frame[name]``. Its cells become text, so that the reader of ASlib files reads and checks them.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from tailcut.errors import InputError
from tailcut.scenarios import aslib_reader
from tailcut.scenarios.arff import STATUSES, ArffTable, Attribute, Column, Problem, Problems, decode
from tailcut.scenarios.aslib_reader import PerInstance
from tailcut.scenarios.scenario import FeatureStep, Scenario
from tailcut.types import check_names, check_seconds

_IDENTITY = ("instance", "repetition")


class DataFrame(Protocol):
    """The part of pandas' and polars' data frames that is used."""

    @property
    def columns(self) -> Any: ...

    def __getitem__(self, name: Any, /) -> Any: ...


Frame = Mapping[str, Sequence[Any]] | DataFrame


@dataclass
class _Refusing(Problems):
    """Raises at once, at a warning about a row too: unlike published files, these tables can be corrected."""

    counted: str = "row"
    """What is counted: lines of a file, or rows of a frame."""

    def error(self, file: str, line: int | None, field: str | None, message: str) -> NoReturn:
        place = file if line is None else f"{file}, {self.counted} {line}"
        raise InputError(str(Problem(place, None, field, message)))

    def warning(self, file: str, line: int | None, field: str | None, message: str) -> None:
        if line is not None:  # behind the semicolon stands how reading would go on
            self.error(file, line, field, message.partition(";")[0])


def scenario_from_csv(runs: Path, features: Path, *, cutoff: float, name: str) -> Scenario:
    """Return the scenario that two CSV files hold; their columns are those of `Scenario.from_frames`."""
    return from_tables(read_csv(runs), read_csv(features), None, cutoff, name)


def read_frame(title: str, frame: Frame) -> ArffTable:
    if not hasattr(frame, "__getitem__") or not (isinstance(frame, Mapping) or hasattr(frame, "columns")):
        raise InputError(f"{title} must be a mapping of columns or a data frame, got {type(frame).__name__}")
    labels = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
    columns = [list(map(_cell, frame[label])) for label in labels]
    lengths = {str(label): len(column) for label, column in zip(labels, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        raise InputError(f"the columns of {title} differ in length: {lengths}")
    lines = range(len(columns[0]) if columns else 0)
    return _table(title, [str(label) for label in labels], columns, lines, _Refusing())


def _cell(value: Any) -> str | None:
    if value is None or type(value).__name__ == "NAType":
        return None
    if isinstance(value, Integral | np.bool_):
        return str(int(value))
    if isinstance(value, Real):
        return None if math.isnan(value) else repr(float(value))
    return str(value)


def read_csv(path: Path) -> ArffTable:
    """Return the table in a CSV file; empty cells are missing."""
    problems = _Refusing(counted="line")
    try:
        text = decode(path.read_bytes(), str(path), problems)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    rows: list[Column] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for row in reader:
            if row:
                rows.append([cell.strip() or None for cell in row])
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {line}: is not a CSV file: {error}") from None
    if not rows:
        raise InputError(f"{path}: is empty; expected a line of column names")
    names = [name or "" for name in rows.pop(0)]
    for cells, line in zip(rows, lines[1:], strict=True):
        if len(cells) != len(names):
            raise InputError(f"{path}, line {line}: expected {len(names)} cells, got {len(cells)}")
    columns: list[Column] = [[cells[i] for cells in rows] for i in range(len(names))]
    return _table(str(path), names, columns, lines[1:], problems)


def _table(
    title: str, names: Sequence[str], columns: list[Column], lines: Sequence[int], problems: Problems
) -> ArffTable:
    named = tuple(Attribute(name, "string") for name in check_names(f"columns of {title}", names))
    return _with_column(ArffTable(title, named, columns, lines, problems), "repetition", ["1"] * len(lines))


def _with_column(table: ArffTable, name: str, cells: Column) -> ArffTable:
    if table.find(name) is not None:
        return table
    attributes = (*table.attributes, Attribute(name, "string"))
    return replace(table, attributes=attributes, columns=[*table.columns, cells])


def from_tables(
    runs: ArffTable, features: ArffTable, costs: ArffTable | None, cutoff: float, name: str
) -> Scenario:
    """Return the scenario in these tables; `Scenario.from_frames` says what they hold."""
    seconds = check_seconds("cutoff", cutoff, above_zero=True)
    if not isinstance(name, str) or not name:
        raise InputError(f"name must be a non-empty string, got {name!r}")
    runtimes = runs.numbers(runs.require("runtime")[0])
    runs = _with_column(runs, "status", np.where(runtimes <= seconds, "ok", "timeout").tolist())
    recorded = aslib_reader.combined_runs(runs, (*_IDENTITY, "algorithm", "status"), "runtime", seconds)
    n = len(recorded.instances)
    given = _per_instance(features, recorded.instances, complete=True)
    names, values = tuple(given.others), aslib_reader.feature_values(given, n)
    if costs is None:
        step_costs = {"all": np.zeros(n)}
    else:
        step_costs = aslib_reader.feature_costs(_per_instance(costs, recorded.instances, complete=False), n)
    known = ~np.isnan(values).all(axis=1) if names else np.ones(n, dtype=bool)
    ends = np.where(known, STATUSES.index("ok"), STATUSES.index("unknown")).astype(np.uint8)
    # Which step provides which feature is not known here, only that all of them together give all features:
    # so the last step provides them and requires the others.
    *before, last = step_costs or [""]
    steps = tuple(
        FeatureStep(step, names if step == last else (), tuple(before) if step == last else (), spent, ends)
        for step, spent in step_costs.items()
    )
    return aslib_reader.assembled(
        name,
        seconds,
        recorded,
        feature_names=names,
        features=values,
        feature_steps=steps,
        has_feature_costs=costs is not None,
    )


def _per_instance(table: ArffTable, instances: tuple[str, ...], *, complete: bool) -> PerInstance:
    if table.find("instance_id") is not None:  # as "repetition", a name that ASlib's files use themselves
        raise InputError(f"{table.file}: 'instance_id' is a name that ASlib's own columns have")
    return aslib_reader.per_instance(table, instances, _IDENTITY, complete=complete)
