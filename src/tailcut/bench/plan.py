"""The plan: which cells to compute, and the hash that identifies each.

A cell is one selector on one scenario under one seed. Its hash covers all that determines its result: the
scenario's content, the selector, all its hyperparameters and the conditions it is judged under, the seed, the
penalty, the code of its parts and of the replay, and the versions of the libraries they call
(`tailcut.bench.fingerprint`). Equal hash, equal result; so a result is never stale.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tailcut.bench.conditions import STREAM, Conditions
from tailcut.bench.cross_validation import folds_of
from tailcut.bench.fingerprint import Fingerprint, fingerprint
from tailcut.catalogue import BASELINES, recipe
from tailcut.errors import InputError
from tailcut.scenarios import Scenario
from tailcut.types import PENALTY

PUBLISHED = (
    "bj_thompson_rev",
    "bj_thompson",
    "thompson_rev",
    "thompson",
    "rand_bclinucb_rev",
    "bclinucb_rev",
    "rand_bclinucb",
    "bclinucb",
    "rand_blinducb_rev",
    "blinducb_rev",
    "rand_blinducb",
    "blinducb",
    "degroote_epsilon_greedy_lr",
)
"""The thirteen approaches of the published table, in its order."""

DEFAULT = (
    "tailcut",
    "bounded_thompson",
    *PUBLISHED,
    "epsilon_greedy",
    "random",
    "tailcut_schedule",
    "round_robin",
    *(name for name in BASELINES if name != "sbs_train"),
)
"""What a benchmark compares by default: all but the forests, which take hours."""


@dataclass(frozen=True)
class Contender:
    """A selector with its hyperparameters, as `NAME` or `NAME:key=value,key=value`, and its conditions."""

    selector: str
    hyperparameters: tuple[tuple[str, Any], ...] = ()
    conditions: Conditions = STREAM
    """Under which it is judged; of a baseline only cross-validation counts."""

    @staticmethod
    def parse(text: str) -> Contender:
        """Return the contender that `text` names, checked against the catalogue.

        >>> Contender.parse("thompson:noise_variance=2").label
        'thompson:noise_variance=2.0'
        """
        name, _, options = text.partition(":")
        given = {}
        for option in filter(None, options.split(",")):
            key, equals, value = option.partition("=")
            if not equals:
                raise InputError(f"{text!r}: expected key=value after the colon, got {option!r}")
            given[key.strip()] = _value(value.strip())
        return Contender.of(name.strip(), **given)

    @staticmethod
    def parse_label(text: str) -> Contender:
        """Return the contender that `text` names with its conditions, which `parse` does not know.

        >>> Contender.parse_label("tailcut@measure-first=25").conditions.measure_first
        25
        """
        name, _, conditions = text.partition("@")
        return Contender.parse(name).under(Conditions.parse(conditions))

    def under(self, conditions: Conditions) -> Contender:
        """Return the contender under these conditions; a baseline learns nothing, whatever is run for it."""
        if self.selector in BASELINES:
            cores = conditions.cores if self.selector == "sbs" else 1
            conditions = Conditions(cv=conditions.cv, folds=conditions.folds, cores=cores)
        return replace(self, conditions=conditions)

    @staticmethod
    def of(name: str, **given: Any) -> Contender:
        """Return a contender, or say what is wrong with its name or hyperparameters."""
        if name in BASELINES:
            if given:
                raise InputError(f"{name} has no hyperparameters")
            return Contender(name)
        known = recipe(name).settings(given)
        return Contender(name, tuple((key, known[key]) for key in given))

    @property
    def label(self) -> str:
        """The name, with the hyperparameters and conditions that differ from the defaults."""
        options = ",".join(f"{key}={value}" for key, value in self.hyperparameters)
        named = f"{self.selector}:{options}" if options else self.selector
        return f"{named}@{self.conditions.label}" if self.conditions.label else named

    @property
    def missing(self) -> str:
        """What it needs that is not installed, and how to install it; empty if nothing."""
        return "" if self.selector in BASELINES else recipe(self.selector).missing

    def settings(self) -> dict[str, Any]:
        """Return all hyperparameters, defaults included."""
        return (
            {} if self.selector in BASELINES else recipe(self.selector).settings(dict(self.hyperparameters))
        )

    def fingerprint(self) -> Fingerprint:
        """Return the code and libraries that its results depend on."""
        row = None if self.selector in BASELINES else recipe(self.selector)
        conditions = self.conditions
        return fingerprint(
            row,
            cross_validated=conditions.cv,
            runs_extra=conditions.runs_extra,
            raced=conditions.cores > 1,
        )


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@dataclass(frozen=True)
class Cell:
    """One contender on one scenario under one seed."""

    folder: str
    """Where the scenario is read from."""
    scenario: str
    """Its name."""
    contender: Contender
    seed: int
    penalty: float
    hash: str
    """Identifies everything that determines the result."""
    steps: int
    """Instances to serve, for the progress bar."""


def plan(
    scenarios: Sequence[tuple[str, Scenario]],
    contenders: Iterable[Contender],
    seeds: int,
    penalty: float = PENALTY,
    *,
    first_seed: int = 0,
) -> list[Cell]:
    """Return all cells, scenario by scenario; `scenarios` pairs each with the folder it came from.

    The seeds are `first_seed`, `first_seed + 1`, ..., as many as `seeds` says.
    """
    chosen = {contender: contender.fingerprint() for contender in contenders}
    for contender in chosen:
        _check_conditions(contender)
    cells = []
    for folder, scenario in scenarios:
        content = scenario_digest(scenario)
        for contender, code in chosen.items():
            for seed in range(first_seed, first_seed + seeds):
                name, steps = scenario.name, len(scenario.instances)
                judged = _judged(contender.conditions, scenario, seed)
                key = _hash(content, contender, judged, seed, penalty, code)
                cells.append(Cell(folder, name, contender, seed, penalty, key, steps))
    return cells


def _check_conditions(contender: Contender) -> None:
    """Raise if a contender cannot run under its conditions."""
    if contender.selector == "sbs_train" and not contender.conditions.cv:
        raise InputError("sbs_train is the best of the training folds: it needs cross-validation")


def _judged(conditions: Conditions, scenario: Scenario, seed: int) -> dict[str, Any]:
    """Return how a contender is judged, as plain values: of folds, which instances are in which."""
    if not conditions.cv:
        return {name: value for name, value in asdict(conditions).items() if (name, value) != ("cores", 1)}
    folds = folds_of(scenario, conditions.folds, seed)
    digest = hashlib.sha256(np.ascontiguousarray(folds, dtype=np.int64).tobytes()).hexdigest()
    return {**asdict(conditions), "folds": digest}


def _hash(
    content: str,
    contender: Contender,
    judged: dict[str, Any],
    seed: int,
    penalty: float,
    code: Fingerprint,
) -> str:
    identity = {
        "scenario": content,
        "selector": contender.selector,
        "settings": contender.settings(),
        "conditions": judged,
        "seed": seed,
        "penalty": penalty,
        **code._asdict(),
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def scenario_digest(scenario: Scenario) -> str:
    """Return the SHA-256 of what a replay sees of a scenario."""
    digest = hashlib.sha256(json.dumps([scenario.name, scenario.cutoff, scenario.algorithms]).encode())
    for array in (scenario.features, scenario.runtimes, scenario.solved, scenario.feature_cost):
        digest.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
