"""Recorded runs: as a value that can be stored, sent and split, and as lessons for a policy (warm start)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.errors import InputError
from tailcut.numerics.randomness import stream
from tailcut.policies.policy import Policy, RecordedOutcomes
from tailcut.policies.selector_like import Recorded
from tailcut.representation import FeatureReader
from tailcut.types import Array, Progress, check_names, check_seconds


@dataclass(frozen=True, eq=False)
class RecordedRuns:
    """Runs of K algorithms on n > 0 instances with d features: exactly what `fit` learns.

    >>> from types import SimpleNamespace
    >>> scenario = SimpleNamespace(algorithms=("a", "b"), cutoff=60.0, features=[[0.5], [np.nan]],
    ...     runtimes=[[1.0, np.nan], [2.0, np.inf]], solved=[[True, False], [True, False]])
    >>> runs = RecordedRuns.of(scenario)
    >>> runs.to_dict()["features"], runs.to_dict()["runtimes"]
    ([[0.5], [None]], [[1.0, None], [2.0, 60.0]])
    >>> [piece.to_dict()["runtimes"] for piece in runs.pieces(1)]
    [[[1.0, None]], [[2.0, 60.0]]]
    """

    algorithms: tuple[str, ...]
    cutoff: float
    feature_names: tuple[str, ...] | None
    features: Array
    """Features, nan where missing, shape (n, d)."""
    runtimes: Array
    """Seconds of every run; nan for unsolved runs that are unknown, shape (n, K)."""
    solved: NDArray[np.bool_]
    known: NDArray[np.bool_] | None
    """Which runs are known; None: see `runtimes`."""
    instances: tuple[str, ...] | None = None
    """Names, shape (n,): the runs of one instance may be spread over several rows and several fits."""
    watched: Array | None = None
    """Seconds after which an unsolved run was given up, nan: at the cutoff; None: all were. Shape (n, K)."""
    feature_cost: Array | None = None
    """Seconds that computing the features took, nan where unknown; None: not known of any. Shape (n,)."""

    @staticmethod
    def of(scenario: Recorded, known: NDArray[np.bool_] | None = None) -> RecordedRuns:
        """Return the runs of a scenario, checked; all numbers are finite or nan."""
        check_recorded(scenario)
        if getattr(scenario, "ratings", None) is not None:
            raise InputError(
                "ratings: recorded losses are learned by Selector.fit alone; projects learn them by observe",
                field="ratings",
            )
        algorithms = check_names("algorithms", scenario.algorithms)
        cutoff = check_seconds("cutoff", scenario.cutoff, above_zero=True)
        names = getattr(scenario, "feature_names", None)
        features = table("features", scenario.features)
        if not len(features):
            raise InputError("features: there is no instance to learn from", field="features")
        if np.isinf(features).any():
            row, column = np.argwhere(np.isinf(features))[0]
            raise InputError(f"features[{row}, {column}] is infinite; use nan for missing", field="features")
        shape = (len(features), len(algorithms))
        solved = flags("solved", scenario.solved, shape)
        runtimes = table("runtimes", scenario.runtimes, shape)
        # An unsolved run counts as reaching the cutoff, and JSON has no infinity.
        runtimes[np.isinf(runtimes) & ~solved] = cutoff
        if np.isinf(runtimes).any():
            row, column = np.argwhere(np.isinf(runtimes))[0]
            raise InputError(f"runtimes[{row}, {column}] is infinite, but solved", field="runtimes")
        return RecordedRuns(
            algorithms=algorithms,
            cutoff=cutoff,
            feature_names=None if names is None else check_names("feature_names", names),
            features=features,
            runtimes=runtimes,
            solved=solved,
            known=None if known is None else flags("known", known, shape),
            instances=instance_names(scenario, len(features)),
            watched=watched_seconds(scenario, shape),
            feature_cost=feature_costs(scenario, len(features)),
        )

    def pieces(self, rows: int) -> Iterator[RecordedRuns]:
        """Yield the same runs, at most so many instances at once."""
        for start in range(0, len(self.features), rows):
            part = slice(start, start + rows)
            yield replace(
                self,
                features=self.features[part],
                runtimes=self.runtimes[part],
                solved=self.solved[part],
                known=None if self.known is None else self.known[part],
                instances=None if self.instances is None else self.instances[part],
                watched=None if self.watched is None else self.watched[part],
                feature_cost=None if self.feature_cost is None else self.feature_cost[part],
            )

    def bounded_pieces(self, size: int, rows: int) -> Iterator[RecordedRuns]:
        """Yield the same runs in pieces of about `size` bytes of JSON and of `rows` instances at most."""
        a_number, a_flag = 24, 7  # bytes of JSON at most
        n_features, n_algorithms = int(self.features.shape[1]), len(self.algorithms)
        row = n_features * a_number + n_algorithms * (2 * a_number + 2 * a_flag)
        row += max(map(len, self.instances or ()), default=0)
        return self.pieces(min(max(1, size // max(row, 1)), rows))

    def to_dict(self) -> dict[str, Any]:
        """Return the runs as JSON values; nan is None."""
        return {
            "algorithms": list(self.algorithms),
            "cutoff": self.cutoff,
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "features": _rows(self.features),
            "runtimes": _rows(self.runtimes),
            "solved": self.solved.tolist(),
            "known": None if self.known is None else self.known.tolist(),
            "instances": None if self.instances is None else list(self.instances),
            "watched": None if self.watched is None else _rows(self.watched),
            "feature_cost": None if self.feature_cost is None else _rows(self.feature_cost[None])[0],
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> RecordedRuns:
        """Return the runs that `to_dict` turned into `values`, checked; other keys are ignored."""
        return RecordedRuns.of(_Given(values), values["known"])


class _Given:
    """A mapping whose values are read as attributes."""

    algorithms: tuple[str, ...]
    cutoff: float
    features: Array
    runtimes: Array
    solved: NDArray[np.bool_]

    def __init__(self, values: Mapping[str, Any]) -> None:
        vars(self).update(values)


def _rows(values: Array) -> list[list[float | None]]:
    """Return a table as JSON values."""
    rows: list[list[float | None]] = values.tolist()
    if np.isnan(values).any():
        return [[None if value != value else value for value in row] for row in rows]
    return rows


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
    instances = policy.fit_transform(features)
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
