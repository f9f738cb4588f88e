"""QualityScenario: recorded runs that are rated by the quality of their answers, not by runtime."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tailcut.scenarios import aslib_reader
from tailcut.scenarios.aslib_reader import QUALITY
from tailcut.scenarios.problems import Problems
from tailcut.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class QualityScenario:
    """What K algorithms achieved on n instances with d features, by a measure such as accuracy.

    >>> scenario = QualityScenario("tiny", "accuracy", True, ("i", "j"), ("a", "b"), ("x",), np.zeros((2, 1)),
    ...     values=np.array([[0.9, 0.5], [0.7, np.nan]]))
    >>> scenario
    QualityScenario('tiny': 2 instances, 2 algorithms, 1 features, accuracy to maximise)
    >>> scenario.ratings.tolist()  # the best value counts 0, the worst 1, as does a run without a value
    [[0.0, 1.0], [0.5000000000000001, 1.0]]
    """

    name: str
    measure: str
    """What the measure is called."""
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
        n, k, d = len(self.instances), len(self.algorithms), len(self.feature_names)
        aim = "maximise" if self.maximise else "minimise"
        counts = f"{n} instances, {k} algorithms, {d} features"
        return f"QualityScenario({self.name!r}: {counts}, {self.measure} to {aim})"

    @property
    def ratings(self) -> Array:
        """The loss of every run, shape (n, K): 0 for the best value of the scenario, 1 for the worst.

        A run without a value, for example a failed one, has a loss of 1.
        """
        worst, best = float(np.nanmin(self.values)), float(np.nanmax(self.values))
        if not self.maximise:
            worst, best = best, worst
        if best == worst:
            return np.where(np.isnan(self.values), 1.0, 0.0)
        return np.nan_to_num(np.abs(self.values - best) / abs(worst - best), nan=1.0)

    @property
    def runtimes(self) -> Array:
        """The cutoff, for every run: how long it took is not known. What `fit` needs beside the ratings."""
        return np.full(self.values.shape, self.cutoff)

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Whether a run has a value, shape (n, K)."""
        return ~np.isnan(self.values)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> QualityScenario:
        """Return the scenario in the folder `path`, whose first performance measure is a solution quality."""
        folder = Path(path)
        problems = Problems()
        found = _build(aslib_reader.load(folder), problems)
        problems.raise_if_any(str(folder))
        assert found is not None, "nothing is given up without an error"
        return found


def _build(files: dict[str, bytes], problems: Problems) -> QualityScenario | None:
    gathered = aslib_reader.gather(files, QUALITY, problems)
    described, runs, parts = gathered
    if described is None or runs is None or problems.errors:
        return None
    if np.isnan(runs.runtimes).all():
        problems.error("algorithm_runs.arff", None, described.measures[0], "no run has a value")
        return None
    return QualityScenario(
        name=described.name,
        measure=described.measures[0],
        maximise=bool(described.maximise and described.maximise[0]),
        instances=runs.instances,
        algorithms=runs.algorithms,
        feature_names=parts["feature_names"],
        features=parts["features"],
        values=runs.runtimes,
        cutoff=described.cutoff if 0.0 < described.cutoff < math.inf else 1.0,
        folds=parts["folds"],
    )
