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
    return {
        "scenario": scenario,
        "selector": selector,
        "kind": kind_of(selector),
        "seeds": len(cells),
        "par10_mean": mean,
        "par10_std": float(pars.std()),
        "repar10": _number(relative(mean, reference)),
        "npar10": _number(normalised(mean, reference)),
        "unsolved": float(np.mean([cell["unsolved"] for cell in cells])),
        "decision_us": float(np.mean([cell["decision_us"] for cell in cells])),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
