"""The plan: which cells to compute, and the hash that identifies each.

A cell is one selector on one scenario under one seed. Its hash covers all that determines its result: the
scenario's content, the selector, all its hyperparameters and the conditions it is judged under, the seed, the
penalty, the code (`fingerprint`), and the versions of the libraries it calls. Equal hash, equal result; so a
result is never stale.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from tailcut.bench.labels import STREAM, Conditions
from tailcut.bench.replay import folds_of
from tailcut.catalogue import BASELINES, parse_selector, recipe
from tailcut.errors import InputError
from tailcut.policies.recipes import Row
from tailcut.scenarios import QualityScenario, Scenario
from tailcut.types import PENALTY

DECIDING = (
    *("selector", "catalogue", "types", "numerics", "representation", "models", "policies", "schedules"),
    *("peers", "bench/replay", "bench/baselines", "bench/fixed_schedules", "bench/summary"),
)
"""The modules and folders of this package whose code decides, learns and measures."""


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
        name, given = parse_selector(text)
        return Contender.of(name, **given)

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
        """Return a selector with these hyperparameters."""
        if name in BASELINES:
            if given:
                raise InputError(f"{name} has no hyperparameters")
            return Contender(name)
        settings = recipe(name).settings(given)
        return Contender(name, tuple((key, settings[key]) for key in given))

    @property
    def label(self) -> str:
        """The name, with the hyperparameters and conditions that differ from the defaults."""
        options = ",".join(f"{key}={value}" for key, value in self.hyperparameters)
        named = f"{self.selector}:{options}" if options else self.selector
        return f"{named}@{self.conditions.label}" if self.conditions.label else named

    @property
    def row(self) -> Row | None:
        """Its row of the catalogue; None for a hindsight baseline."""
        return None if self.selector in BASELINES else recipe(self.selector)

    @property
    def missing(self) -> str:
        """What it needs that is not installed, and how to install it; empty if nothing."""
        return "" if self.row is None else self.row.missing

    def settings(self, penalty: float = PENALTY) -> dict[str, Any]:
        """Return all hyperparameters, defaults included, where timeouts count `penalty` cutoffs.

        >>> Contender.of("tailcut_schedule").settings(2)["penalty"]
        2.0
        """
        if self.row is None:
            return {}
        judged = {"penalty": penalty} if "penalty" in self.row.settings({}) else {}
        return self.row.settings({**judged, **dict(self.hyperparameters)})


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
    scenarios: Sequence[tuple[str, Scenario | QualityScenario]],
    contenders: Iterable[Contender],
    seeds: int,
    penalty: float = PENALTY,
    *,
    first_seed: int = 0,
) -> list[Cell]:
    """Return all cells, scenario by scenario; `scenarios` pairs each with the folder it came from."""
    codes = {contender: fingerprint(contender.row) for contender in contenders}
    for contender in codes:
        if contender.selector == "sbs_train" and not contender.conditions.cv:
            raise InputError("sbs_train is the best of the training folds: it needs cross-validation")
    cells = []
    for folder, scenario in scenarios:
        content = scenario_digest(scenario)
        for contender, code in codes.items():
            for seed in range(first_seed, first_seed + seeds):
                identity = {
                    "scenario": content,
                    "selector": contender.selector,
                    "settings": contender.settings(penalty),
                    "conditions": _judged(contender.conditions, scenario, seed),
                    "seed": seed,
                    "penalty": penalty,
                    **code._asdict(),
                }
                key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
                steps = len(scenario.instances)
                cells.append(Cell(folder, scenario.name, contender, seed, penalty, key, steps))
    return cells


def _judged(conditions: Conditions, scenario: Scenario | QualityScenario, seed: int) -> dict[str, Any]:
    """Return how a contender is judged, as plain values: of folds, which instances are in which."""
    if not conditions.cv:
        return asdict(conditions)
    folds = folds_of(scenario, conditions.folds, seed)
    digest = hashlib.sha256(np.ascontiguousarray(folds, dtype=np.int64).tobytes()).hexdigest()
    return {**asdict(conditions), "folds": digest}


def scenario_digest(scenario: Scenario | QualityScenario) -> str:
    """Return the SHA-256 of what a replay sees of a scenario."""
    digest = hashlib.sha256(json.dumps([scenario.name, scenario.cutoff, scenario.algorithms]).encode())
    costs = scenario.ratings if isinstance(scenario, QualityScenario) else scenario.feature_cost
    for array in (scenario.features, scenario.runtimes, scenario.solved, costs):
        digest.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class Fingerprint(NamedTuple):
    """What determines the result of a selector in addition to its input."""

    code: str
    """Hash of the source of everything that decides, learns and measures."""
    libraries: dict[str, str]
    """Version of Python, Tailcut, and each library that this code imports."""


def fingerprint(row: Row | None) -> Fingerprint:
    """Return the fingerprint of a row of the catalogue; None: of a hindsight baseline.

    It covers the `DECIDING` source of this package and, of parts from outside, the source of their modules
    and of those they import, as far as these are no installed libraries. What they import by a computed name
    is not seen. A part without source, typed into an interactive session for example, never equals any other:
    its results are never reused.
    """
    slots = [] if row is None else [getattr(row, field.name) for field in fields(row)]
    roots = {part.__module__ for slot in slots for part in _parts(slot)} | (
        {type(row).__module__} if row else set()
    )
    own = {root.partition(".")[0] for root in roots}
    libraries = {"tailcut", "numpy", "scipy", *(row.libraries if row else ())}
    digest = hashlib.sha256(_deciding_source())
    digest.update(repr([*map(_described, slots)]).encode())
    waiting, seen = sorted(roots), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        file = _file_of(name)
        if file is None:
            digest.update(uuid4().bytes if name in roots else b"")
            continue
        if not name.startswith("tailcut."):
            digest.update(file.read_bytes())
        for imported in _imports(file, name, file.stat().st_mtime_ns):
            top = imported.partition(".")[0]
            if top == "tailcut" or top in sys.stdlib_module_names:
                continue
            if top in own or not _is_library(top):
                waiting.append(imported)
            else:
                libraries.add(top)
    python = ".".join(map(str, sys.version_info[:2]))
    return Fingerprint(
        digest.hexdigest(), {"python": python, **{name: version_of(name) for name in sorted(libraries)}}
    )


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, partial):
        for inner in (value.func, *value.args, *value.keywords.values()):
            yield from _parts(inner)
    elif callable(value):
        yield value if isinstance(value, type) or inspect.isroutine(value) else type(value)


def _described(value: Any) -> str:
    """Return what fills a slot of a row, in words that are the same in every process."""
    if isinstance(value, partial):
        named = {key: _described(given) for key, given in value.keywords.items()}
        return f"{_described(value.func)}({[*map(_described, value.args)]}, {named})"
    return str(getattr(value, "__qualname__", "") or (type(value) if callable(value) else repr(value)))


@lru_cache
def _deciding_source() -> bytes:
    """Return the hash of the `DECIDING` source, that of the compiled kernels included."""
    root = Path(__file__).parents[1]
    patterns = [
        f"{name}{rest}" for name in DECIDING for rest in (".py", "/**/*.py", "/**/*.pyx", "/**/*.pxd")
    ]
    digest = hashlib.sha256()
    for file in sorted(file for pattern in patterns for file in root.glob(pattern)):
        digest.update(file.relative_to(root).as_posix().encode() + file.read_bytes())
    return digest.digest()


def _file_of(name: str) -> Path | None:
    """Return the file of a module, loaded or not; None if it has none or there is no such module."""
    try:
        spec = None if name in sys.modules else importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    file = spec.origin if spec else getattr(sys.modules.get(name), "__file__", None)
    return Path(file) if file and Path(file).is_file() else None


@lru_cache(maxsize=512)
def _imports(file: Path, name: str, _changed: int) -> tuple[str, ...]:
    """Return the modules that a source file imports, and its submodules among the names it imports."""
    if file.suffix != ".py":
        return ()
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    found = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            found += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return tuple(found)


@lru_cache
def _is_library(top: str) -> bool:
    """Return whether a module is installed, perhaps in another environment, rather than one's own file."""
    file = _file_of(top)
    return file is None or not {"site-packages", "dist-packages"}.isdisjoint(file.resolve().parts)


@lru_cache
def version_of(library: str) -> str:
    """Return the version of an installed library, by the name of its package or of its distribution."""
    try:
        return version(library)
    except PackageNotFoundError:
        return " ".join(version(name) for name in packages_distributions().get(library, [])) or "unknown"
