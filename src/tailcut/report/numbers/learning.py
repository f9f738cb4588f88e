"""How fast selectors learn: nPARk in parts of the stream, and when they overtake the single best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tailcut.types import Array


@dataclass(frozen=True)
class Learning:
    """One selector over the stream."""

    selector: str
    at: Array
    """Instances served at the end of each part, shape (parts,)."""
    npar: Array
    """nPARk within each part: against VBS and SBS on the same instances, shape (parts,)."""
    break_even: int | None
    """From so many instances on its total stays at or below the single best's; None if never."""


def learning(
    selector: str, losses: dict[int, Array], sbs: dict[int, Array], vbs: dict[int, Array], parts: int = 8
) -> Learning | None:
    """Return how a selector learns; the arguments map seeds to losses per step in the same order.

    >>> one = np.array([4.0, 4.0, 1.0, 1.0])
    >>> found = learning("x", {0: one}, {0: np.full(4, 3.0)}, {0: np.ones(4)}, parts=2)
    >>> found.npar.tolist(), found.break_even
    ([1.5, 0.0], 3)
    """
    seeds = [seed for seed in losses if seed in sbs and seed in vbs]
    if not seeds:
        return None
    own, single, virtual = (np.mean([by[seed] for seed in seeds], axis=0) for by in (losses, sbs, vbs))
    n = len(own)
    edges = np.unique(np.linspace(0, n, min(parts, n) + 1).astype(int))
    sums = [np.add.reduceat(trace, edges[:-1]) for trace in (own, single, virtual)]
    gap = sums[1] - sums[2]
    npar = np.array(
        [(a - c) / g if g > 0 else math.nan for a, c, g in zip(sums[0], sums[2], gap, strict=True)]
    )
    behind = np.flatnonzero(np.cumsum(own) > np.cumsum(single) * (1.0 + 1e-12))
    last = int(behind[-1]) + 1 if len(behind) else 0
    return Learning(selector, edges[1:].astype(float), npar, last + 1 if last < n else None)


def learnings(selectors: Sequence[str], losses: Mapping[str, dict[int, Array]]) -> tuple[Learning, ...]:
    """Return how each of the selectors learns; `losses` maps selector -> seed -> losses per step."""
    sbs, vbs = losses.get("sbs", {}), losses.get("oracle", {})
    every = (learning(name, losses.get(name, {}), sbs, vbs) for name in selectors)
    return tuple(one for one in every if one is not None)
