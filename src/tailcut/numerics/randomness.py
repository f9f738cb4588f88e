"""Independent random streams, each known by the seed and a name.

Two parts that draw from streams of different names never disturb each other: adding a draw to one
leaves the other's numbers as they were.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the random stream called `name` of the experiment numbered `seed`.

    >>> float(stream(0, "explore").random()) == float(stream(0, "explore").random())
    True
    >>> float(stream(0, "explore").random()) == float(stream(0, "censoring").random())
    False
    """
    sequence = np.random.SeedSequence([seed, zlib.crc32(name.encode())])
    return np.random.Generator(np.random.PCG64(sequence))


class Still(np.random.Generator):
    """A stream without randomness: every draw is the centre of its distribution.

    For asking what a part that draws would do without randomness: a Thompson sample is then the mean.

    >>> Still().standard_normal(2).tolist(), Still().random(1).tolist()
    ([0.0, 0.0], [0.5])
    """

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def standard_normal(self, size: Any = None, *_more: Any, **_named: Any) -> Any:
        return 0.0 if size is None else np.zeros(size)

    def random(self, size: Any = None, *_more: Any, **_named: Any) -> Any:
        return 0.5 if size is None else np.full(size, 0.5)
