"""One table: the name of a selector, its parts and its hyperparameters.

A row says which class fills each slot of a policy (`tailcut.policies.recipes`). A new selector is one more
row (CONTRIBUTING.md): a `Recipe` if it picks one algorithm per instance, a `ScheduleRecipe` if it may switch
to another.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tailcut.errors import InputError, did_you_mean
from tailcut.models import Forests, LeastSquares, Nothing, ResidualLayers, RidgeBank, RunningMeans
from tailcut.policies.censoring import AtCutoff, AtMaximumLoss, BuckleyJames, Drop
from tailcut.policies.exploration import Bounds, ForcedExploration, Greedy, Thompson, Uniform
from tailcut.policies.losses import BoundedLoss, ExpectedPar, Seconds
from tailcut.policies.recipes import Recipe, Row, ScheduleRecipe, Value
from tailcut.schedules import HazardSchedule, RoundRobin
from tailcut.types import PENALTY

DEFAULT_SELECTOR = "tailcut_schedule"
"""What `tailcut run`, `tailcut solve` and `tailcut.live.run` choose with if nothing else is given."""

BASELINES: dict[str, str] = {
    "oracle": "The best algorithm of each instance, in hindsight (VBS)",
    "sbs": "The single algorithm with the lowest mean PARk, in hindsight (SBS)",
    "sbs_train": "The single best algorithm of the training folds, in cross-validation only",
    "sbs_pair": "The fixed schedule of two stages with the lowest mean PARk, in hindsight",
    "sbs_schedule": "The best fixed schedule found of at most three stages, in hindsight",
}
"""Hindsight baselines, which know all runtimes (`tailcut.bench.baselines`): name -> summary.

Their names are reserved, but they are not selectors."""

ENTRY_POINTS = "tailcut.selectors"
"""The entry-point group through which installed packages offer their selectors: name -> row."""

PEERS = (
    *("mabwiser_lingreedy", "mabwiser_linucb", "mabwiser_lints"),
    *("vw", "vw_squarecb"),
    *("river_forests", "extra_trees"),
    *("medley_nearest", "medley_thompson", "medley_exp3", "online_greedy"),
)
"""Other people's selectors, for comparison: rows of `tailcut.peers`, imported when they are first used."""

OFFLINE_PEERS = (
    *("pairwise_forests", "best_label_forest"),
    *("asf_multi_class", "asf_pairwise", "asf_performance"),
)
"""The peers that learn only from `fit`."""

_THOMPSON = Recipe(
    name="thompson",
    summary="Thompson sampling on log-runtimes, timeouts learned as the cutoff",
    model=RidgeBank,
    censoring=AtCutoff,
    exploration=Thompson,
    hyperparameters={"ridge": 0.5, "noise_variance": 1.0},
)
_BLINDUCB = Recipe(
    name="blinducb",
    summary="LinUCB on log-runtimes, timeouts ignored",
    model=RidgeBank,
    censoring=Drop,
    exploration=Bounds,
    hyperparameters={"ridge": 1.0, "alpha": 1.0},
)
_BCLINUCB = replace(
    _BLINDUCB,
    name="bclinucb",
    summary="LinUCB on log-runtimes, timeouts learned as the cutoff, bounds corrected for that bias",
    censoring=AtCutoff,
    exploration=partial(Bounds, bias_corrected=True),
)


def _revisited(row: Recipe, **more: Value) -> Recipe:
    """Return the row that minimises expected PARk instead of the log-runtime."""
    summary = f"{row.summary}; minimises expected PARk"
    given = {**row.hyperparameters, **more, "penalty": PENALTY}
    return replace(row, name=f"{row.name}_rev", summary=summary, loss=ExpectedPar, hyperparameters=given)


def _buckley_james(row: Recipe) -> Recipe:
    """Return the row that imputes timeouts from its own belief."""
    summary = row.summary.replace("as the cutoff", "by Buckley-James imputation")
    return replace(row, name=f"bj_{row.name}", summary=summary, censoring=BuckleyJames)


def _randomised(row: Recipe) -> Recipe:
    """Return the row whose confidence widths are multiplied by a half-normal draw."""
    more = {**row.hyperparameters, "rand_sigma": 0.5}
    return replace(row, name=f"rand_{row.name}", summary=f"Randomised {row.summary}", hyperparameters=more)


_DEGROOTE = Recipe(
    name="degroote_epsilon_greedy_lr",
    summary="Epsilon-greedy on linear regressions refitted at every step (Degroote et al.)",
    model=LeastSquares,
    censoring=AtCutoff,
    exploration=Greedy,
    target=Seconds,
    hyperparameters={"epsilon": 0.05},
)

_ROWS: list[Row] = [
    _THOMPSON,
    _revisited(_THOMPSON),
    _buckley_james(_THOMPSON),
    _buckley_james(_revisited(_THOMPSON)),
    _BLINDUCB,
    _revisited(_BLINDUCB, noise=10.0),
    _BCLINUCB,
    _revisited(_BCLINUCB, noise=10.0),
    _randomised(_BLINDUCB),
    _randomised(_revisited(_BLINDUCB, noise=10.0)),
    _randomised(_BCLINUCB),
    _randomised(_revisited(_BCLINUCB, noise=10.0)),
    _DEGROOTE,
    replace(
        _DEGROOTE,
        name="degroote_epsilon_greedy_rf",
        summary="Epsilon-greedy on random forests refitted at every step (Degroote et al.)",
        model=Forests,
        hyperparameters={"epsilon": 0.05, "trees": 100},
    ),
    replace(
        _DEGROOTE,
        name="degroote_ucb_rf",
        summary="Lower bounds by the jackknife of random forests refitted at every step (Degroote et al.)",
        model=Forests,
        exploration=Bounds,
        hyperparameters={"alpha": 1.0, "trees": 100},
    ),
    Recipe(
        name="tailcut",
        summary="Our own: trees, empirical Bayes and a ridge on a bounded loss; explores little",
        representation="twofold",
        model=ResidualLayers,
        censoring=AtMaximumLoss,
        exploration=Thompson,
        target=BoundedLoss,
        first_runs=partial(ForcedExploration, in_order=False),
        hyperparameters={
            "solved_share": 0.3,
            "noise_variance": 0.09,
            "pace": 1.0,
            "again": 1.0,
            "trees": 20,
            "min_leaf": 2,
            "ridge": 100.0,
            "prior_weight": 1.0,
            "memory": 20_000,
            "feature_share": 0.1,
        },
    ),
    Recipe(
        name="bounded_thompson",
        summary="Our own: Thompson sampling that hardly explores, on a bounded loss that is mostly timeouts",
        representation="standardised",
        model=RidgeBank,
        censoring=AtMaximumLoss,
        exploration=Thompson,
        target=BoundedLoss,
        hyperparameters={"ridge": 30.0, "noise_variance": 0.01, "solved_share": 0.3},
    ),
    Recipe(
        name="epsilon_greedy",
        summary="Epsilon-greedy on mean runtimes, features unseen; timeouts count timeout_factor x cutoff",
        representation="none",
        model=RunningMeans,
        censoring=AtCutoff,
        exploration=Greedy,
        target=Seconds,
        hyperparameters={"epsilon": 0.05, "timeout_factor": 10.0},
    ),
    Recipe(
        name="random",
        summary="A uniformly random algorithm each time",
        representation="none",
        model=Nothing,
        censoring=Drop,
        exploration=Uniform,
        first_runs=partial(ForcedExploration, pace=0.0),
    ),
    ScheduleRecipe(
        name=DEFAULT_SELECTOR,
        summary="Our own, the default: learns when algorithms solve, runs them in slices, plans after each",
        representation="trees",
        policy=HazardSchedule,
        hyperparameters={"memory": 20_000, "penalty": PENALTY, "feature_share": 0.1},
    ),
    ScheduleRecipe(
        name="round_robin",
        summary="Every algorithm in turn, each for an equal share of the time",
        policy=RoundRobin,
    ),
]

CATALOGUE: dict[str, Row] = {row.name: row for row in _ROWS}
"""Every selector of our own by its name, and those registered; `find` also knows peers and offered ones."""


def recipe(name: str) -> Row:
    """Return the row called `name`, or say which names there are.

    >>> recipe("bj_thompson_rev").describe()["parts"]["censoring"]
    'BuckleyJames'
    """
    row = find(name) if isinstance(name, str) else None
    if row is not None:
        return row
    if name in BASELINES:
        raise InputError(
            f"{name!r} knows all runtimes in hindsight, so it cannot select; see tailcut.bench.baselines",
            field="selector",
        )
    names = list(dict.fromkeys([*CATALOGUE, *_entry_points()]))
    raise InputError(
        f"unknown selector {name!r}{did_you_mean(name, [*names, *BASELINES])}; known: {', '.join(names)}; "
        f"in hindsight, for benchmarks only: {', '.join(BASELINES)}; your own: "
        "`tailcut bench --import MODULE`, or for all commands an installed package's entry point",
        field="selector",
    )


def parse_selector(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the hyperparameters in `NAME` or `NAME:key=value,key=value`.

    >>> parse_selector("thompson:noise_variance=2")
    ('thompson', {'noise_variance': 2})
    """
    name, _, options = text.partition(":")
    given = {}
    for option in filter(None, options.split(",")):
        key, equals, value = option.partition("=")
        if not equals:
            raise InputError(f"{text!r}: expected key=value after the colon, got {option!r}")
        given[key.strip()] = _value(value.strip())
    return name.strip(), given


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def find(name: str) -> Row | None:
    """Return the row called `name`, also one that an installed package offers; None if there is none."""
    if name not in CATALOGUE and name not in BASELINES and name in _entry_points():
        return _from_outside(name)
    return CATALOGUE.get(name)


def find_registered(name: str) -> Row | None:
    """Return the row called `name` that `register` added; None if there is none."""
    return None if name in {row.name for row in _ROWS} else CATALOGUE.get(name)


def find_all() -> list[Row]:
    """Return all rows, including those that installed packages offer, without broken ones."""
    broken = find_broken()
    rows = {**CATALOGUE, **{name: find(name) for name in _entry_points() if name not in broken}}
    return [row for row in rows.values() if row is not None]


def find_broken() -> dict[str, str]:
    """Return the selectors that installed packages offer but that cannot be loaded: name -> problem."""
    broken = {}
    for name in _entry_points():
        try:
            find(name)
        except InputError as error:
            broken[name] = str(error)
    return broken


@cache
def _entry_points() -> dict[str, EntryPoint]:
    """Return what installed packages offer as selectors, and our own peers; none of it is imported."""
    names = (*PEERS, *OFFLINE_PEERS)
    peers = (EntryPoint(name, f"tailcut.peers.rows:{name.upper()}", ENTRY_POINTS) for name in names)
    return {entry.name: entry for entry in (*entry_points(group=ENTRY_POINTS), *peers)}


@cache
def _from_outside(name: str) -> Row:
    """Return the row that an entry point stands for, or say which one is broken."""
    offered = f"the entry point {name!r} of {ENTRY_POINTS!r}"
    try:
        row = _entry_points()[name].load()
    except Exception as error:  # third-party code may raise anything
        raise InputError(f"{offered} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(row, Row) or row.name != name:
        raise InputError(f"{offered} must be a Recipe or ScheduleRecipe with that name, got {row!r:.100}")
    return row


def register(row: Row) -> None:
    """Register your own selector, so that it can be created, saved and loaded by name."""
    if row.name in CATALOGUE or row.name in BASELINES:
        raise InputError(f"there is already a selector {row.name!r}")
    CATALOGUE[row.name] = row
