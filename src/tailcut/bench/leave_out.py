"""Choosing settings while leaving scenarios out: what the choice is worth on new scenarios.

The setting that is best on all scenarios looks better than it is, because it was chosen on what it is
measured on. So each scenario in turn is left out, the setting that is best on the others is taken, and only
its result on the one left out counts. Scenarios of one kind are alike, so families are left out, too.

A setting is a selector with its hyperparameters, as `tailcut:ridge=30.0`; the bare name is the default. One
that is judged under other conditions (`tailcut@measure-first=25`) is a selector of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from tailcut.bench.labels import default_of
from tailcut.bench.summary import ReferenceCosts, normalised
from tailcut.errors import InputError
from tailcut.types import Array

_NAMED = 5
"""Missing cells that an error names; of more it gives the number."""


@dataclass(frozen=True)
class SettingsGrid:
    """L settings of one selector on S scenarios under R seeds."""

    settings: tuple[str, ...]
    """The default first."""
    scenarios: tuple[str, ...]
    npar: Array
    """Shape (L, S, R)."""
    without_gap: tuple[str, ...] = ()
    """Scenarios not among those: their best algorithm is always the same, so nothing can be normalised."""


@dataclass(frozen=True)
class Difference:
    """What is paid more than with the default, as nPAR, on the same streams."""

    mean: float
    seed_error: float | None
    """Standard error of the mean, from the spread over the seeds within each scenario; None for one seed."""
    scenario_error: float
    """From the spread over the scenarios, which includes that over the seeds: the error for new scenarios."""
    better_on: int
    """Scenarios with less than the default."""


@dataclass(frozen=True)
class ScoredSetting:
    """A setting on all scenarios."""

    setting: str
    npar: float
    difference: Difference


@dataclass(frozen=True)
class LeftOut:
    """The scenarios, each scored with the setting that is best on all those of other groups."""

    npar: float
    difference: Difference
    chosen: dict[str, str]
    """Group -> the setting taken for it."""


@dataclass(frozen=True)
class SettingsChoice:
    """What there is to choose from, and what choosing is worth."""

    selector: str
    scenarios: tuple[str, ...]
    seeds: int
    settings: tuple[ScoredSetting, ...]
    """As in the grid, the default first."""
    best: ScoredSetting
    """Chosen on all scenarios, so better here than elsewhere."""
    by_scenario: LeftOut
    by_family: LeftOut | None
    """None where all scenarios are of one family."""
    without_gap: tuple[str, ...]


def family(scenario: str) -> str:
    """Return the kind of problem, by the letters that an ASlib name begins with.

    >>> [family(name) for name in ("SAT11-HAND", "SAT18-EXP", "MAXSAT-PMS-2016", "2sat")]
    ['SAT', 'SAT', 'MAXSAT', '2sat']
    """
    letters = re.match(r"[^\W\d_]+", scenario)
    return letters.group() if letters else scenario


def choose_settings(
    rows: Iterable[dict[str, Any]], selectors: Iterable[str] | None = None
) -> list[SettingsChoice]:
    """Return the choice for each of the selectors, or for all with two settings or more, by name.

    `rows` are finished cells with scenario, selector, seed, par, vbs and sbs, as `Store.rows` has them.
    """
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_name.setdefault(default_of(row["selector"]), []).append(row)
    several = sorted(name for name, own in by_name.items() if len({row["selector"] for row in own}) > 1)
    chosen = list(selectors or several)
    lacking = [name for name in chosen if name not in several]
    if lacking or not chosen:
        there = ", ".join(several) or "none"
        what = f"{', '.join(lacking)}: " if lacking else ""
        raise InputError(
            f"{what}choosing needs the default and another setting; selectors that have these: {there}"
        )
    return [choose(name, settings_grid(name, by_name[name])) for name in chosen]


def settings_grid(selector: str, rows: list[dict[str, Any]]) -> SettingsGrid:
    """Return the finished cells of one selector as a grid, or say which are missing."""
    cells = {(row["selector"], row["scenario"], row["seed"]): row for row in rows}
    settings = sorted({row["selector"] for row in rows}, key=lambda label: (label != selector, label))
    scenarios, seeds = ([*sorted({row[key] for row in rows})] for key in ("scenario", "seed"))
    if settings[0] != selector:
        raise InputError(f"{selector}: no results of the default, only of {', '.join(settings)}")
    wanted = [(label, name, seed) for label in settings for name in scenarios for seed in seeds]
    missing = [key for key in wanted if key not in cells]
    if missing:
        named = "; ".join(f"{label} on {scenario}, seed {seed}" for label, scenario, seed in missing[:_NAMED])
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        raise InputError(f"{selector}: missing are {named}{more}")
    rows = [cells[key] for key in wanted]
    npar = np.array([normalised(row["par"], ReferenceCosts(row["vbs"], row["sbs"])) for row in rows])
    npar = npar.reshape(len(settings), len(scenarios), len(seeds))
    gap = np.isfinite(npar).all(axis=(0, 2))
    return SettingsGrid(
        settings=tuple(settings),
        scenarios=tuple(compress(scenarios, gap)),
        npar=npar[:, gap],
        without_gap=tuple(compress(scenarios, ~gap)),
    )


def choose(selector: str, cells: SettingsGrid) -> SettingsChoice:
    """Return what each setting is worth, and what choosing among them is."""
    if len(cells.scenarios) < 2:
        got = ", ".join(cells.scenarios) or "none"
        raise InputError(f"{selector}: leaving scenarios out needs at least 2 of them, got {got}")
    scored = tuple(
        ScoredSetting(label, float(npar.mean()), difference(npar, cells.npar[0]))
        for label, npar in zip(cells.settings, cells.npar, strict=True)
    )
    several = len({family(name) for name in cells.scenarios}) > 1
    return SettingsChoice(
        selector=selector,
        scenarios=cells.scenarios,
        seeds=cells.npar.shape[2],
        settings=scored,
        best=min(scored, key=lambda setting: setting.npar),
        by_scenario=leave_out(cells, lambda name: name),
        by_family=leave_out(cells, family) if several else None,
        without_gap=cells.without_gap,
    )


def leave_out(cells: SettingsGrid, group_of: Callable[[str], str]) -> LeftOut:
    """Leave out each group of scenarios in turn; the default is taken where it ties for the best.

    >>> npar = np.array([[[1.0], [1.0], [1.0]], [[0.0], [0.9], [1.2]]])  # the second shines on A alone
    >>> left_out = leave_out(SettingsGrid(("x", "x:k=2"), ("A", "B", "C"), npar), lambda name: name)
    >>> left_out.chosen, round(left_out.npar, 3)
    ({'A': 'x', 'B': 'x:k=2', 'C': 'x:k=2'}, 1.033)
    """
    means = cells.npar.mean(axis=2)
    groups = np.array([group_of(name) for name in cells.scenarios])
    taken = np.zeros(len(groups), dtype=np.intp)
    chosen = {}
    for group in dict.fromkeys(groups.tolist()):
        best = int(means[:, groups != group].mean(axis=1).argmin())
        taken[groups == group] = best
        chosen[group] = cells.settings[best]
    npar = cells.npar[taken, np.arange(len(groups))]
    return LeftOut(float(npar.mean()), difference(npar, cells.npar[0]), chosen)


def difference(npar: Array, default: Array) -> Difference:
    """Return how `npar` compares to the default, both of shape (S, R) with S >= 2.

    >>> found = difference(np.array([[1.5, 1.5], [1.0, 1.0]]), np.ones((2, 2)))
    >>> found.mean, found.seed_error, found.scenario_error, found.better_on
    (0.25, 0.0, 0.25, 0)
    """
    excess = npar - default
    means = excess.mean(axis=1)
    n_scenarios, n_seeds = excess.shape
    within = None
    if n_seeds > 1:
        within = math.sqrt(float(excess.var(axis=1, ddof=1).sum()) / n_seeds) / n_scenarios
    return Difference(
        mean=float(means.mean()),
        seed_error=within,
        scenario_error=float(means.std(ddof=1)) / math.sqrt(n_scenarios),
        better_on=int((means < 0.0).sum()),
    )
