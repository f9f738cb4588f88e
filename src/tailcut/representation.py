"""From raw features to the vector a model sees: parts that combine into a pipeline.

Raw features may be missing (nan) and of any finite size; the result is finite. Running statistics learn from
each instance before it is transformed. They need no outcome, so late or missing feedback does not affect
them.

>>> represent = pipeline("paper", n_features=2)
>>> represent(np.array([3.0, 4.0])).tolist()
[0.6, 0.8]
>>> represent(np.array([np.nan, 4.0])).tolist()  # 3 is the mean of the first feature so far
[0.6, 0.8]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np

from tailcut.errors import InputError
from tailcut.numerics import representation_kernels as kernels
from tailcut.state import Stateful, expect, expect_finite
from tailcut.types import Array, Features, as_numbers, check_names

LARGEST = 1e150
"""Larger feature values count as this, so that their squares and sums stay finite."""
MISSING = -10.0
"""The value of a missing feature for trees. On a logarithmic scale hardly any feature is that low, so one
threshold separates missing from present values."""
INTERCEPT = math.sqrt(100.0 / 3.0)
"""The constant entry: under a ridge of 100, the prior intercept of 0 has the weight of three runs."""
_SEQUENCES = (np.ndarray, list, tuple)
"""What a vector usually is; to ask whether something else is a mapping takes longer."""


def ordinary(x: Array) -> bool:
    """Return whether no entry is missing, infinite, or so large that its square overflows.

    >>> [ordinary(np.array([1.0, value])) for value in (2.0, np.nan, np.inf, 1e300)]
    [True, False, False, False]
    """
    return kernels.squared_length(x) < math.inf  # unlike numpy's dot, it does not watch for overflow


class FeatureReader:
    """Turns the features of each instance into a vector of fixed length and order.

    The first instance fixes what was not given: the number of features, and their names and order if it is a
    mapping.

    >>> reader = FeatureReader()
    >>> reader.read({"clauses": 850.0, "variables": 200.0}).tolist()
    [850.0, 200.0]
    >>> reader.read({"variables": 100.0}).tolist()
    [nan, 100.0]
    """

    def __init__(self, names: tuple[str, ...] | None = None, width: int | None = None) -> None:
        self.names = names
        self.width = len(names) if names is not None else width

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the features, in order, if they have names."""
        return self._names

    @names.setter
    def names(self, names: tuple[str, ...] | None) -> None:
        self._names, self._name_set = names, frozenset(names or ())

    def copy(self) -> FeatureReader:
        """Return a copy for trying something: what it fixes does not affect this reader."""
        return FeatureReader(self.names, self.width)

    def read(self, features: Features) -> Array:
        """Return a new vector, finite or nan in every entry; None gives one of missing values."""
        if features is None:
            return np.full(self.width or 0, math.nan)
        if isinstance(features, _SEQUENCES) or not isinstance(features, Mapping):
            vector = self._vector(features, self._names)
        else:
            order = self._order(features)
            vector = self._vector(list(map(features.get, order, repeat(math.nan))), order)
            if order is not self.names:
                self.names = order
        self.width = len(vector)
        return vector

    def _order(self, features: Mapping[str, float]) -> tuple[str, ...]:
        """Return the names in their fixed order, which the first mapping sets."""
        if self.names is None:
            if self.width is not None:
                raise InputError(
                    "features have no names here: earlier calls passed plain vectors", field="features"
                )
            return check_names("features", features)
        if not self._name_set.issuperset(features):
            unknown = [str(name) for name in features if name not in self._name_set]
            raise InputError(f"unknown features: {', '.join(unknown)}", field="features")
        return self.names

    def _vector(self, values: Sequence[float] | Array, order: tuple[str, ...] | None) -> Array:
        vector = as_numbers("features", values)
        if vector.ndim != 1:
            raise InputError(
                f"features must be one vector, got an array of shape {vector.shape}", field="features"
            )
        if self.width is not None and len(vector) != self.width:
            raise InputError(f"expected {self.width} features, got {len(vector)}", field="features")
        if ordinary(vector):
            return vector
        infinite = np.isinf(vector)
        if infinite.any():
            position = int(infinite.argmax())
            name = "" if order is None else f" ({order[position]})"
            raise InputError(f"feature {position}{name} is infinite; use nan for missing", field="features")
        return vector


class Views(NamedTuple):
    """Which entries of a vector are meant for which kind of model."""

    linear: slice
    trees: slice


class Part(Stateful):
    """One step from a vector to a vector. The defaults suit a step without memory."""

    def start(self, width: int) -> int:
        """Prepare for vectors of `width` entries, forgetting all before; return the width of the output."""
        return width

    def __call__(self, x: Array, *, learn: bool = True) -> Array:  # noqa: ARG002
        """Return `x` (shape (width,)) transformed, unchanged itself; learn from it if the part learns."""
        raise TypeError(f"{type(self).__name__} must define __call__")

    def transform(self, x: Array) -> Array:
        """Return `x` transformed, learning nothing."""
        return self(x, learn=False)

    def views(self) -> Views:
        """Return which entries of the output are meant for which models; by default all for all."""
        return Views(slice(None), slice(None))


class Ignore(Part):
    """Turn every vector into the empty one.

    >>> Ignore()(np.array([1.0, np.nan])).tolist()
    []
    """

    def start(self, width: int) -> int:  # noqa: ARG002
        return 0

    def __call__(self, x: Array, *, learn: bool = True) -> Array:  # noqa: ARG002
        return np.empty(0, dtype=x.dtype)


class SignedLog(Part):
    """Squash each feature to sign(x) log(1 + |x|); nan stays nan.

    >>> SignedLog()(np.array([0.0, 1e300, -1e300])).round(1).tolist()
    [0.0, 690.8, -690.8]
    """

    def __call__(self, x: Array, *, learn: bool = True) -> Array:  # noqa: ARG002
        return kernels.signed_log(x)


class MarkMissing(Part):
    """Replace missing values by one that a tree can split off.

    >>> MarkMissing()(np.array([2.0, np.nan])).tolist()
    [2.0, -10.0]
    """

    def __call__(self, x: Array, *, learn: bool = True) -> Array:  # noqa: ARG002
        return x if ordinary(x) else np.where(np.isnan(x), MISSING, x)


class Intercept(Part):
    """Append the constant `value`.

    It is large, so that a ridge hardly shrinks the intercept: a constant of 10 has the prior deviation of 10
    features.

    >>> Intercept()(np.array([5.0])).tolist()
    [5.0, 10.0]
    """

    def __init__(self, *, value: float = 10.0) -> None:
        self.value = value

    def start(self, width: int) -> int:
        return width + 1

    def __call__(self, x: Array, *, learn: bool = True) -> Array:  # noqa: ARG002
        return kernels.appended(x, self.value)


class UnitNorm(Part):
    """Scale a vector to unit length; the zero vector is unchanged.

    >>> UnitNorm()(np.array([3e300, 4e300])).tolist()
    [0.6, 0.8]
    >>> UnitNorm()(np.array([0.0, 0.0])).tolist()
    [0.0, 0.0]
    """

    def __call__(self, x: Array, *, learn: bool = True) -> Array:  # noqa: ARG002
        return kernels.unit_norm(x)


class ImputeMean(Part):
    """Replace nan by the running mean of that feature, and by 0 before its first value.

    >>> impute = ImputeMean()
    >>> _ = impute.start(1)
    >>> [float(impute(np.array([value]))[0]) for value in (np.nan, 2.0, 4.0, np.nan)]
    [0.0, 2.0, 4.0, 3.0]
    """

    STATE = ("seen", "total")

    def start(self, width: int) -> int:
        self.seen = np.zeros(width)
        self.total = np.zeros(width)
        return width

    def restored(self) -> None:
        expect_finite(seen=self.seen, total=self.total)

    def __call__(self, x: Array, *, learn: bool = True) -> Array:
        return kernels.impute(x, self.seen, self.total, LARGEST, learn)


class Standardise(Part):
    """Subtract the running mean, divide by the running deviation, clip, and scale to `norm`.

    The statistics (Welford's sums) include the vector itself. A missing value becomes 0, the mean, and so
    does a feature that has not varied yet. All entries are multiplied by norm / sqrt(d), so that the vector's
    length does not depend on the number of features.

    >>> part = Standardise(clip=4.0, norm=1.0)
    >>> _ = part.start(1)
    >>> [round(float(part(np.array([value]))[0]), 3) for value in (5.0, 7.0, np.nan, 1e9)]
    [0.0, 1.0, 0.0, 1.414]
    """

    STATE = ("seen", "mean", "squares")

    def __init__(self, *, clip: float = 4.0, norm: float = 4.0) -> None:
        self.clip = clip
        self.norm = norm

    def start(self, width: int) -> int:
        self.seen = np.zeros(width)
        self.mean = np.zeros(width)
        self.squares = np.zeros(width)
        self.scale = self.norm / math.sqrt(max(width, 1))
        return width

    def restored(self) -> None:
        expect_finite(seen=self.seen, mean=self.mean, squares=self.squares)
        expect((self.squares >= 0.0).all(), "squares: a sum of squares is less than 0")

    def __call__(self, x: Array, *, learn: bool = True) -> Array:
        return kernels.standardise(
            x, self.seen, self.mean, self.squares, self.clip, self.scale, LARGEST, learn
        )


class Twofold(Part):
    """The instance twice in one vector: standardised with an intercept, and as it is, for trees.

    Trees only test whether a value is below a threshold. Running standardisation would change the meaning of
    a threshold during the stream, and hide which values are missing; for them these are marked (`MISSING`).

    >>> part = Twofold()
    >>> part.start(2), part.views()
    (5, Views(linear=slice(0, 3, None), trees=slice(3, 5, None)))
    >>> part(np.array([2.0, np.nan])).round(1).tolist()
    [0.0, 0.0, 5.8, 2.0, -10.0]
    """

    STATE = ("standardise",)

    def __init__(self) -> None:
        self.standardise = Standardise()

    def start(self, width: int) -> int:
        self.n_linear = self.standardise.start(width) + 1
        return self.n_linear + width

    def views(self) -> Views:
        width = self.n_linear + len(self.standardise.mean)
        return Views(slice(0, self.n_linear), slice(self.n_linear, width))

    def __call__(self, x: Array, *, learn: bool = True) -> Array:
        own = self.standardise
        return kernels.twofold(
            x, own.seen, own.mean, own.squares, own.clip, own.scale, LARGEST, learn, INTERCEPT, MISSING
        )


class Pipeline(Part):
    """Parts applied one after the other.

    >>> chain = Pipeline([SignedLog(), Intercept(value=1.0)], n_features=1)
    >>> chain.width, chain(np.array([np.e - 1])).tolist()
    (2, [1.0, 1.0])
    """

    STATE = ("parts",)

    def __init__(self, parts: Sequence[Part], n_features: int) -> None:
        self.parts = tuple(parts)
        self.add_features(n_features)

    def add_features(self, n_features: int) -> None:
        """Accept vectors of this many entries from now on; there were none to learn from before."""
        self.n_features = n_features
        """The width of the input; `width` is that of the output."""
        self.width = self.start(n_features)

    def start(self, width: int) -> int:
        for part in self.parts:
            width = part.start(width)
        return width

    def views(self) -> Views:
        return self.parts[-1].views()

    def __call__(self, x: Array, *, learn: bool = True) -> Array:
        for part in self.parts:
            x = part(x, learn=learn)
        return x

    def fit_transform(self, features: Array) -> Array:
        """Learn from many vectors, shape (n, d), then return all of them transformed, shape (n, width).

        All vectors are learned before the first is transformed, so every row is on the same scale as the next
        single vector. Models cannot learn well from values whose unit keeps changing.
        """
        for x in features:
            self(x)
        rows = [self.transform(x) for x in features]
        return np.array(rows, dtype=np.float64).reshape(len(rows), self.width)


PIPELINES: dict[str, tuple[type[Part], ...]] = {
    "none": (Ignore,),
    "paper": (ImputeMean, UnitNorm),
    "standardised": (SignedLog, Standardise, Intercept),
    "centred": (SignedLog, Standardise),
    "twofold": (SignedLog, Twofold),
    "trees": (SignedLog, MarkMissing),
}
"""Named combinations. A new one is one more line here."""


def pipeline(name: str, n_features: int) -> Pipeline:
    """Return a fresh pipeline of the combination called `name`."""
    return Pipeline([part() for part in PIPELINES[name]], n_features)
