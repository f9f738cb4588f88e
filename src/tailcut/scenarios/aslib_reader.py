"""Reading ASlib folders: the files, one by one, into arrays; reading and checking share this code.

Repetitions are combined as is usual in the field. Where functions speak of cells, these are pairs of instance
and algorithm, or instances, given by their numbers; several rows with the same number are repetitions.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tailcut.errors import InputError, NotRuntimeError, ScenarioError, did_you_mean
from tailcut.scenarios import arff, description
from tailcut.scenarios import cache as scenario_cache
from tailcut.scenarios.arff import STATUSES, ArffTable, Codes, Problem, Problems, UnusableFileError, shown
from tailcut.scenarios.description import QUALITY, RUNTIME, Description
from tailcut.scenarios.scenario import FeatureStep, QualityScenario, Scenario
from tailcut.types import Array

REQUIRED = ("description.txt", "algorithm_runs.arff", "feature_values.arff")
OPTIONAL = ("feature_runstatus.arff", "feature_costs.arff", "cv.arff", "ground_truth.arff")
FILES = (*REQUIRED, *OPTIONAL)
RUN_COLUMNS = ("instance_id", "repetition", "algorithm", "runstatus")
"""The columns of a table of runs, beside those of the measures."""


def read(path: str | os.PathLike[str], *, cache: bool = True) -> Scenario:
    files = load(Path(path))
    key = scenario_cache.key(files) if cache else ""
    cached = scenario_cache.get(key) if cache else None
    if cached is not None:
        return cached
    problems = Problems()
    scenario = build(files, problems)
    problems.raise_if_any(str(path))
    assert scenario is not None, "nothing is given up without an error"
    if cache:
        scenario_cache.put(key, scenario)
    return scenario


def read_quality(path: str | os.PathLike[str]) -> QualityScenario:
    problems = Problems()
    described, runs, parts = _gather(load(Path(path)), QUALITY, problems)
    if described and runs and not problems.errors and np.isnan(runs.runtimes).all():
        problems.error("algorithm_runs.arff", None, described.measures[0], "no run has a value")
    problems.raise_if_any(str(path))
    assert described is not None, "nothing is given up without an error"
    assert runs is not None
    return QualityScenario(
        name=described.name,
        measure=described.measures[0],
        maximise=bool(described.maximise and described.maximise[0]),
        instances=runs.instances,
        algorithms=runs.algorithms,
        feature_names=parts["feature_names"],
        features=parts["features"],
        values=runs.runtimes,
        cutoff=described.cutoff if 0.0 < described.cutoff < math.inf else 1.0,
        folds=parts["folds"],
    )


def check_scenario(path: str | os.PathLike[str]) -> list[Problem]:
    """Return every problem of the scenario in the folder `path`, errors first.

    Without an error in the list the scenario can be read; with one it cannot.

    >>> [problem.severity for problem in check_scenario("no/such/folder")]
    ['error']
    """
    problems = Problems()
    try:
        build(load(Path(path)), problems)
    except ScenarioError as error:
        return [Problem(Path(path).name, None, None, str(error))]
    return sorted(problems.found, key=lambda problem: problem.severity)


def names_in(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/description.txt"))


def quality_names(folder: Path, wanted: Sequence[str]) -> list[str]:
    """Return which of the wanted scenarios of a folder judge the quality of solutions, not times."""
    names = []
    for name in dict.fromkeys(wanted):
        with suppress(UnusableFileError, FileNotFoundError):
            data = (folder / name / description.FILE).read_bytes()
            if description.parse(data, Problems()).types[0] == QUALITY:
                names.append(name)
    return names


def scenarios_in(
    folder: Path,
    wanted: Sequence[str] | None = None,
    preferred: Sequence[str] | None = None,
    on_left_out: Callable[[str, str], None] = lambda _name, _reason: None,
) -> list[tuple[str, Scenario]]:
    """Return the wanted scenarios with their folders; if none is named, the preferred ones, or all.

    A named scenario must exist and be about runtimes. Others that are not are left out, and `on_left_out` is
    called with the name and the reason.
    """
    present = names_in(folder)
    if not present:
        raise InputError(f"{folder}: holds no scenario (no folder with a description.txt)")
    unknown = [name for name in wanted or () if name not in present]
    if unknown:
        missing = ", ".join(f"{name}{did_you_mean(name, present)}" for name in unknown)
        raise InputError(f"{folder} holds no scenario {missing}; it holds: {', '.join(present)}")
    scenarios = []
    for name in dict.fromkeys(wanted or preferred or present):
        if name not in present:
            on_left_out(name, f"{name} is not in {folder}")
            continue
        try:
            scenarios.append((str((folder / name).resolve()), Scenario.read(folder / name)))
        except NotRuntimeError as error:
            if wanted:
                raise
            on_left_out(name, str(error))
    return scenarios


def load(folder: Path) -> dict[str, bytes]:
    """Return the bytes of the files that are there, or say why they cannot be read."""
    files = {}
    for name in FILES:
        try:
            files[name] = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            break
        except OSError as error:
            raise ScenarioError(f"{folder / name}: cannot be read: {error.strerror or error}") from None
    if not files:
        reason = "has no ASlib files" if folder.is_dir() else "is not a folder"
        raise ScenarioError(f"{folder}: {reason}; expected {', '.join(REQUIRED)}")
    return files


def build(files: dict[str, bytes], problems: Problems) -> Scenario | None:
    """Return the scenario in the files, or None; note everything that is wrong with them."""
    described, runs, parts = _gather(files, RUNTIME, problems)
    if described is None or runs is None or problems.errors:
        return None
    return assembled(described.name, described.cutoff, runs, **parts)


def assembled(name: str, cutoff: float, runs: RunColumns, **parts: Any) -> Scenario:
    """Return a scenario of runs and the remaining fields, which are `parts`."""
    steps: tuple[FeatureStep, ...] = parts["feature_steps"]
    return Scenario(
        name=name,
        cutoff=cutoff,
        instances=runs.instances,
        algorithms=runs.algorithms,
        runtimes=runs.runtimes,
        solved=(runs.statuses == 0) & (runs.runtimes <= cutoff),
        statuses=runs.statuses.astype(np.uint8),
        feature_cost=sum((step.costs for step in steps), np.zeros(len(runs.instances))),
        **parts,
    )


def _gather(
    files: dict[str, bytes], measured: str, problems: Problems
) -> tuple[Description | None, RunColumns | None, dict[str, Any]]:
    """Return what the files hold of a scenario whose first measure is of the type `measured`.

    Without a description or runs, the other files are still checked as far as possible.
    """
    for name in REQUIRED:
        if name not in files:
            problems.error(name, None, None, "this file is missing")
    described = runs = None
    with suppress(UnusableFileError):
        if description.FILE in files:
            described = description.parse(files[description.FILE], problems, measured)
    tables: dict[str, ArffTable] = {}
    for name in files:
        with suppress(UnusableFileError):
            if name.endswith(".arff"):
                tables[name] = arff.parse(files[name], name, problems)
    with suppress(UnusableFileError):
        if "algorithm_runs.arff" in tables:
            runs = _runs(tables.pop("algorithm_runs.arff"), described, measured)
    instances = () if runs is None else runs.instances
    if runs is None and (listed := tables.get("feature_values.arff")):
        position = listed.find("instance_id")
        instances = tuple(dict.fromkeys(filter(None, () if position is None else listed.columns[position])))
    matched: dict[str, PerInstance] = {}
    for name, table in tables.items() if instances else ():
        identity = RUN_COLUMNS[: 1 if name == "ground_truth.arff" else 2]
        with suppress(UnusableFileError):
            matched[name] = per_instance(table, instances, identity, complete=name == "feature_values.arff")
    n, features = max(1, len(instances)), matched.get("feature_values.arff")
    folds, truths = matched.get("cv.arff"), matched.get("ground_truth.arff")
    names = tuple(features.others) if features else ()
    parts = {
        "feature_names": names,
        "features": feature_values(features, n) if features else np.empty((n, 0)),
        "feature_steps": _feature_steps(described, matched, names, n, problems),
        "has_feature_costs": "feature_costs.arff" in matched,
        "folds": _folds(folds, n) if folds else None,
        "ground_truth": _ground_truth(truths, n) if truths else None,
    }
    if described is not None and runs is not None and not problems.errors:
        for name in sorted(set(described.algorithms) ^ set(runs.algorithms)) if described.algorithms else ():
            where = "has no runs" if name in described.algorithms else "has runs, but is not described"
            problems.warning(description.FILE, None, "metainfo_algorithms", f"{name!r} {where}")
    return described, runs, parts


class RunColumns(NamedTuple):
    instances: tuple[str, ...]
    algorithms: tuple[str, ...]
    runtimes: Array
    statuses: Codes


def _runs(table: ArffTable, described: Description | None, measured: str) -> RunColumns:
    """Return the runs; without a description, any numeric column will do as the measure."""
    if described is not None:
        missing = math.nan if measured == QUALITY else described.cutoff
        return combined_runs(table, RUN_COLUMNS, described.measures[0], missing, quality=measured == QUALITY)
    kinds = {a.name: a.kind for a in table.attributes if a.name.lower() not in RUN_COLUMNS}
    measure = next((name for name, kind in kinds.items() if kind == "numeric"), "runtime")
    return combined_runs(table, RUN_COLUMNS, measure, missing=1.0)


def combined_runs(
    table: ArffTable, columns: Sequence[str], measure: str, missing: float, *, quality: bool = False
) -> RunColumns:
    """Return the runs, in any order, as full arrays, repetitions combined; note doubles and gaps.

    `columns` are those of instance, repetition, algorithm and status. After an error the arrays are of no
    use, but other files can still be compared with them.
    """
    *positions, value = table.require(*columns, measure)
    places, repetitions = table.texts(positions[0]), table.whole_numbers(positions[1])
    names, statuses = table.texts(positions[2]), table.statuses(positions[3])
    table.check_levels(positions[3])
    seconds = _seconds(table, value, statuses, quality=quality)
    if not table.lines:
        table.problems.error(table.file, None, None, "has no runs")
    instances, algorithms = tuple(sorted(set(places))), tuple(sorted(set(names)))
    n, k = len(instances), len(algorithms)
    cells = arff.codes(places, instances) * k + arff.codes(names, algorithms)
    for row in _doubles(cells, repetitions):
        table.error(row, "repetition", "this instance, repetition and algorithm already had a row")
    lacking = _gaps(cells, n * k)
    for cell in lacking:
        run = f"{shown(algorithms[cell % k])} on {shown(instances[cell // k])}"
        table.error(None, "algorithm", f"no run of {run}")
    if lacking:  # a full table may not even fit into memory: names that are damaged come in great numbers
        return RunColumns(instances, algorithms, np.empty((0, 0)), np.empty((0, 0), dtype=np.int64))
    runtimes = _median(cells, seconds, n * k)
    runtimes[np.isnan(runtimes)] = missing
    modes = _most_frequent(cells, statuses, n * k, len(STATUSES))
    return RunColumns(instances, algorithms, runtimes.reshape(n, k), modes.reshape(n, k))


def _seconds(table: ArffTable, position: int, statuses: Codes, *, quality: bool) -> Array:
    """Return the measure: that of an `ok` run must be known, that of another may be missing."""
    before = len(table.problems.found)
    seconds = table.numbers(position)
    if len(table.problems.found) > before:
        return seconds
    bad = ~(np.isfinite(seconds) & ((seconds >= 0.0) | quality))
    kind = "value" if quality else "time"
    what = "value of an ok run, a finite number" if quality else "seconds of an ok run, a finite number >= 0"
    for row in np.flatnonzero(bad).tolist():
        cell = table.columns[position][row]
        if statuses[row] == 0:
            table.error(row, position, f"expected the {what}, got {shown(cell or '?')}")
        elif cell is not None:
            table.warning(row, position, f"{shown(cell)} is not a {kind}; treated as not recorded")
    return np.where(bad, math.nan, seconds)


@dataclass(frozen=True)
class PerInstance:
    table: ArffTable
    rows: Codes
    """Number of each row's instance, shape (rows,)."""
    others: dict[str, int]
    """Positions of the columns that are neither instance nor repetition, by their names."""


def per_instance(
    table: ArffTable, instances: tuple[str, ...], identity: Sequence[str], *, complete: bool
) -> PerInstance:
    """Return a table's rows matched to the instances of the runs.

    `identity` names the columns of instance and, where there are any, repetition; a `complete` table has a
    row for every instance. Rows of other instances are left out with a warning: nothing can be replayed on
    them.
    """
    positions = table.require(*identity)
    names = table.texts(positions[0])
    repetitions = [table.whole_numbers(position) for position in positions[1:]]
    ones = np.ones(len(names), dtype=np.int64)
    for row in _doubles(arff.codes(names, tuple(set(names))), *(repetitions or [ones])):
        table.error(row, "repetition", "this instance and repetition already had a row")
    rows = arff.codes(names, instances)
    for row in np.flatnonzero(rows < 0).tolist():
        table.warning(row, positions[0], f"{shown(names[row])} has no algorithm runs; the row is left out")
    missing = sorted(set(instances) - set(names))
    if complete:
        for name in missing:
            table.error(None, positions[0], f"no row for instance {shown(name)}")
    elif missing:
        table.warning(None, positions[0], f"{len(missing)} instances have no row")
    others = {a.name: i for i, a in enumerate(table.attributes) if i not in positions}
    kept = rows >= 0
    if not kept.all():
        columns = [list(compress(column, kept)) for column in table.columns]
        table = replace(table, columns=columns, lines=list(compress(table.lines, kept)))
    return PerInstance(table, rows[kept], others)


def feature_values(values: PerInstance, n: int) -> Array:
    """Return the mean of each feature over repetitions, shape (n, d); nan where missing."""
    table = values.table
    result = np.empty((n, len(values.others)))
    for number, position in enumerate(values.others.values()):
        column = table.numbers(position)
        odd = ~np.isfinite(column)
        for row in np.flatnonzero(odd).tolist():  # selectors know no infinite features
            cell = table.columns[position][row]
            if cell is not None and arff.as_number(cell) is not None:
                table.warning(row, position, f"{shown(cell)} is not finite; taken as missing")
        column[odd] = math.nan
        result[:, number] = _mean(values.rows, column, n)
    return result


def _feature_steps(
    described: Description | None,
    tables: dict[str, PerInstance],
    named: Sequence[str],
    n: int,
    problems: Problems,
) -> tuple[FeatureStep, ...]:
    costs_table, status_table = tables.get("feature_costs.arff"), tables.get("feature_runstatus.arff")
    costs = feature_costs(costs_table, n) if costs_table else {}
    if status_table is None:
        problems.warning("feature_runstatus.arff", None, None, "this file is missing")
    statuses = _feature_statuses(status_table, n) if status_table else {}
    steps = list(described.steps) if described else []
    known = {step.name for step in steps}
    if described is not None:
        _compare_steps(steps, costs, statuses, named, problems)
    steps += [description.Step(name, (), (), default=False) for name in costs if name not in known]
    unknown = np.full(n, STATUSES.index("unknown"))
    return tuple(
        FeatureStep(
            name=step.name,
            features=step.provides,
            requires=step.requires,
            costs=costs.get(step.name, np.zeros(n)),
            statuses=statuses.get(step.name, unknown).astype(np.uint8),
            default=step.default,
        )
        for step in steps
    )


def feature_costs(costs: PerInstance, n: int) -> dict[str, Array]:
    """Return the median cost of each step over repetitions, missing ones as 0: name -> shape (n,)."""
    medians = {}
    for name, position in costs.others.items():
        seconds = costs.table.numbers(position)
        for row in np.flatnonzero((seconds < 0.0) | np.isinf(seconds)).tolist():
            cell = costs.table.columns[position][row]
            costs.table.error(row, position, f"expected seconds >= 0 or ?, got {shown(cell)}")
        medians[name] = np.nan_to_num(_median(costs.rows, np.nan_to_num(seconds), n))
    return medians


def _feature_statuses(statuses: PerInstance, n: int) -> dict[str, Codes]:
    """Return the most frequent status of each step over repetitions: name -> shape (n,)."""
    absent = np.bincount(statuses.rows, minlength=n) == 0
    result = {}
    for name, position in statuses.others.items():
        statuses.table.check_levels(position)
        result[name] = _most_frequent(statuses.rows, statuses.table.statuses(position), n, len(STATUSES))
        result[name][absent] = STATUSES.index("unknown")
    return result


def _compare_steps(
    described: list[description.Step],
    costs: dict[str, Array],
    statuses: dict[str, Codes],
    feature_names: Sequence[str],
    problems: Problems,
) -> None:
    """Note steps and features that one file has and another has not."""
    names = {step.name for step in described}
    for file, given in (("feature_costs.arff", costs.keys()), ("feature_runstatus.arff", statuses.keys())):
        for name in sorted(given ^ names) if given else ():
            where = "is not described" if name in given else "is missing"
            problems.warning(file, None, name, f"this feature step {where}")
    provided = {name for step in described for name in step.provides}
    for name in sorted(provided ^ set(feature_names)) if described else ():
        where = "is missing" if name in provided else "is provided by no described step"
        problems.warning("feature_values.arff", None, name, f"this feature {where}")


def _folds(cv: PerInstance, n: int) -> Codes | None:
    """Return each instance's fold in the first repetition, or None if some have none."""
    with suppress(UnusableFileError):
        fold, repetition = cv.table.require("fold", "repetition")
        first = cv.table.whole_numbers(repetition) == 1
        folds = np.zeros(n, dtype=np.int64)
        folds[cv.rows[first]] = cv.table.whole_numbers(fold)[first]
        without = int((folds == 0).sum())
        if not without:
            return folds
        cv.table.warning(None, "fold", f"{without} instances have no fold; folds unused")
    return None


def _ground_truth(truths: PerInstance, n: int) -> dict[str, Array | tuple[str | None, ...]]:
    """Return what is known about the instances' answers: numbers, or texts with None where unknown."""
    result: dict[str, Array | tuple[str | None, ...]] = {}
    table = truths.table
    for name, position in truths.others.items():
        table.check_levels(position)
        if table.attributes[position].kind == "numeric":
            values = np.full(n, math.nan)
            values[truths.rows] = table.numbers(position)
            result[name] = values
        else:
            texts = dict(zip(truths.rows.tolist(), table.columns[position], strict=True))
            result[name] = tuple(map(texts.get, range(n)))
    return result


def _median(cells: Codes, values: Array, n_cells: int) -> Array:
    """Return the median of each cell's values that are not nan, shape (n_cells,); nan without any."""
    known = ~np.isnan(values)
    cells, values = cells[known], values[known]
    order = np.lexsort((values, cells))
    counts = np.bincount(cells, minlength=n_cells)
    starts = np.cumsum(counts) - counts
    found = counts > 0
    ordered = values[order]
    low = ordered[(starts + (counts - 1) // 2)[found]]
    high = ordered[(starts + counts // 2)[found]]
    result = np.full(n_cells, math.nan)
    result[found] = np.where(low == high, low, 0.5 * low + 0.5 * high)  # halves first: no overflow
    return result


def _mean(cells: Codes, values: Array, n_cells: int) -> Array:
    """Return the mean of each cell's values that are not nan, shape (n_cells,); nan without any."""
    result = np.full(n_cells, math.nan)
    if len(cells) == n_cells and np.bincount(cells, minlength=n_cells).max(initial=0) <= 1:
        result[cells] = values
        return result
    known = ~np.isnan(values)
    counts = np.bincount(cells[known], minlength=n_cells)
    # Shares are summed, not values: the sum of two huge values would overflow.
    shares = values[known] / counts[cells[known]]
    found = counts > 0
    result[found] = np.bincount(cells[known], weights=shares, minlength=n_cells)[found]
    return result


def _most_frequent(cells: Codes, values: Codes, n_cells: int, n_values: int) -> Codes:
    """Return the most frequent value of each cell, on a tie the one that came first; 0 without any."""
    pairs = cells * n_values + values
    counts = np.bincount(pairs, minlength=n_cells * n_values)
    first = np.full(n_cells * n_values, len(cells), dtype=np.int64)
    np.minimum.at(first, pairs, np.arange(len(cells)))
    rank = counts * (len(cells) + 1) - first
    return np.asarray(rank.reshape(n_cells, n_values).argmax(axis=1), dtype=np.int64)


def _doubles(cells: Codes, repetitions: Codes) -> list[int]:
    """Return the rows whose cell and repetition an earlier row already had."""
    if len(np.unique(cells)) == len(cells):
        return []
    order = np.lexsort((repetitions, cells))  # stable: within equal pairs, file order
    same = (np.diff(cells[order]) == 0) & (np.diff(repetitions[order]) == 0)
    return sorted(order[1:][same].tolist())


def _gaps(cells: Codes, n_cells: int, at_most: int = 1000) -> list[int]:
    """Return the first cells that no row has, without an array of all cells."""
    missing: list[int] = []
    expected = 0
    for cell in [*np.unique(cells).tolist(), n_cells]:
        missing += range(expected, min(cell, expected + at_most - len(missing)))
        expected = cell + 1
    return missing
