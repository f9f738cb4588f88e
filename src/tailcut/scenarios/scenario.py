"""Recorded runs of K algorithms on n instances, as arrays: of runtimes, or of the quality of answers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import InitVar, dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailcut.display import data_frame, html_table
from tailcut.errors import InputError, did_you_mean
from tailcut.scenarios.arff import STATUSES
from tailcut.types import PENALTY, Array, check_seconds

if TYPE_CHECKING:
    from tailcut.scenarios.frames import Frame

GroundTruth = Mapping[str, Array | tuple[str | None, ...]]
"""Column name -> numbers, shape (n,), nan where unknown, or n texts, None where unknown."""


class _ByValue:
    """Equality by the values of all fields, arrays included; a nan equals a nan."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))  # type: ignore[arg-type]

    __hash__ = None  # type: ignore[assignment]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return bool(a == b)


@dataclass(frozen=True, eq=False)
class FeatureStep(_ByValue):
    """A part of the feature computation that runs, fails and costs as one."""

    name: str
    features: tuple[str, ...]
    """Names of the features it provides."""
    requires: tuple[str, ...]
    """Names of the steps that must have run before."""
    costs: Array
    """Seconds it took on each instance, shape (n,); 0 where none are recorded."""
    statuses: NDArray[np.uint8]
    """How it ended on each instance, as positions in `STATUSES`, shape (n,)."""
    default: bool = True
    """Whether the scenario's authors use it by default."""


@dataclass(frozen=True, eq=False, repr=False)
class Scenario(_ByValue):
    """Recorded runs of K algorithms on n instances with d features, with repetitions combined.

    Rows are ordered by instance, columns by algorithm, both as strings. The arrays are read-only.

    >>> runs = {"instance": ["i1", "i1", "i2", "i2"], "algorithm": ["a", "b", "a", "b"],
    ...         "runtime": [1.0, 60.0, 60.5, 8.0]}
    >>> features = {"instance": ["i1", "i2"], "size": [10.0, None]}
    >>> scenario = Scenario.from_frames(runs, features, cutoff=60.0, name="tiny")
    >>> scenario
    Scenario('tiny': 2 instances, 2 algorithms, 1 feature, cutoff 60 s, 25% of the runs unsolved)
    >>> scenario.losses().tolist()
    [[1.0, 60.0], [600.0, 8.0]]
    >>> scenario.to_frame().shape
    (4, 4)
    """

    name: str
    cutoff: float
    """Seconds after which a run counts as unsolved."""
    instances: tuple[str, ...]
    algorithms: tuple[str, ...]
    feature_names: tuple[str, ...]
    features: Array
    """Mean over repetitions, nan where missing, shape (n, d)."""
    runtimes: Array
    """Median seconds over repetitions as recorded, also of unsolved runs, shape (n, K).

    A run that did not end `ok` and has no time recorded counts as having used the cutoff.
    """
    solved: NDArray[np.bool_]
    """Whether the run ended `ok` and within the cutoff, shape (n, K)."""
    statuses: NDArray[np.uint8]
    """Most frequent status over repetitions, as positions in `STATUSES`, shape (n, K)."""
    feature_cost: Array
    """Seconds that all feature steps took together, shape (n,); 0 where no costs are given."""
    feature_steps: tuple[FeatureStep, ...] = ()
    has_feature_costs: bool = False
    """Whether costs were recorded at all."""
    folds: NDArray[np.int64] | None = None
    """Fold of each instance in the first repetition of the scenario's cross-validation, shape (n,)."""
    ground_truth: GroundTruth | None = None
    recorded_at: InitVar[float | None] = None
    """The cutoff that the runs were judged at: `dataclasses.replace` passes it on, and may not change it."""

    def __post_init__(self, recorded_at: float | None) -> None:
        if recorded_at not in (None, self.cutoff):
            raise InputError(
                f"{self.name}: cutoff: the runs were recorded at {recorded_at:g} s and cannot be replayed at "
                f"{self.cutoff:g} s; Scenario.subset(cutoff=...) makes it shorter",
                field="cutoff",
            )
        object.__setattr__(self, "recorded_at", self.cutoff)
        self._check_shapes()
        values = [*vars(self).values(), *(self.ground_truth or {}).values()]
        values += [value for step in self.feature_steps for value in vars(step).values()]
        for value in values:
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def _check_shapes(self) -> None:
        n, k, d = len(self.instances), len(self.algorithms), len(self.feature_names)
        expected: list[tuple[str, Any, tuple[int, ...]]] = [
            ("features", self.features, (n, d)),
            *((name, getattr(self, name), (n, k)) for name in ("runtimes", "solved", "statuses")),
            ("feature_cost", self.feature_cost, (n,)),
            *((f"feature_steps.{step.name}", step.costs, (n,)) for step in self.feature_steps),
            *([] if self.folds is None else [("folds", self.folds, (n,))]),
        ]
        for field, array, shape in expected:
            if np.shape(array) != shape:
                raise InputError(
                    f"{self.name}: {field}: expected the shape {shape} for {n} instances, {k} algorithms and "
                    f"{d} features, got {np.shape(array)}; Scenario.subset takes a part of each",
                    field=field,
                )

    def __repr__(self) -> str:
        unsolved = f"{1.0 - self.solved.mean():.0%} of the runs unsolved" if self.solved.size else "no runs"
        return f"Scenario({self.name!r}: {_counts(self)}, cutoff {self.cutoff:g} s, {unsolved})"

    def _repr_html_(self) -> str:
        """Show each algorithm with what it solves, the best by PAR10 first."""
        costs, solved = self.losses().mean(axis=0), self.solved.mean(axis=0)
        rows = [[self.algorithms[i], f"{solved[i]:.1%}", float(costs[i])] for i in np.argsort(costs)]
        return html_table(repr(self), ["algorithm", "solved", "mean PAR10, s"], rows)

    def to_frame(self) -> Any:
        """Return all runs as a pandas data frame: instance, algorithm, runtime, status."""
        n, k = self.runtimes.shape
        return data_frame(
            {
                "instance": np.repeat(np.array(self.instances, dtype=object), k),
                "algorithm": np.tile(np.array(self.algorithms, dtype=object), n),
                "runtime": self.runtimes.ravel(),
                "status": [STATUSES[code] for code in self.statuses.ravel()],
            }
        )

    def subset(
        self,
        *,
        algorithms: Iterable[str] | None = None,
        instances: Iterable[str] | None = None,
        features: Iterable[str] | None = None,
        steps: Iterable[str] | None = None,
        cutoff: float | None = None,
        name: str | None = None,
    ) -> Scenario:
        """Return the part with these algorithms, instances, features and feature steps, in the order here.

        Steps that others require are kept with them. A step goes, with its cost, if no kept feature needs it,
        and a feature goes with its step. At a shorter cutoff, what took longer is a timeout at that cutoff.

        >>> runs = {"instance": ["i1", "i1"], "algorithm": ["a", "b"], "runtime": [1.0, 40.0]}
        >>> scenario = Scenario.from_frames(runs, {"instance": ["i1"], "size": [1.0]}, cutoff=60.0)
        >>> scenario.subset(algorithms=["b"], cutoff=30.0, name="hard")
        Scenario('hard': 1 instance, 1 algorithm, 1 feature, cutoff 30 s, 100% of the runs unsolved)
        """
        seconds = self.cutoff if cutoff is None else check_seconds("cutoff", cutoff, above_zero=True)
        if seconds > self.cutoff:
            known = f"what the runs do after {self.cutoff:g} s is not recorded"
            raise InputError(f"{self.name}: cutoff: {known}, got {seconds:g} s", field="cutoff")
        rows = _places("instances", self.instances, instances)
        own = _places("algorithms", self.algorithms, algorithms)
        cells = np.ix_(rows, own)
        kept, columns = self._kept_steps(features, steps)
        names = tuple(self.feature_names[j] for j in columns)
        late = (self.runtimes[cells] > seconds) & (seconds < self.cutoff)
        cost = sum((step.costs for step in kept), np.zeros(len(self.instances)))
        return replace(
            self,
            name=self.name if name is None else name,
            cutoff=seconds,
            recorded_at=None,
            instances=tuple(self.instances[i] for i in rows),
            algorithms=tuple(self.algorithms[k] for k in own),
            feature_names=names,
            features=self.features[np.ix_(rows, columns)],
            runtimes=np.where(late, seconds, self.runtimes[cells]),
            solved=self.solved[cells] & ~late,
            statuses=np.where(late, np.uint8(STATUSES.index("timeout")), self.statuses[cells]),
            feature_cost=(self.feature_cost if len(kept) == len(self.feature_steps) else cost)[rows],
            feature_steps=tuple(
                replace(
                    step,
                    features=tuple(one for one in step.features if one in names),
                    costs=step.costs[rows],
                    statuses=step.statuses[rows],
                )
                for step in kept
            ),
            folds=None if self.folds is None else self.folds[rows],
            ground_truth=None
            if self.ground_truth is None
            else {
                column: values[rows] if isinstance(values, np.ndarray) else tuple(values[i] for i in rows)
                for column, values in self.ground_truth.items()
            },
        )

    def _kept_steps(
        self, features: Iterable[str] | None, steps: Iterable[str] | None
    ) -> tuple[list[FeatureStep], NDArray[np.intp]]:
        """Return the feature steps that a part needs, and the positions of its features."""
        given = _places("steps", tuple(step.name for step in self.feature_steps), steps)
        columns = _places("features", self.feature_names, features, empty=True)
        chosen = {self.feature_names[j] for j in columns}
        needed = {
            step.name
            for step in (self.feature_steps[i] for i in given)
            if features is None or chosen & set(step.features)
        }
        for _ in self.feature_steps:  # a chain of requirements is no longer than that
            needed |= {one for step in self.feature_steps if step.name in needed for one in step.requires}
        gone = {
            one: step.name for step in self.feature_steps if step.name not in needed for one in step.features
        }
        for one in chosen & set(gone) if features is not None else ():
            raise InputError(f"features: {one!r} needs the step {gone[one]!r}", field="features")
        kept = [step for step in self.feature_steps if step.name in needed]
        return kept, np.array([j for j in columns if self.feature_names[j] not in gone], dtype=np.intp)

    def losses(self, penalty: float = PENALTY) -> Array:
        """Return the PARk loss of every run, shape (n, K): its time if solved, else `penalty` cutoffs."""
        return np.where(self.solved, self.runtimes, penalty * self.cutoff)

    def status(self, instance: int, algorithm: int) -> str:
        """Return how a run ended, in ASlib's words."""
        return STATUSES[int(self.statuses[instance, algorithm])]

    def timeout_shares(self) -> Array:
        """Return the share of instances that each algorithm leaves unsolved, shape (K,)."""
        return np.asarray((~self.solved).mean(axis=0))

    @staticmethod
    def read(path: str | os.PathLike[str], *, cache: bool = True) -> Scenario:
        """Return the scenario in the folder `path`, which holds its ASlib files.

        With `cache`, what was read is kept in the user's cache folder under a digest of the files' bytes,
        so that the next time is fast and never stale.
        """
        from tailcut.scenarios.aslib_reader import read

        return read(path, cache=cache)

    @staticmethod
    def from_frames(
        runs: Frame,
        features: Frame,
        *,
        cutoff: float,
        name: str = "scenario",
        feature_costs: Frame | None = None,
    ) -> Scenario:
        """Return a scenario made of tables: mappings of columns, or pandas or polars data frames.

        `runs` has the columns instance, algorithm, runtime and, optionally, status and repetition;
        `features` has instance, optionally repetition, and one column per feature; `feature_costs`, if
        given, has instance, optionally repetition, and one column of seconds per feature step. None and
        nan are missing values. Without a status, a run is `ok` if its runtime is at most the cutoff, and
        else a `timeout`.
        """
        from tailcut.scenarios.frames import from_tables, read_frame

        costs = None if feature_costs is None else read_frame("feature_costs", feature_costs)
        return from_tables(read_frame("runs", runs), read_frame("features", features), costs, cutoff, name)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the scenario's ASlib files into `folder`; reading them gives an equal scenario."""
        from tailcut.scenarios.aslib_writer import write

        write(self, folder)


def _places(
    field: str, names: tuple[str, ...], wanted: Iterable[str] | None, *, empty: bool = False
) -> NDArray[np.intp]:
    """Return the positions of the wanted names; of all if none are given."""
    if wanted is None:
        return np.arange(len(names))
    chosen = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in chosen:
        if name not in names:
            raise InputError(f"{field}: there is no {name!r}{did_you_mean(name, names)}", field=field)
    if not (chosen or empty):
        raise InputError(f"{field}: expected at least one", field=field)
    return np.array([i for i, name in enumerate(names) if name in set(chosen)], dtype=np.intp)


@dataclass(frozen=True, eq=False, repr=False)
class QualityScenario:
    """What K algorithms achieved on n instances with d features, by a measure such as accuracy.

    >>> scenario = QualityScenario("tiny", "accuracy", True, ("i", "j"), ("a", "b"), ("x",), np.zeros((2, 1)),
    ...     values=np.array([[0.9, 0.5], [0.7, np.nan]]))
    >>> scenario
    QualityScenario('tiny': 2 instances, 2 algorithms, 1 feature, accuracy to maximise)
    >>> scenario.ratings.tolist()  # the best value counts 0, the worst 1, as does a run without a value
    [[0.0, 1.0], [0.5000000000000001, 1.0]]
    """

    name: str
    measure: str
    maximise: bool
    """Whether more is better."""
    instances: tuple[str, ...]
    algorithms: tuple[str, ...]
    feature_names: tuple[str, ...]
    features: Array
    """Mean over repetitions, nan where missing, shape (n, d)."""
    values: Array
    """The measure as recorded, median over repetitions, nan for a run without one, shape (n, K)."""
    cutoff: float = 1.0
    """Seconds that runs had, where that is recorded; it counts for nothing."""
    folds: NDArray[np.int64] | None = None
    """Fold of each instance in the first repetition of the scenario's cross-validation, shape (n,)."""

    def __repr__(self) -> str:
        aim = "maximise" if self.maximise else "minimise"
        return f"QualityScenario({self.name!r}: {_counts(self)}, {self.measure} to {aim})"

    @cached_property
    def ratings(self) -> Array:
        """The loss of every run, shape (n, K): 0 for the best value of the scenario, 1 for the worst.

        A run without a value, for example a failed one, has a loss of 1.
        """
        worst, best = float(np.nanmin(self.values)), float(np.nanmax(self.values))
        if not self.maximise:
            worst, best = best, worst
        ratings = np.nan_to_num(np.abs(self.values - best) / (abs(worst - best) or 1.0), nan=1.0)
        ratings.flags.writeable = False
        return ratings

    @cached_property
    def runtimes(self) -> Array:
        """The cutoff, for every run: how long it took is not known. What `fit` needs beside the ratings."""
        return np.full(self.values.shape, self.cutoff)

    @cached_property
    def solved(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.values)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> QualityScenario:
        """Return the scenario in the folder `path`, whose first performance measure is a solution quality."""
        from tailcut.scenarios.aslib_reader import read_quality

        return read_quality(path)


def _counts(scenario: Scenario | QualityScenario) -> str:
    counts = map(len, (scenario.instances, scenario.algorithms, scenario.feature_names))
    things = zip(counts, ("instance", "algorithm", "feature"), strict=True)
    return ", ".join(f"{count} {word}{'s' * (count != 1)}" for count, word in things)
