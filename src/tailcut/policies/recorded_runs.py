"""Recorded runs as a value that can be stored, sent, and split into pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut.checks.inputs import check_names, check_seconds
from tailcut.errors import InputError
from tailcut.policies.selector_like import Recorded
from tailcut.policies.warm_start import (
    check_recorded,
    feature_costs,
    flags,
    instance_names,
    table,
    watched_seconds,
)
from tailcut.types import Array


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
