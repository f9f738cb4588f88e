"""Recorded runs: as a value that can be stored, sent and split, and as lessons for a policy (warm start)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tailcut.errors import InputError
from tailcut.policies.policy import RecordedOutcomes
from tailcut.representation import FeatureReader
from tailcut.types import Array, as_numbers, check_names, check_seconds


class Recorded(Protocol):
    """Recorded runs of K algorithms on n instances with d features, such as an ASlib scenario.

    If there is also a `feature_names` (d names), features are matched by name. Other optional attributes:
    `instances` (n names); `watched`, the seconds after which unsolved runs were stopped before the cutoff,
    nan elsewhere, shape (n, K); `feature_cost`, the seconds that computing the features took, shape (n,); and
    `ratings`, losses from 0 to 1 that count instead of runtimes, shape (n, K).
    """

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Names of the algorithms."""

    @property
    def cutoff(self) -> float:
        """Seconds after which a run is stopped."""

    @property
    def features(self) -> Array:
        """Features, nan where missing, shape (n, d)."""

    @property
    def runtimes(self) -> Array:
        """Seconds of every run, meaningful where solved, shape (n, K)."""

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Whether the run finished within the cutoff, shape (n, K)."""


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

    ratings: Array | None = None
    """Losses from 0 to 1 that count instead of runtimes, shape (n, K): learned, but never stored or sent."""

    @staticmethod
    def read(scenario: Recorded, known: NDArray[np.bool_] | None = None) -> RecordedRuns:
        """Return the runs of a scenario, copied; every table has the right shape, type and bounds."""
        for field in ("algorithms", "cutoff", "features", "runtimes", "solved"):
            if not hasattr(scenario, field):
                raise InputError(
                    f"{field}: a {type(scenario).__name__} has none, so nothing can be learned from it",
                    field=field,
                )
        names = getattr(scenario, "feature_names", None)
        names = None if names is None else check_names("feature_names", names)
        features = _numbers("features", _in_order("features", scenario.features, names))
        algorithms = check_names("algorithms", scenario.algorithms)
        names = _names_of(scenario.features) if names is None else names
        shape = (len(features), len(algorithms))
        runs = RecordedRuns(
            algorithms=algorithms,
            cutoff=check_seconds("cutoff", scenario.cutoff, above_zero=True),
            feature_names=names,
            features=features,
            solved=_flags("solved", _in_order("solved", scenario.solved, algorithms), shape),
            runtimes=_numbers("runtimes", _in_order("runtimes", scenario.runtimes, algorithms), shape),
            known=None if known is None else _flags("known", known, shape),
            instances=instance_names(scenario, len(features)),
            watched=_optional("watched", scenario, shape),
            feature_cost=_optional("feature_cost", scenario, shape[:1]),
            ratings=_optional("ratings", scenario, shape),
        )
        watched, costs, losses = runs.watched, runs.feature_cost, runs.ratings
        if watched is not None:
            must = "must be a finite number of seconds above 0, or nan for the cutoff"
            _refuse("watched", (watched <= 0.0) | np.isinf(watched), must, watched)
        if costs is not None:
            must = "must be a finite number of seconds >= 0, or nan"
            _refuse("feature_cost", (costs < 0.0) | np.isinf(costs), must, costs)
        if losses is not None:
            in_range = (losses >= 0.0) & (losses <= 1.0)
            _refuse("ratings", ~in_range, "must be a loss from 0 to 1", losses)
        return runs

    @staticmethod
    def of(scenario: Recorded, known: NDArray[np.bool_] | None = None) -> RecordedRuns:
        """Return the runs of a scenario, checked; all numbers are finite or nan."""
        runs = RecordedRuns.read(scenario, known)
        if runs.ratings is not None:
            raise InputError(
                "ratings: recorded losses are learned by Selector.fit alone; projects learn them by observe",
                field="ratings",
            )
        _expect_instances(len(runs.features))
        _refuse("features", np.isinf(runs.features), _INFINITE)
        # An unsolved run counts as reaching the cutoff, and JSON has no infinity.
        runs.runtimes[np.isinf(runs.runtimes) & ~runs.solved] = runs.cutoff
        _refuse("runtimes", np.isinf(runs.runtimes), "is infinite, but solved")
        return runs

    def pieces(self, rows: int) -> Iterator[RecordedRuns]:
        """Yield the same runs, at most so many instances at once."""
        for start in range(0, len(self.features), rows):
            tables = {name: getattr(self, name) for name in _PER_INSTANCE}
            given = {name: table for name, table in tables.items() if table is not None}
            yield replace(self, **{name: table[start : start + rows] for name, table in given.items()})

    def bounded_pieces(self, size: int, rows: int) -> Iterator[RecordedRuns]:
        """Yield the same runs in pieces of about `size` bytes of JSON and of `rows` instances at most."""
        a_number, a_flag = 24, 7  # bytes of JSON at most
        n_features, n_algorithms = int(self.features.shape[1]), len(self.algorithms)
        row = n_features * a_number + n_algorithms * (2 * a_number + 2 * a_flag)
        row += max(map(len, self.instances or ()), default=0)
        return self.pieces(min(max(1, size // max(row, 1)), rows))

    def to_dict(self) -> dict[str, Any]:
        """Return the runs as JSON values; nan is None."""
        stored = (field.name for field in fields(self) if field.name != "ratings")
        return {name: _plain(getattr(self, name)) for name in stored}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> RecordedRuns:
        """Return the runs that `to_dict` turned into `values`, checked; other keys are ignored."""
        scenario: Any = SimpleNamespace(**values)
        return RecordedRuns.of(scenario, values["known"])

    def matched(self, algorithms: Sequence[str], cutoff: float) -> tuple[NDArray[np.intp], RecordedOutcomes]:
        """Return what there is to learn for these algorithms, stopped at the shorter of the two cutoffs.

        First the rows of the instances with at least one known run, shape (m,), then how these went.
        """
        there = self.solved | ~np.isnan(self.runtimes)
        if self.known is not None:
            there &= self.known
        late = ~((self.runtimes >= 0.0) & (self.runtimes < np.inf))
        must = "must be a finite number of seconds >= 0 where solved"
        _refuse("runtimes", self.solved & there & late, must, self.runtimes)
        place = {name: number for number, name in enumerate(self.algorithms)}
        columns = np.array([place.get(name, -1) for name in algorithms])
        if (columns < 0).all():
            raise InputError(
                f"algorithms: the scenario has runs of {', '.join(self.algorithms) or 'none'}, "
                f"and this selector knows only {', '.join(algorithms)}",
                field="algorithms",
            )
        there = np.where(columns < 0, False, there[:, columns])
        rows = np.flatnonzero(there.any(axis=1))
        shorter = min(cutoff, self.cutoff)
        solved, runtimes = self.solved[:, columns], self.runtimes[:, columns]
        # A run solved after our cutoff is unsolved here. Of an unsolved run only the cutoff counts: it may
        # have crashed early, or its recorded time may be the truth that nobody waited for.
        in_time = solved & (runtimes <= shorter)
        watched = np.full(in_time.shape, shorter)
        if self.watched is not None:
            watched = np.where(solved, shorter, np.fmin(self.watched[:, columns], shorter))
        seconds = np.where(in_time, runtimes, watched)
        losses = None if self.ratings is None else self.ratings[:, columns]
        return rows, RecordedOutcomes(seconds, in_time, there, watched, losses).at(rows)

    def features_for(
        self, reader: FeatureReader, rows: NDArray[np.intp], *, needed: bool, longest: float | None
    ) -> Array:
        """Return the features of some instances in the order that `reader` has, or settles now; (m, d).

        Where they are not `needed` those of the scenario settle nothing, and need not fit. Those that took
        more than `longest` seconds are missing: a decision does not wait for them, so a model must learn such
        instances as it will see them.
        """
        features, names = self.features, self.feature_names
        # Instances without features have missing ones, as `select(None)`: that says nothing of their number.
        if not needed or not features.shape[1]:
            return np.full((len(rows), reader.width or 0), np.nan)
        if names is not None and len(names) != features.shape[1]:
            raise InputError(
                f"feature_names has {len(names)} names for the {features.shape[1]} columns of features",
                field="feature_names",
            )
        if names is not None and reader.names is not None:
            if lacking := ", ".join(name for name in reader.names if name not in names):
                raise InputError(f"feature_names: the scenario lacks {lacking}", field="feature_names")
            features = features[:, [names.index(name) for name in reader.names]]
        elif reader.width is not None and features.shape[1] != reader.width:
            raise InputError(
                f"features: the scenario has {features.shape[1]} per instance, this selector {reader.width}",
                field="features",
            )
        chosen = np.full_like(features, np.nan)
        chosen[rows] = features[rows]
        _refuse("features", np.isinf(chosen), _INFINITE)
        if reader.names is None and reader.width is None:
            reader.names = names
        reader.width = features.shape[1]
        if self.feature_cost is not None and longest is not None:
            chosen[self.feature_cost > longest] = np.nan
        return chosen[rows]


_PER_INSTANCE = ("features", "runtimes", "solved", "known", "instances", "watched", "feature_cost")
_INFINITE = "is infinite; use nan for missing"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype == np.float64 and np.isnan(value).any():
        plain = value.astype(object)
        plain[np.isnan(value)] = None
        return plain.tolist()
    return value.tolist()


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


def _names_of(table: Any) -> tuple[str, ...] | None:
    """Return the names of a table's columns, if they have any: those of pandas may be numbers."""
    names = tuple(getattr(table, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def _in_order(field: str, table: Any, names: Sequence[str] | None) -> Any:
    """Return a table with its columns in this order, if it knows their names."""
    found = _names_of(table)
    if found is None or names is None:
        return table
    lacking = [name for name in names if name not in found]
    if lacking:
        raise InputError(f"{field}: the table lacks {', '.join(lacking)}", field=field)
    return table[list(names)]


def _optional(field: str, scenario: Recorded, shape: tuple[int, ...]) -> Array | None:
    given = getattr(scenario, field, None)
    return None if given is None else _numbers(field, given, shape)


def _numbers(field: str, given: object, shape: tuple[int, ...] | None = None) -> Array:
    """Return numbers of this shape, or a table of any, or say what is wrong with it."""
    values = as_numbers(field, given)
    if shape is not None:
        _check_shape(field, values.shape, shape)
    elif values.ndim != 2:
        raise InputError(
            f"{field} must be a table of one row per instance, got shape {values.shape}", field=field
        )
    return values


def _flags(field: str, given: object, shape: tuple[int, int]) -> NDArray[np.bool_]:
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


def _check_shape(field: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        _expect_instances(expected[0])
        table = "one row per instance and one column per algorithm"
        parts = table if len(expected) == 2 else "one number per instance"
        raise InputError(f"{field} must have {parts}, {expected}, got {shape}", field=field)


def _expect_instances(count: int) -> None:
    if not count:
        raise InputError("features: there is no instance to learn from", field="features")


def _refuse(field: str, wrong: NDArray[np.bool_], problem: str, values: Array | None = None) -> None:
    """Raise if anything is `wrong`, with the place of the first and, if given, its value."""
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        got = "" if values is None else f", got {values[place]:g}"
        raise InputError(f"{field}[{', '.join(map(str, place))}] {problem}{got}", field=field)
