"""Which instances of a stream are measured with every solver before the others start."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tailcut.errors import InputError
from tailcut.types import Array, check_seconds


class MeasureChoice(StrEnum):
    """How the instances to measure are chosen."""

    FIRST = "first"
    RANDOM = "random"
    DIVERSE = "diverse"
    """Each as different from the earlier ones as possible, by its features."""

    @staticmethod
    def parse(text: str) -> MeasureChoice:
        """Return the choice of this name."""
        try:
            return MeasureChoice(text)
        except ValueError:
            raise InputError(
                f"measure_choice must be one of {', '.join(MeasureChoice)}, got {text!r}",
                field="measure_choice",
            ) from None


@dataclass(frozen=True)
class MeasureFirst:
    """How many instances are measured, which ones, and how long each solver runs."""

    count: int
    choice: MeasureChoice = MeasureChoice.FIRST
    cutoff: float | None = None
    """Seconds for each extra run; None: the stream's cutoff."""

    def limit(self, cutoff: float) -> float:
        """Return the seconds for each extra run of a stream with this cutoff."""
        if self.cutoff is None:
            return cutoff
        limit = check_seconds("measure_cutoff", self.cutoff, above_zero=True)
        if limit > cutoff:
            raise InputError(
                f"measure_cutoff {limit:g} s is longer than the cutoff, {cutoff:g} s", field="measure_cutoff"
            )
        return limit


def in_random_order(names: Sequence[str], seed: int) -> list[str]:
    """Return shuffled names; the order of two names does not depend on the others.

    >>> in_random_order(["a", "b", "c", "d"], seed=1)
    ['c', 'a', 'b', 'd']
    >>> in_random_order(["d", "c", "a"], seed=1)
    ['c', 'a', 'd']
    """
    return sorted(
        names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode(errors="surrogateescape")).digest()
    )


def most_diverse(features: Mapping[str, Mapping[str, float]], chosen: Sequence[str], count: int) -> list[str]:
    """Return `count` names, each the farthest from those chosen before it, the first next to the middle.

    Features are standardised after a signed logarithm, and missing values count as the mean. Names in
    `chosen` are already chosen and are not returned. Names without features come last.

    >>> features = {"a": {"x": 1.0}, "b": {"x": 2.0}, "c": {"x": 2.1}, "d": {"x": 1000.0}, "e": {}}
    >>> most_diverse(features, [], 3)
    ['c', 'd', 'a']
    >>> most_diverse(features, ["c", "d"], 1)
    ['a']
    """
    names = list(features)
    points = _standardised([features[name] for name in names])
    with_features = np.array([bool(features[name]) for name in names], dtype=bool)
    distance = np.full(len(names), np.inf)
    taken = np.zeros(len(names), dtype=bool)
    picked: list[str] = []

    def take(number: int) -> None:
        taken[number] = True
        away = np.linalg.norm(points - points[number], axis=1)
        np.minimum(distance, away, out=distance)

    for name in chosen:
        if name in features:
            take(names.index(name))
    while len(picked) < count and not taken.all():
        if taken.any():
            worth = np.where(with_features, distance, -1.0)
        else:
            worth = np.where(with_features, -np.linalg.norm(points, axis=1), -np.inf)
        number = int(np.argmax(np.where(taken, -np.inf, worth)))
        if taken[number]:  # all remaining ones are equally far: take the first
            number = int(np.argmin(taken))
        take(number)
        picked.append(names[number])
    return picked


def _standardised(rows: Sequence[Mapping[str, float]]) -> Array:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    values = np.array([[row.get(name, np.nan) for name in columns] for row in rows], dtype=np.float64)
    values = values.reshape(len(rows), len(columns))
    values = np.copysign(np.log1p(np.abs(values)), values)
    known = ~np.isnan(values)
    counts = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0) / counts
    centred = np.where(known, values - mean, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0) / counts)
    scaled: Array = centred / np.where(spread > 1e-9, spread, 1.0)
    return scaled
