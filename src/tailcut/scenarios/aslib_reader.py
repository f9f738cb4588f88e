"""Reading a scenario's folder: the files, one by one, into arrays; reading and checking share this code."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.errors import ScenarioError
from tailcut.scenarios import arff, description, run_table, tables
from tailcut.scenarios import cache as scenario_cache
from tailcut.scenarios.columns import STATUSES, Codes
from tailcut.scenarios.description import Description
from tailcut.scenarios.problems import Problem, Problems
from tailcut.scenarios.scenario import FeatureStep, Scenario
from tailcut.scenarios.tables import PerInstance
from tailcut.types import Array

REQUIRED = ("description.txt", "algorithm_runs.arff", "feature_values.arff")
OPTIONAL = ("feature_runstatus.arff", "feature_costs.arff", "cv.arff", "ground_truth.arff")
FILES = (*REQUIRED, *OPTIONAL)
RUNTIME, QUALITY = "runtime", "solution_quality"
"""The types of performance measures."""
_WANTED = {
    RUNTIME: "expected a runtime. QualityScenario.read reads it; `tailcut bench --scenario NAME` runs it",
    QUALITY: "expected a solution_quality. Scenario.read reads runtimes",
}


def read(path: str | os.PathLike[str], *, cache: bool = True) -> Scenario:
    """Return the scenario in the folder `path`, or raise `ScenarioError` with the first thing wrong."""
    folder = Path(path)
    files = load(folder)
    if cache:
        key = scenario_cache.key(files)
        known = scenario_cache.get(key)
        if known is not None:
            return known
    problems = Problems()
    scenario = build(files, problems)
    problems.raise_if_any(str(folder))
    if scenario is None:  # cannot be: nothing is given up without an error
        raise ScenarioError(f"{folder}: cannot be read")
    if cache:
        scenario_cache.put(key, scenario)
    return scenario


def check_scenario(path: str | os.PathLike[str]) -> list[Problem]:
    """Return every problem of the scenario in the folder `path`, errors first.

    Without an error in the list the scenario can be read; with one it cannot.

    >>> [problem.severity for problem in check_scenario("no/such/folder")]
    ['error']
    """
    folder = Path(path)
    try:
        files = load(folder)
    except ScenarioError as error:
        return [Problem(folder.name, None, None, str(error))]
    problems = Problems()
    build(files, problems)
    return sorted(problems.found, key=lambda problem: problem.severity)


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
    described, runs, parts = gather(files, RUNTIME, problems)
    if described is None or runs is None or problems.errors:
        return None
    return Scenario(
        name=described.name,
        cutoff=described.cutoff,
        instances=runs.instances,
        algorithms=runs.algorithms,
        runtimes=runs.runtimes,
        solved=(runs.statuses == 0) & (runs.runtimes <= described.cutoff),
        statuses=runs.statuses.astype(np.uint8),
        **parts,
    )


def gather(
    files: dict[str, bytes], measured: str, problems: Problems
) -> tuple[Description | None, run_table.RunColumns | None, dict[str, Any]]:
    """Return what the files hold of a scenario whose first measure is of the type `measured`."""
    for name in REQUIRED:
        if name not in files:
            problems.error(name, None, None, "this file is missing")
    described = _description(files, measured, problems)
    parsed = {
        name: arff.parse(data, name, problems) for name, data in files.items() if name.endswith(".arff")
    }
    found = {name: table for name, table in parsed.items() if table is not None}
    runs_table = found.pop("algorithm_runs.arff", None)
    runs = None if runs_table is None else _runs(described, runs_table, measured, problems)
    numbering = _numbering(runs, found)
    matched = _matched(found, numbering, problems)
    parts = _parts(described or _UNDESCRIBED, matched, max(1, len(numbering)), problems)
    if described is not None and runs is not None and not problems.errors:
        _compare_algorithms(described, runs, problems)
    return described, runs, parts


def _description(files: dict[str, bytes], measured: str, problems: Problems) -> Description | None:
    """Return the description if its first measure is of the right type."""
    if description.FILE not in files:
        return None
    found = description.parse(files[description.FILE], problems)
    if found is None:
        return None
    if found.types[0] != measured:
        problems.not_runtime = measured == RUNTIME
        problems.error(
            description.FILE,
            found.lines["performance_type"],
            "performance_type",
            f"the first measure, {found.measures[0]}, is of type {found.types[0]}; " + _WANTED[measured],
        )
        return None
    if measured == QUALITY:
        return found
    if not 0.0 < found.cutoff < math.inf:
        problems.error(
            description.FILE,
            found.lines["algorithm_cutoff_time"],
            "algorithm_cutoff_time",
            f"expected a finite number of seconds > 0, got {found.cutoff:g}",
        )
        return None
    return found


_UNDESCRIBED = Description("", (), (), 1.0, (), ())


def _runs(
    described: Description | None, table: arff.ArffTable, measured: str, problems: Problems
) -> run_table.RunColumns | None:
    """Return the runs; without a description any column will do as the measure, to check the others."""
    if described is not None:
        missing = described.cutoff if measured == RUNTIME else math.nan
        return run_table.runs(table, described.measures[0], missing, problems, any_sign=measured == QUALITY)
    known = {"instance_id", "repetition", "algorithm", "runstatus"}
    measures = [a.name for a in table.attributes if a.name.lower() not in known and a.kind == "numeric"]
    return run_table.runs(table, measures[0] if measures else "runtime", 1.0, problems)


def _numbering(runs: run_table.RunColumns | None, found: dict[str, arff.ArffTable]) -> dict[str, int]:
    """Return the number of each instance; without runs, those of the features, to check the others."""
    if runs is not None:
        return tables.number_of(runs.instances)
    features = found.get("feature_values.arff")
    position = None if features is None else features.find("instance_id")
    if features is None or position is None:
        return {}
    return tables.number_of(tuple({name: None for name in features.columns[position] if name}))


def _matched(
    found: dict[str, arff.ArffTable], numbering: dict[str, int], problems: Problems
) -> dict[str, PerInstance]:
    """Return the tables that have a row per instance."""
    if not numbering:
        return {}
    matched = {
        name: tables.per_instance(
            table,
            numbering,
            problems,
            all_needed=name == "feature_values.arff",
            repetition=name != "ground_truth.arff",
        )
        for name, table in found.items()
    }
    return {name: match for name, match in matched.items() if match is not None}


def _parts(
    described: Description, matched: dict[str, PerInstance], n: int, problems: Problems
) -> dict[str, Any]:
    """Return the fields of the scenario that come from tables with a row per instance."""
    features, folds = matched.get("feature_values.arff"), matched.get("cv.arff")
    truths = matched.get("ground_truth.arff")
    names = features.names if features else ()
    total, steps = _feature_steps(described, matched, names, n, problems)
    return {
        "feature_names": names,
        "features": tables.feature_values(features, n, problems) if features else np.empty((n, 0)),
        "feature_cost": total,
        "feature_steps": steps,
        "has_feature_costs": "feature_costs.arff" in matched,
        "folds": tables.folds(folds, n, problems) if folds else None,
        "ground_truth": tables.ground_truth(truths, n, problems) if truths else None,
    }


def _compare_algorithms(described: Description, runs: run_table.RunColumns, problems: Problems) -> None:
    for name in sorted(set(described.algorithms) ^ set(runs.algorithms)) if described.algorithms else ():
        where = "has no runs" if name in described.algorithms else "has runs, but is not described"
        problems.warning(description.FILE, None, "metainfo_algorithms", f"{name!r} {where}")


def _feature_steps(
    described: Description,
    optional: dict[str, PerInstance],
    feature_names: tuple[str, ...],
    n: int,
    problems: Problems,
) -> tuple[Array, tuple[FeatureStep, ...]]:
    """Return the total cost of each instance, and the steps, those described first."""
    costs_table, status_table = optional.get("feature_costs.arff"), optional.get("feature_runstatus.arff")
    costs = tables.feature_costs(costs_table, n, problems) if costs_table else {}
    if status_table is None:
        problems.warning("feature_runstatus.arff", None, None, "this file is missing")
    statuses = tables.feature_statuses(status_table, n, problems) if status_table else {}
    by_name = {step.name: step for step in described.steps}
    unknown = np.full(n, STATUSES.index("unknown"))
    names = [*by_name, *(name for name in costs if name not in by_name)]
    if described is not _UNDESCRIBED:
        _compare_steps(by_name, costs, statuses, feature_names, problems)
    steps = tuple(
        FeatureStep(
            name=name,
            features=by_name[name].provides if name in by_name else (),
            requires=by_name[name].requires if name in by_name else (),
            costs=costs.get(name, np.zeros(n)),
            statuses=statuses.get(name, unknown).astype(np.uint8),
            default=by_name[name].default if name in by_name else False,
        )
        for name in names
    )
    total = np.zeros(n)
    for step in steps:
        total += step.costs
    return total, steps


def _compare_steps(
    described: dict[str, description.Step],
    costs: dict[str, Array],
    statuses: dict[str, Codes],
    feature_names: tuple[str, ...],
    problems: Problems,
) -> None:
    """Note steps and features that one file has and another has not."""
    for file, given in (("feature_costs.arff", costs.keys()), ("feature_runstatus.arff", statuses.keys())):
        for name in sorted(given ^ described.keys()) if given else ():
            where = "is not described" if name in given else "is missing"
            problems.warning(file, None, name, f"this feature step {where}")
    provided = {name for step in described.values() for name in step.provides}
    for name in sorted(provided ^ set(feature_names)) if described else ():
        where = "is missing" if name in provided else "is provided by no described step"
        problems.warning("feature_values.arff", None, name, f"this feature {where}")
