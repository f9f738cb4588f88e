"""A few coordinates of an instance, from its features: along them solvers may differ."""

from __future__ import annotations

import numpy as np

from tailcut.types import Array

COMPONENTS = 8
"""Principal components at most."""


def basis(features: Array, components: int = COMPONENTS) -> Array:
    """Return the leading principal components of features, (n, d) -> (n, q); rows have a mean square of 1.

    Features are standardised after a signed logarithm; a missing one lies in the middle.
    Instances without any features lie in the middle of all.

    >>> basis(np.array([[0.0, 5.0], [1.0, 5.0], [np.nan, 5.0]])).round(2).tolist()
    [[-1.22], [1.22], [0.0]]
    >>> basis(np.ones((4, 3))).shape
    (4, 0)
    """
    n = len(features)
    with np.errstate(over="ignore"):
        values = np.copysign(np.log1p(np.abs(features)), features)
    known = ~np.isnan(values)
    counts = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, values - np.where(known, values, 0.0).sum(axis=0) / counts, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0) / counts)
    varied = spread > 1e-9
    scaled = centred[:, varied] / spread[varied]
    q = min(components, scaled.shape[1], n // 10 + 1)
    if not q:
        return np.zeros((n, 0))
    left, size, _ = np.linalg.svd(scaled, full_matrices=False)
    scores = left[:, :q] * size[:q]
    kept = scores[:, size[:q] > 1e-9 * size[0]]
    return np.asarray(kept / np.sqrt((kept**2).sum(axis=1).mean()))
