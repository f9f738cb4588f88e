"""Named plans, as plans.toml has them: the comparison by default, the sweeps of the paper, and others."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

from tailcut.errors import InputError

if TYPE_CHECKING:
    from tailcut.bench.plan import Contender


@dataclass(frozen=True)
class Sweep:
    """One hyperparameter of one selector, over a range of values."""

    selector: str
    parameter: str
    values: tuple[float, ...]

    def contenders(self) -> tuple[Contender, ...]:
        from tailcut.bench.plan import Contender  # slow to import

        return tuple(Contender.of(self.selector, **{self.parameter: value}) for value in self.values)


@dataclass(frozen=True)
class NamedPlan:
    """A table of plans.toml: labels, and the scenarios they are meant for (None: all)."""

    summary: str
    selectors: Sequence[str] = ()
    varied: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    scenarios: Sequence[str] | None = None

    @cached_property
    def sweeps(self) -> tuple[Sweep, ...]:
        return tuple(
            Sweep(selector, name, tuple(values))
            for selector, varied in self.varied.items()
            for name, values in varied.items()
        )

    @cached_property
    def contenders(self) -> tuple[Contender, ...]:
        from tailcut.bench.plan import Contender  # slow to import

        found = {label: [Contender.parse_label(label)] for label in self.selectors}
        for sweep in self.sweeps:
            found.setdefault(sweep.selector, []).extend(sweep.contenders())
        return tuple(contender for contenders in found.values() for contender in contenders)


PLANS = {
    name: NamedPlan(**table)
    for name, table in tomllib.loads((files(__package__) / "plans.toml").read_text("utf-8")).items()
}
DEFAULT = PLANS["default"].selectors
"""What a benchmark compares by default."""
SWEEPS = PLANS["sensitivity"].sweeps
"""The five sweeps of the paper's sensitivity analysis."""


def find_plan(name: str) -> NamedPlan:
    if name not in PLANS:
        raise InputError(f"unknown plan {name!r}; known: {', '.join(PLANS)}")
    return PLANS[name]
