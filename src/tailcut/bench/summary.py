"""From cells to a table: one row per scenario and selector, over its seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from tailcut.bench.labels import kind_of
from tailcut.bench.metrics import ReferenceCosts, normalised, relative


def summarise(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean over seeds of finished cells (rows of `Store.rows`), per scenario and selector.

    kind is 'one pick', 'schedule' or 'hindsight'.
    par10_std is the population deviation over the seeds, as in the published table. repar10 and npar10
    relate the mean to virtual best and single best solver; they are None where these leave nothing to relate
    to. unsolved is a share of the instances, decision_us the mean microseconds to select and learn.
    cpu_seconds is the CPU time of all answers of a stream, over all cores.
    extra_cpu is the CPU time of runs beside the answers, as a share of that of the answers. npar10_train
    has the single best solver of the training folds in place of hindsight's; None without cross-validation.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["error"] is None:
            groups[row["scenario"], row["selector"]].append(row)
    return [_summary(scenario, selector, cells) for (scenario, selector), cells in groups.items()]


def _summary(scenario: str, selector: str, cells: list[dict[str, Any]]) -> dict[str, Any]:
    pars = np.array([cell["par"] for cell in cells])
    reference = ReferenceCosts(cells[0]["vbs"], cells[0]["sbs"])
    mean = float(pars.mean())
    with np.errstate(over="ignore"):  # a damaged file may hold any number
        deviation = float(pars.std())
    answers, extra = (sum(cell[name] or 0.0 for cell in cells) for name in ("answer_cpu", "extra_cpu"))
    trained = [cell["sbs_train"] for cell in cells if cell["sbs_train"] is not None]
    in_training = ReferenceCosts(reference.vbs, float(np.mean(trained))) if trained else None
    return {
        "scenario": scenario,
        "selector": selector,
        "kind": kind_of(selector),
        "seeds": len(cells),
        "par10_mean": mean,
        "par10_std": deviation,
        "repar10": _number(relative(mean, reference)),
        "npar10": _number(normalised(mean, reference)),
        "npar10_train": None if in_training is None else _number(normalised(mean, in_training)),
        "unsolved": float(np.mean([cell["unsolved"] for cell in cells])),
        "decision_us": float(np.mean([cell["decision_us"] for cell in cells])),
        "cpu_seconds": answers / len(cells),
        "extra_cpu": extra / answers if answers else 0.0,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
