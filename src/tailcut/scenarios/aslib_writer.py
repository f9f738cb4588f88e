"""Writing a scenario as ASlib files, in the form that every ASlib tool reads."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut import state as statefile
from tailcut.errors import InputError, ScenarioError
from tailcut.scenarios.arff import STATUSES
from tailcut.scenarios.aslib_reader import FILES
from tailcut.scenarios.description import yaml_module
from tailcut.scenarios.scenario import Scenario
from tailcut.types import Array

_PLAIN = re.compile(r"[A-Za-z0-9_./:+=*#@()<>^~-]+")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_RUN_ENDS = ("ok", "timeout", "memout", "not_applicable", "crash", "other")
_STEP_ENDS = ("ok", "timeout", "memout", "presolved", "crash", "other", "unknown")


def write(scenario: Scenario, folder: str | os.PathLike[str]) -> None:
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
    steps = scenario.feature_steps
    ends = _levels(_STEP_ENDS, *(step.statuses for step in steps))
    values = zip(scenario.feature_names, scenario.features.T, strict=True)
    tables = {
        "feature_values": [(name, "NUMERIC", numbers(column)) for name, column in values],
        "feature_runstatus": [
            (step.name, ends, [STATUSES[code] for code in step.statuses.tolist()]) for step in steps
        ],
    }
    if scenario.has_feature_costs:
        tables["feature_costs"] = [(step.name, "NUMERIC", numbers(step.costs)) for step in steps]
    if scenario.folds is not None:
        tables["cv"] = [("fold", "NUMERIC", list(map(str, scenario.folds.tolist())))]
    if scenario.ground_truth is not None:
        tables["ground_truth"] = [
            (name, "NUMERIC", numbers(values))
            if isinstance(values, np.ndarray)
            else (name, "STRING", ["?" if value is None else quote(value) for value in values])
            for name, values in scenario.ground_truth.items()
        ]
    files = {"algorithm_runs.arff": _runs(scenario)}
    files |= {f"{table}.arff": _per_instance(scenario, table, columns) for table, columns in tables.items()}
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
    pairs = product(map(quote, scenario.instances), map(quote, scenario.algorithms))
    runs = zip(pairs, scenario.runtimes.ravel().tolist(), scenario.statuses.ravel().tolist(), strict=True)
    rows = (
        (instance, "1", algorithm, repr(seconds), STATUSES[status])
        for (instance, algorithm), seconds, status in runs
    )
    return _arff(f"ALGORITHM_RUNS_{scenario.name}", attributes, rows)


def _per_instance(scenario: Scenario, title: str, columns: list[tuple[str, str, list[str]]]) -> str:
    """Return a table with one row per instance from name, type and cells of each column."""
    identity = [("instance_id", "STRING", [quote(name) for name in scenario.instances])]
    if title != "ground_truth":
        identity.append(("repetition", "NUMERIC", ["1"] * len(scenario.instances)))
    table = [*identity, *columns]
    attributes = [(name, kind) for name, kind, _ in table]
    rows = zip(*(cells for *_, cells in table), strict=True)
    return _arff(f"{title.upper()}_{scenario.name}", attributes, rows)


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
