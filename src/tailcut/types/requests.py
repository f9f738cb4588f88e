"""A request: an instance that needs a decision, and what applies to it alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from tailcut.checks.inputs import check_names, check_seconds
from tailcut.errors import InputError
from tailcut.types.arrays import Features


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of `select`: an instance, and what applies to it alone.

    A selector, a project of a journal and the service's client all build one, so they have the same
    parameters.

    >>> Request([0.5, float("nan")], instance="i1", among=["b", "a"]).to_dict()["features"]
    [0.5, None]
    """

    features: Features = None
    instance: str | None = None
    cutoff: float | None = None
    """Seconds for this instance; None: the selector's own."""
    among: Iterable[str] | None = None
    """Which algorithms may be chosen, a tuple once checked; None: all."""
    spent: float = 0.0
    """Seconds used on the instance before, without the features."""
    feature_cost: float = 0.0
    """Seconds that computing the features took, even if it was given up."""
    failed: Mapping[str, float] | None = None
    """In a race: for how many seconds algorithms have already run on the instance without an answer."""

    def __post_init__(self) -> None:
        """Check everything that can be checked without knowing the selector."""
        if self.failed is not None:
            checked = {name: check_seconds("failed", seconds) for name, seconds in self.failed.items()}
            self._settle("failed", checked)
        if self.instance is not None and not isinstance(self.instance, str):
            raise InputError(f"instance must be a string, got {self.instance!r}", field="instance")
        if self.cutoff is not None:
            self._settle("cutoff", check_seconds("cutoff", self.cutoff, above_zero=True))
        if self.among is not None:
            self._settle("among", check_names("among", self.among))
        if self.spent != 0.0 or self.feature_cost != 0.0:
            self._settle("spent", check_seconds("spent", self.spent))
            self._settle("feature_cost", check_seconds("feature_cost", self.feature_cost))

    def _settle(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def limit(self, cutoff: float) -> float:
        """Return the seconds after which the instance counts as unsolved; `cutoff` is the selector's."""
        return cutoff if self.cutoff is None else self.cutoff

    def used(self, cutoff: float) -> float:
        """Return the seconds used before the run; raise if nothing of `cutoff` is left.

        >>> Request(spent=5, feature_cost=2).used(cutoff=60.0)
        7.0
        """
        if self.spent == 0.0 and self.feature_cost == 0.0:
            return 0.0
        check_time_left("spent", self.spent, cutoff)
        check_time_left("feature_cost", self.feature_cost, cutoff)
        return check_time_left("spent + feature_cost", self.spent + self.feature_cost, cutoff)

    def to_dict(self) -> dict[str, Any]:
        """Return the request as JSON values; a missing feature value is None, and `failed` may be absent."""
        failed = {} if self.failed is None else {"failed": dict(self.failed)}
        return {
            "features": _plain_features(self.features),
            "instance": self.instance,
            "cutoff": self.cutoff,
            "among": None if self.among is None else list(self.among),
            "spent": self.spent,
            "feature_cost": self.feature_cost,
            **failed,
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Request:
        """Return the request that `to_dict` turned into `values`; other keys are ignored."""
        always = {one.name: values[one.name] for one in fields(Request) if one.name != "failed"}
        return Request(**always, failed=values.get("failed"))


def check_time_left(field: str, seconds: float, cutoff: float) -> float:
    """Return seconds used before a run, or say that they leave nothing of the cutoff.

    >>> check_time_left("spent", 61, cutoff=60.0)
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: spent must be less than the cutoff of 60 s, got 61: no time is left to run
    """
    if seconds >= cutoff:
        raise InputError(
            f"{field} must be less than the cutoff of {cutoff:g} s, got {seconds!r}: no time is left to run",
            field=field.partition(" ")[0],
        )
    return seconds


def _plain_features(features: Features) -> list[float | None] | dict[str, float | None] | None:
    if features is None:
        return None
    if isinstance(features, Mapping):
        return {name: _plain(value) for name, value in features.items()}
    if isinstance(features, list) and _all_finite(features):
        return list(features)
    return [_plain(value) for value in features]


def _all_finite(values: Sequence[Any]) -> bool:
    """Return True if all are certainly finite numbers; False if a slower check is needed."""
    try:
        return type(sum(values, 0.0)) is float and math.isfinite(sum(values))
    except (TypeError, OverflowError):
        return False


def _plain(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
