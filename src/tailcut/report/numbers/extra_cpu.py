"""What extra CPU time gains: nPARk of the answers against the time of all extra runs.

A curve is one selector with more and more measured first; it starts where nothing is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tailcut.bench.conditions import Conditions
from tailcut.bench.labels import conditions_of
from tailcut.report.numbers.standings import MetricGrid


@dataclass(frozen=True)
class CpuPoint:
    """One selector under one condition, mean over the scenarios of all curves."""

    selector: str
    amount: float
    """Instances measured first: what the point is labelled by."""
    extra: float
    """CPU time of other runs, as a share of that of the answers."""
    npar: float


@dataclass(frozen=True)
class CpuCurve:
    """One selector under more and more of one condition."""

    selector: str
    how: str
    """What there is more and more of."""
    scenarios: int
    points: tuple[CpuPoint, ...]
    """By amount, from 0 on."""


def cpu_curves(grids: Mapping[str, MetricGrid]) -> list[CpuCurve]:
    """Return the curves that the results have, all over the scenarios that have every point of them."""
    npar, extra = grids["npar"], grids["extra_cpu"]
    place = {label: j for j, label in enumerate(npar.selectors)}
    groups: dict[tuple[str, str], dict[float, str]] = {}
    for label in npar.selectors:
        how, amount = _amount(Conditions.parse(conditions_of(label)))
        base = label.partition("@")[0]
        if how and base in place:
            groups.setdefault((base, how), {0.0: base})[amount] = label
    shown = sorted({place[label] for labels in groups.values() for label in labels.values()})
    common = np.isfinite(npar.mean[:, shown]).all(axis=1)
    if not groups or not common.any():
        return []
    mean_npar, mean_extra = npar.mean[common].mean(axis=0), extra.mean[common].mean(axis=0)
    return [
        CpuCurve(
            selector=base,
            how=how,
            scenarios=int(common.sum()),
            points=tuple(
                CpuPoint(label, amount, float(mean_extra[place[label]]), float(mean_npar[place[label]]))
                for amount, label in sorted(labels.items())
            ),
        )
        for (base, how), labels in groups.items()
    ]


def _amount(conditions: Conditions) -> tuple[str, float]:
    """Return what a selector has more of than usual, and how much; nothing if it is not one thing.

    >>> _amount(Conditions(measure_first=25, measure_cutoff=0.1))
    ('measured first for 0.1 of the cutoff', 25.0)
    >>> _amount(Conditions(cv=True))
    ('', 0.0)
    """
    if conditions.measure_first:
        limit = conditions.measure_cutoff
        how = "measured first" if limit == 1.0 else f"measured first for {limit:g} of the cutoff"
        return how, float(conditions.measure_first)
    return "", 0.0
