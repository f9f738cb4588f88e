"""Writing a scenario as ASlib files, in the form that every ASlib tool reads."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut import state as statefile
from tailcut.errors import InputError, ScenarioError
from tailcut.scenarios.aslib_reader import FILES
from tailcut.scenarios.columns import STATUSES
from tailcut.scenarios.scenario import Scenario
from tailcut.scenarios.yamltree import yaml_module
from tailcut.types import Array

_PLAIN = re.compile(r"[A-Za-z0-9_./:+=*#@()<>^~-]+")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_RUN_ENDS = ("ok", "timeout", "memout", "not_applicable", "crash", "other")
_STEP_ENDS = ("ok", "timeout", "memout", "presolved", "crash", "other", "unknown")


def write(scenario: Scenario, folder: str | os.PathLike[str]) -> None:
    """Write the scenario's files into `folder`, which must not hold a scenario yet."""
    target = Path(folder)
    files = documents(scenario)
    try:
        encoded = {name: text.encode() for name, text in files.items()}
    except UnicodeEncodeError as error:
        raise InputError(f"a name holds {error.object[error.start]!r}, which no file can hold") from None
    try:
        target.mkdir(parents=True, exist_ok=True)
        taken = [name for name in FILES if (target / name).exists()]
        if taken:
            raise InputError(f"{target} already holds {taken[0]}; nothing was written")
        for name, data in encoded.items():
            statefile.write(target / name, data)
    except OSError as error:
        raise ScenarioError(f"{target}: cannot be written: {error.strerror or error}") from None


def documents(scenario: Scenario) -> dict[str, str]:
    """Return the text of each file, by name."""
    files = {
        "algorithm_runs.arff": _runs(scenario),
        "feature_values.arff": _values(scenario),
        "feature_runstatus.arff": _per_step(
            scenario,
            "FEATURE_RUNSTATUS",
            _levels(_STEP_ENDS, *(step.statuses for step in scenario.feature_steps)),
            [[STATUSES[code] for code in step.statuses.tolist()] for step in scenario.feature_steps],
        ),
    }
    if scenario.has_feature_costs:
        costs = [numbers(step.costs) for step in scenario.feature_steps]
        files["feature_costs.arff"] = _per_step(scenario, "FEATURE_COSTS", "NUMERIC", costs)
    if scenario.folds is not None:
        files["cv.arff"] = _per_instance(
            scenario, "CV", [("fold", "NUMERIC")], [[str(fold) for fold in scenario.folds.tolist()]]
        )
    if scenario.ground_truth is not None:
        files["ground_truth.arff"] = _truths(scenario)
    files["description.txt"] = _description(scenario)  # last: without it there is no scenario yet
    return files


def quote(text: str) -> str:
    r"""Return a text as an ARFF value, quoted where it has to be.

    >>> print(quote("plain-name"), quote("it's 5%, or so"), quote("?"))
    plain-name 'it\'s 5%, or so' '?'
    """
    if _PLAIN.fullmatch(text):
        return text
    return "'" + "".join(_ESCAPES.get(letter, letter) for letter in text) + "'"


def numbers(values: Array) -> list[str]:
    """Return numbers as ARFF values that read back as the same numbers."""
    return ["?" if math.isnan(value) else repr(value) for value in values.tolist()]


def _arff(relation: str, attributes: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    header = [f"@RELATION {quote(relation)}", ""]
    header += [f"@ATTRIBUTE {quote(name)} {kind}" for name, kind in attributes]
    return "\n".join([*header, "", "@DATA", *map(",".join, rows), ""])


def _levels(usual: tuple[str, ...], *statuses: NDArray[np.uint8]) -> str:
    """Return the type of a status column: ASlib's usual values, and others that occur."""
    used = {STATUSES[code] for array in statuses for code in np.unique(array).tolist()}
    return "{" + ", ".join([*usual, *sorted(used - set(usual))]) + "}"


def _runs(scenario: Scenario) -> str:
    attributes = [
        ("instance_id", "STRING"),
        ("repetition", "NUMERIC"),
        ("algorithm", "STRING"),
        ("runtime", "NUMERIC"),
        ("runstatus", _levels(_RUN_ENDS, scenario.statuses)),
    ]
    algorithms = [quote(name) for name in scenario.algorithms]
    rows = (
        (instance, "1", algorithm, repr(seconds), STATUSES[status])
        for instance, times, ends in zip(
            map(quote, scenario.instances),
            scenario.runtimes.tolist(),
            scenario.statuses.tolist(),
            strict=True,
        )
        for algorithm, seconds, status in zip(algorithms, times, ends, strict=True)
    )
    return _arff(f"ALGORITHM_RUNS_{scenario.name}", attributes, rows)


def _values(scenario: Scenario) -> str:
    attributes = [(name, "NUMERIC") for name in scenario.feature_names]
    columns = [numbers(column) for column in scenario.features.T]
    return _per_instance(scenario, "FEATURE_VALUES", attributes, columns)


def _per_step(scenario: Scenario, title: str, kind: str, columns: list[list[str]]) -> str:
    return _per_instance(scenario, title, [(step.name, kind) for step in scenario.feature_steps], columns)


def _per_instance(
    scenario: Scenario, title: str, attributes: Sequence[tuple[str, str]], columns: Sequence[Sequence[str]]
) -> str:
    instances = [quote(name) for name in scenario.instances]
    rows = zip(instances, ["1"] * len(instances), *columns, strict=True)
    identity = [("instance_id", "STRING"), ("repetition", "NUMERIC")]
    return _arff(f"{title}_{scenario.name}", [*identity, *attributes], rows)


def _truths(scenario: Scenario) -> str:
    truths = scenario.ground_truth or {}
    attributes = [("instance_id", "STRING")]
    columns: list[list[str]] = [[quote(name) for name in scenario.instances]]
    for name, values in truths.items():
        attributes.append((name, "NUMERIC" if isinstance(values, np.ndarray) else "STRING"))
        if isinstance(values, np.ndarray):
            columns.append(numbers(values))
        else:
            columns.append(["?" if value is None else quote(value) for value in values])
    return _arff(f"GROUND_TRUTH_{scenario.name}", attributes, zip(*columns, strict=True))


def _description(scenario: Scenario) -> str:
    fields: dict[str, Any] = {
        "scenario_id": scenario.name,
        "performance_measures": ["runtime"],
        "maximize": [False],
        "performance_type": ["runtime"],
        "algorithm_cutoff_time": scenario.cutoff,
        "algorithm_cutoff_memory": "?",
        "features_cutoff_time": "?",
        "features_cutoff_memory": "?",
        "features_deterministic": list(scenario.feature_names),
        "features_stochastic": [],
        "metainfo_algorithms": {
            name: {"configuration": "", "deterministic": True} for name in scenario.algorithms
        },
        "number_of_feature_steps": len(scenario.feature_steps),
        "default_steps": [step.name for step in scenario.feature_steps if step.default],
        "feature_steps": {
            step.name: {"provides": list(step.features), "requires": list(step.requires)}
            for step in scenario.feature_steps
        },
    }
    yaml = yaml_module()
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(fields, Dumper=dumper, sort_keys=False, allow_unicode=True, width=2**20)
    return text
