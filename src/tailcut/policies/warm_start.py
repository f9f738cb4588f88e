"""Warm start: recorded runs, matched to a selector's algorithms and features, as lessons for its policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.checks.inputs import check_names, check_seconds
from tailcut.errors import InputError
from tailcut.numerics.randomness import stream
from tailcut.policies.policy import Policy, RecordedOutcomes
from tailcut.policies.selector_like import Recorded
from tailcut.representation.reader import FeatureReader
from tailcut.types import Array, Progress


class Past(NamedTuple):
    """What there is to learn, for a selector's own cutoff and the order of its own algorithms."""

    rows: NDArray[np.intp]
    """The instances with at least one known run, in the order of the scenario, shape (m,)."""
    runs: RecordedOutcomes
    """How they went, stopped at the shorter of the two cutoffs."""
    instances: tuple[str, ...] | None = None
    """What the instances are called, where they have names, shape (m,)."""


def matched(
    scenario: Recorded,
    known: NDArray[np.bool_] | None,
    algorithms: Sequence[str],
    cutoff: float,
) -> Past:
    """Return the known runs of those `algorithms` that the scenario has, stopped at `cutoff`."""
    check_recorded(scenario)
    theirs = check_names("algorithms", scenario.algorithms)
    shape = (len(table("features", scenario.features)), len(theirs))
    runtimes = table("runtimes", scenario.runtimes, shape)
    solved = flags("solved", scenario.solved, shape)
    shorter = min(cutoff, check_seconds("cutoff", scenario.cutoff, above_zero=True))
    given_up, names = watched_seconds(scenario, shape), instance_names(scenario, shape[0])
    there = solved | ~np.isnan(runtimes)
    if known is not None:
        there &= flags("known", known, shape)
    _check_seconds(runtimes, solved & there)
    place = {name: number for number, name in enumerate(theirs)}
    columns = np.array([place.get(name, -1) for name in algorithms])
    if (columns < 0).all():
        raise InputError(
            f"algorithms: the scenario has runs of {', '.join(theirs) or 'none'}, "
            f"and this selector knows only {', '.join(algorithms)}",
            field="algorithms",
        )
    there = np.where(columns < 0, False, there[:, columns])
    rows = np.flatnonzero(there.any(axis=1))
    # A run solved after our cutoff is unsolved here. Of an unsolved run only the cutoff counts: it may
    # have crashed early, or its recorded time may be the truth that nobody waited for.
    in_time = solved[:, columns] & (runtimes[:, columns] <= shorter)
    watched = np.full(in_time.shape, shorter)
    if given_up is not None:
        watched = np.where(solved[:, columns], shorter, np.fmin(given_up[:, columns], shorter))
    seconds = np.where(in_time, runtimes[:, columns], watched)
    called = None if names is None else tuple(names[row] for row in rows)
    rated = ratings_of(scenario, shape)
    losses = None if rated is None else rated[:, columns][rows]
    runs = RecordedOutcomes(seconds[rows], in_time[rows], there[rows], watched[rows], losses)
    return Past(rows, runs, called)


def features_of(
    scenario: Recorded,
    rows: NDArray[np.intp],
    reader: FeatureReader,
    *,
    needed: bool,
    longest: float | None = None,
) -> Array:
    """Return the features of some instances in the order that `reader` has, or settles now; shape (m, d).

    Where they are not `needed` those of the scenario settle nothing, and need not fit. Those that took more
    than `longest` seconds are missing: a decision does not wait for them, so a model must learn such
    instances as it will see them.
    """
    features = table("features", scenario.features)
    costs = feature_costs(scenario, len(features))
    # Instances without features have missing ones, as `select(None)`: that says nothing about their number.
    if not needed or not features.shape[1]:
        return np.full((len(rows), reader.width or 0), np.nan)
    given = getattr(scenario, "feature_names", None)
    theirs = None if given is None else check_names("feature_names", given)
    if theirs is not None and len(theirs) != features.shape[1]:
        raise InputError(
            f"feature_names has {len(theirs)} names for the {features.shape[1]} columns of features",
            field="feature_names",
        )
    if theirs is not None and reader.names is not None:
        lacking = [name for name in reader.names if name not in theirs]
        if lacking:
            raise InputError(f"feature_names: the scenario lacks {', '.join(lacking)}", field="feature_names")
        features = features[:, [theirs.index(name) for name in reader.names]]
    elif reader.width is not None and features.shape[1] != reader.width:
        raise InputError(
            f"features: the scenario has {features.shape[1]} per instance, this selector {reader.width}",
            field="features",
        )
    features = features[rows]
    infinite = np.argwhere(np.isinf(features))
    if len(infinite):
        row, column = infinite[0]
        raise InputError(
            f"features[{rows[row]}, {column}] is infinite; use nan for missing", field="features"
        )
    if reader.names is None and reader.width is None:
        reader.names = theirs
    reader.width = features.shape[1]
    if costs is not None and longest is not None:
        features[costs[rows] > longest] = np.nan
    return features


def teach(policy: Policy, past: Past, features: Array, *, cutoff: float, seed: int, schedules: bool) -> int:
    """Let a policy learn every known run, instances in the order of `seed`; return how many there were.

    The features (m, d) of all instances are taken in first: they need no outcome, and so a running
    standardisation is right from the first lesson on.
    """
    instances = policy.represent(features)
    nothing_failed = np.zeros(past.runs.known.shape[1]) if schedules else None
    order = stream(seed, "warm start").permutation(len(past.rows))
    policy.learn_recorded(instances[order], past.runs.at(order), Progress(cutoff, 0.0, nothing_failed))
    return int(past.runs.known.sum())


def check_recorded(scenario: Recorded) -> None:
    """Raise unless something has all that recorded runs have."""
    for field in ("algorithms", "cutoff", "features", "runtimes", "solved"):
        if not hasattr(scenario, field):
            raise InputError(
                f"{field}: a {type(scenario).__name__} has none, so nothing can be learned from it",
                field=field,
            )


def instance_names(scenario: Recorded, count: int) -> tuple[str, ...] | None:
    """Return what the instances are called, if they have names; two rows may be of one instance."""
    given = getattr(scenario, "instances", None)
    if given is None:
        return None
    names = (given,) if isinstance(given, str) else tuple(given)
    wrong = next((number for number, name in enumerate(names) if not isinstance(name, str)), None)
    if wrong is not None:
        raise InputError(f"instances[{wrong}] must be text, got {names[wrong]!r}", field="instances")
    if len(names) != count:
        raise InputError(f"instances has {len(names)} names for {count} rows of features", field="instances")
    return names


def ratings_of(scenario: Recorded, shape: tuple[int, int]) -> Array | None:
    """Return the losses that count in place of times; None: times count."""
    given = getattr(scenario, "ratings", None)
    if given is None:
        return None
    losses = table("ratings", given, shape)
    wrong = np.argwhere(~((losses >= 0.0) & (losses <= 1.0)))
    if len(wrong):
        row, column = wrong[0]
        raise InputError(
            f"ratings[{row}, {column}] must be a loss from 0 to 1, got {losses[row, column]:g}",
            field="ratings",
        )
    return losses


def watched_seconds(scenario: Recorded, shape: tuple[int, int]) -> Array | None:
    """Return for how long each unsolved run was watched, nan for the cutoff; None: that is so of all."""
    given = getattr(scenario, "watched", None)
    if given is None:
        return None
    watched = table("watched", given, shape)
    wrong = np.argwhere((watched <= 0.0) | np.isinf(watched))
    if len(wrong):
        row, column = wrong[0]
        raise InputError(
            f"watched[{row}, {column}] must be a finite number of seconds above 0, or nan for the cutoff, "
            f"got {watched[row, column]}",
            field="watched",
        )
    return watched


def feature_costs(scenario: Recorded, count: int) -> Array | None:
    """Return the seconds that computing the features took, nan where unknown; None: not known of any."""
    given = getattr(scenario, "feature_cost", None)
    if given is None:
        return None
    try:
        costs = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"feature_cost must be numbers: {error}", field="feature_cost") from None
    if costs.shape != (count,):
        raise InputError(
            f"feature_cost must have one number per instance, ({count},), got {costs.shape}",
            field="feature_cost",
        )
    wrong = np.flatnonzero((costs < 0.0) | np.isinf(costs))
    if len(wrong):
        raise InputError(
            f"feature_cost[{wrong[0]}] must be a finite number of seconds >= 0, or nan, "
            f"got {costs[wrong[0]]:g}",
            field="feature_cost",
        )
    return costs


def table(field: str, given: object, shape: tuple[int, int] | None = None) -> Array:
    """Return a two-dimensional table of numbers, or say what is wrong with it."""
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{field} must be numbers: {error}", field=field) from None
    if values.ndim != 2:
        raise InputError(
            f"{field} must be a table of one row per instance, got shape {values.shape}", field=field
        )
    if shape is not None:
        _check_shape(field, values.shape, shape)
    return values


def flags(field: str, given: object, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return a table of truth values, or say what is wrong with it."""
    try:
        values = np.asarray(given)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"{field} must be a table: {error}", field=field) from None
    if values.dtype != np.bool_:
        raise InputError(
            f"{field} must be true or false everywhere, got values of type {values.dtype}", field=field
        )
    _check_shape(field, values.shape, shape)
    return values


def _check_shape(field: str, shape: tuple[int, ...], expected: tuple[int, int]) -> None:
    if shape != expected:
        raise InputError(
            f"{field} must have one row per instance and one column per algorithm, {expected}, got {shape}",
            field=field,
        )


def _check_seconds(runtimes: Array, solved: NDArray[np.bool_]) -> None:
    """Raise unless every run that was solved has a time."""
    wrong = np.argwhere(solved & ~((runtimes >= 0.0) & (runtimes < np.inf)))
    if len(wrong):
        row, column = wrong[0]
        raise InputError(
            f"runtimes[{row}, {column}] must be a finite number of seconds >= 0 where solved, "
            f"got {runtimes[row, column]}",
            field="runtimes",
        )
