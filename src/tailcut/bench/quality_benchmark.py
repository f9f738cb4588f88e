"""Benchmarks on scenarios of solution quality: mean losses, in a table apart from runtimes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.bench.baselines import oracle, single_best
from tailcut.bench.benchmark import under_conditions
from tailcut.bench.conditions import STREAM, Conditions
from tailcut.bench.cross_validation import best_in_training, folds_of
from tailcut.bench.fingerprint import Fingerprint, fingerprint
from tailcut.bench.labels import kind_of
from tailcut.bench.metrics import ReferenceCosts, normalised
from tailcut.bench.origins import describe_run
from tailcut.bench.plan import Contender
from tailcut.bench.quality_replay import RatedTrace, cross_validate_losses, replay_losses
from tailcut.bench.store import opened
from tailcut.bench.sweeps import find_plan
from tailcut.catalogue import BASELINES, find_all, recipe
from tailcut.errors import InputError, MissingExtraError
from tailcut.scenarios import QualityScenario
from tailcut.selector import Selector
from tailcut.types import Array

PICKS = ("oracle", "sbs", "sbs_train")
"""The hindsight baselines that mean something without times."""


def can_be_rated(name: str) -> bool:
    """Return whether a selector or baseline can be judged by losses."""
    return name in PICKS if name in BASELINES else recipe(name).takes_losses


@dataclass(frozen=True)
class QualityBenchmark:
    """Scenarios of solution quality, contenders and seeds."""

    scenarios: tuple[QualityScenario, ...]
    contenders: tuple[Contender, ...]
    seeds: range
    missing: dict[str, str]
    """Contenders of the plan that need what is not installed."""

    def run(self, out: Path, *, command: str = "") -> list[dict[str, Any]]:
        """Compute what the result file `out` lacks, and return a row per scenario and contender."""
        found = []
        with opened(out) as store:
            store.begin_run(describe_run(command))
            for scenario in self.scenarios:
                content = _digest(scenario)
                for contender in self.contenders:
                    code = _code(contender)
                    cells = []
                    for seed in self.seeds:
                        key = _hash(content, contender, seed, code)
                        known = store.quality_rows().get(key)
                        if known is None:
                            known = {"hash": key, **_computed(scenario, contender, seed)}
                            store.add_quality(known)
                        cells.append(known)
                    found.append(_summary(scenario, contender.label, cells))
        return found


def quality_benchmark(
    folder: Path,
    names: Sequence[str],
    *,
    contenders: Sequence[Contender] | None = None,
    plan_name: str = "default",
    seeds: int = 10,
    first_seed: int = 0,
    conditions: Conditions = STREAM,
    folds: int = 0,
) -> QualityBenchmark:
    """Return the benchmark of these scenarios of a folder, ready to run.

    Of a plan only those take part that can minimise a loss; one that the caller names must be able to.
    """
    chosen = under_conditions(contenders or find_plan(plan_name).contenders, conditions, folds)
    if any(one.conditions.runs_extra or one.conditions.cores > 1 for one in chosen):
        raise InputError("scenarios of solution quality know no times: no extra runs, and no races")
    unable = [one.selector for one in chosen if not can_be_rated(one.selector)]
    if contenders and unable:
        able = ", ".join([*(row.name for row in find_all() if row.takes_losses), *PICKS])
        raise InputError(f"{unable[0]} cannot be judged by losses; these can: {able}")
    chosen = tuple(one for one in chosen if one.selector not in unable)
    absent = {one.label: one.missing for one in chosen if one.missing}
    if absent and contenders:
        raise MissingExtraError(" ".join(next(iter(absent.items()))))
    read = tuple(QualityScenario.read(folder / name) for name in names)
    able_here = tuple(one for one in chosen if not one.missing)
    return QualityBenchmark(read, able_here, range(first_seed, first_seed + seeds), absent)


def _computed(scenario: QualityScenario, contender: Contender, seed: int) -> dict[str, Any]:
    ratings = scenario.ratings
    trace = _trace(scenario, ratings, contender, seed)
    rows = np.arange(len(ratings))
    return {
        "scenario": scenario.name,
        "selector": contender.label,
        "seed": seed,
        "loss": float(trace.losses.mean()),
        "best": float(ratings[rows, oracle(ratings)].mean()),
        "single": float(ratings[rows, single_best(ratings)].mean()),
        "decision_us": float(trace.seconds.mean() * 1e6),
    }


def _trace(scenario: QualityScenario, ratings: Array, contender: Contender, seed: int) -> RatedTrace:
    conditions, name = contender.conditions, contender.selector
    folds = folds_of(scenario, conditions.folds, seed) if conditions.cv else None
    if name in BASELINES:
        picks = {"oracle": oracle, "sbs": single_best}
        chosen = picks[name](ratings) if folds is None or name in picks else best_in_training(ratings, folds)
        return RatedTrace(ratings[np.arange(len(ratings)), chosen], np.zeros(len(ratings)))

    def new_selector() -> Selector:
        return Selector(name, scenario.algorithms, scenario.cutoff, seed=seed, **contender.settings())

    if folds is None:
        return replay_losses(scenario, new_selector(), seed=seed)
    return cross_validate_losses(scenario, new_selector, folds, seed=seed, learn_on=conditions.learn_on)


def _summary(scenario: QualityScenario, label: str, cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    losses = np.array([cell["loss"] for cell in cells])
    mean = float(losses.mean())
    share = normalised(mean, ReferenceCosts(cells[0]["best"], cells[0]["single"]))
    return {
        "scenario": scenario.name,
        "measure": scenario.measure,
        "selector": label,
        "kind": kind_of(label),
        "seeds": len(cells),
        "loss_mean": mean,
        "loss_std": float(losses.std()),
        "nloss": round(share, 12) + 0.0 if math.isfinite(share) else None,  # no -0 by the rounding of a mean
        "decision_us": float(np.mean([cell["decision_us"] for cell in cells])),
    }


def _code(contender: Contender) -> Fingerprint:
    row = None if contender.selector in BASELINES else recipe(contender.selector)
    return fingerprint(row, cross_validated=contender.conditions.cv, rated=True)


def _digest(scenario: QualityScenario) -> str:
    """Return the SHA-256 of what a replay sees of a scenario."""
    said = [scenario.name, scenario.maximise, scenario.cutoff, scenario.algorithms]
    digest = hashlib.sha256(json.dumps(said).encode())
    for array in (scenario.features, scenario.values, scenario.folds):
        if array is not None:
            digest.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _hash(content: str, contender: Contender, seed: int, code: Fingerprint) -> str:
    identity = {
        "quality": content,
        "selector": contender.selector,
        "settings": contender.settings(),
        "conditions": asdict(contender.conditions),
        "seed": seed,
        **code._asdict(),
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
