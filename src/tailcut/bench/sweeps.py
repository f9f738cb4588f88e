"""Named plans: the comparison by default, the sweeps of the paper's appendix, our own selectors varied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tailcut.bench.conditions import Conditions
from tailcut.bench.plan import DEFAULT, PUBLISHED, Contender
from tailcut.catalogue import OFFLINE_PEERS, PEERS
from tailcut.errors import InputError


@dataclass(frozen=True)
class Sweep:
    """One hyperparameter of one selector, over a range of values."""

    selector: str
    parameter: str
    values: tuple[float, ...]
    fixed: tuple[tuple[str, float], ...] = ()

    def contenders(self) -> Iterator[Contender]:
        for value in self.values:
            yield Contender.of(self.selector, **dict(self.fixed), **{self.parameter: value})


def _steps(start: float, stop: float, step: float) -> tuple[float, ...]:
    count = round((stop - start) / step) + 1
    return tuple(float(value) for value in np.round(start + step * np.arange(count), 10))


SWEEPS = (
    Sweep("bj_thompson_rev", "noise_variance", _steps(1.0, 10.0, 0.5)),
    Sweep("bj_thompson_rev", "ridge", _steps(0.05, 1.0, 0.05)),
    Sweep("rand_bclinucb_rev", "noise", _steps(1.0, 10.0, 0.5)),
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


ABLATIONS: dict[str, dict[str, float]] = {
    "as it is": {},
    "no trees: none ever splits": {"min_leaf": 1_000_000},
    "no ridge": {"ridge": 1e9},
    "no empirical Bayes: a fixed prior for the algorithms": {"prior_weight": 1e9},
    "all first runs at once": {"pace": 1e9},
    "repeated runs only by score": {"again": 0.0},
    "no exploration": {"noise_variance": 1e-12},
    "exploration by 0.6 of the posterior deviation": {"noise_variance": 0.36},
    "exploration by the posterior deviation": {"noise_variance": 1.0},
    "10 trees": {"trees": 10},
    "40 trees": {"trees": 40},
    "a memory of 500 instances": {"memory": 500},
}
"""What `tailcut` is worth without one of its parts: what was changed -> the hyperparameters that do it."""

SETTINGS: dict[str, dict[str, tuple[float, ...]]] = {
    "tailcut": {
        "solved_share": (0.15, 0.6),
        "noise_variance": (0.0225, 0.36),  # half and twice the share of the posterior deviation
        "pace": (0.5, 2.0),
        "again": (0.5, 2.0),
        "trees": (10, 40),
        "min_leaf": (1, 4),
        "ridge": (30.0, 300.0),
        "prior_weight": (0.3, 3.0, 1e9),  # 1e9: fixed
        "memory": (1000, 5000),  # no scenario is as long as the default
    },
    "tailcut_schedule": {
        "memory": (1000, 5000),
    },
}
"""Our own selectors: their hyperparameters -> a lower and a higher value than the default, and off.

`tailcut.bench.leave_out` chooses among these."""


MEASURED_FIRST = (0, 10, 25, 50, 100)
"""How many instances the plan `learning` measures first."""

LEARNING = (
    *(Conditions(measure_first=count) for count in MEASURED_FIRST),
    *(Conditions(measure_first=count, measure_cutoff=0.1) for count in (25, 100)),
)


def _under(selectors: Iterable[str], conditions: Iterable[Conditions]) -> tuple[Contender, ...]:
    several = tuple(conditions)
    return tuple(Contender.of(name).under(one) for name in selectors for one in several)


def _one_at_a_time(selector: str) -> Iterator[Contender]:
    """Yield the selector as it is, then with one hyperparameter changed at a time."""
    yield Contender.of(selector)
    for name, values in SETTINGS[selector].items():
        yield from Sweep(selector, name, values).contenders()


@dataclass(frozen=True)
class NamedPlan:
    """Contenders, and the scenarios they are meant for (None: all)."""

    summary: str
    contenders: tuple[Contender, ...]
    scenarios: tuple[str, ...] | None = None


PLANS = {
    "default": NamedPlan(
        "our own, the published table's approaches, two without features, schedules, the hindsight baselines",
        tuple(Contender.of(name) for name in DEFAULT),
    ),
    "published": NamedPlan(
        "the thirteen approaches of the published table and the hindsight baselines",
        tuple(Contender.of(name) for name in (*PUBLISHED, "oracle", "sbs")),
    ),
    "sensitivity": NamedPlan(
        "the five hyperparameter sweeps of the paper's appendix on its six scenarios",
        tuple(contender for sweep in SWEEPS for contender in sweep.contenders()),
        SENSITIVITY_SCENARIOS,
    ),
    "ablation": NamedPlan(
        "tailcut with one part off or changed at a time",
        tuple(Contender.of("tailcut", **changed) for changed in ABLATIONS.values()),
    ),
    "settings": NamedPlan(
        "our own selectors with one hyperparameter lower or higher at a time",
        tuple(contender for selector in SETTINGS for contender in _one_at_a_time(selector)),
    ),
    "learning": NamedPlan(
        "our own selectors, the first instances measured with all algorithms: none, or up to 100",
        _under(SETTINGS, LEARNING),
    ),
    "cv": NamedPlan(
        "our own selectors in cross-validation, with and without learning in the test fold, and three "
        "baselines",
        (
            *_under(SETTINGS, (Conditions(cv=True), Conditions(cv=True, learn_on=True))),
            *_under(("sbs_train", "sbs", "oracle"), (Conditions(cv=True),)),
        ),
    ),
    "peers": NamedPlan(
        "our own and other people's: Vowpal Wabbit, MABWiser, river, scikit-learn, schedules",
        tuple(
            Contender.of(name)
            for name in ("tailcut", "bounded_thompson", *PEERS, "tailcut_schedule", "sbs", "oracle")
        ),
    ),
    "offline": NamedPlan(
        "our own and other people's after fit, in cross-validation: extra trees, pairwise forests",
        (
            *_under((*SETTINGS, "extra_trees", *OFFLINE_PEERS), (Conditions(cv=True),)),
            Contender.of("extra_trees", trees=100).under(Conditions(cv=True)),
            *_under(("sbs_train", "sbs", "oracle"), (Conditions(cv=True),)),
        ),
    ),
}


def find_plan(name: str) -> NamedPlan:
    """Return the plan called `name`, or say which there are."""
    if name not in PLANS:
        raise InputError(f"unknown plan {name!r}; known: {', '.join(PLANS)}")
    return PLANS[name]
