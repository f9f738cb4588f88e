"""Named plans: the comparison by default, and the hyperparameter sweeps of the paper's appendix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tailcut.bench.plan import DEFAULT, PUBLISHED, Contender


@dataclass(frozen=True)
class Sweep:
    """One hyperparameter of one selector, over a range of values."""

    selector: str
    parameter: str
    values: tuple[float, ...]
    fixed: tuple[tuple[str, float], ...] = ()

    def contenders(self) -> Iterator[Contender]:
        """Yield the selector once per value."""
        for value in self.values:
            yield Contender.of(self.selector, **dict(self.fixed), **{self.parameter: value})


def _steps(start: float, stop: float, step: float) -> tuple[float, ...]:
    count = round((stop - start) / step) + 1
    return tuple(float(value) for value in np.round(start + step * np.arange(count), 10))


SWEEPS = (
    Sweep("bj_thompson_rev", "sigma", _steps(1.0, 10.0, 0.5)),
    Sweep("bj_thompson_rev", "ridge", _steps(0.05, 1.0, 0.05)),
    Sweep("rand_bclinucb_rev", "sigma", _steps(1.0, 10.0, 0.5)),
    Sweep("rand_bclinucb_rev", "alpha", _steps(0.1, 2.0, 0.1)),
    Sweep("rand_bclinucb_rev", "rand_sigma", _steps(0.025, 0.525, 0.025)),
)
"""The five sweeps of the paper's sensitivity analysis."""

SENSITIVITY_SCENARIOS = (
    "ASP-POTASSCO",
    "CPMP-2015",
    "CSP-MZN-2013",
    "MAXSAT12-PMS",
    "QBF-2011",
    "SAT11-RAND",
)
"""The scenarios of the paper's sensitivity analysis."""


@dataclass(frozen=True)
class NamedPlan:
    """Contenders, and the scenarios they are meant for (None: all)."""

    summary: str
    contenders: tuple[Contender, ...]
    scenarios: tuple[str, ...] | None = None


PLANS = {
    "default": NamedPlan(
        "our own, the published table's approaches, two without features, a schedule, the hindsight lines",
        tuple(Contender.of(name) for name in DEFAULT),
    ),
    "published": NamedPlan(
        "the thirteen approaches of the published table and the hindsight lines",
        tuple(Contender.of(name) for name in (*PUBLISHED, "oracle", "sbs")),
    ),
    "sensitivity": NamedPlan(
        "the five hyperparameter sweeps of the paper's appendix on its six scenarios",
        tuple(contender for sweep in SWEEPS for contender in sweep.contenders()),
        SENSITIVITY_SCENARIOS,
    ),
}
