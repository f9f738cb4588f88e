"""The curves of one scenario: regret over time, shares of choices, instances solved by a given time.

All come from the traces that a result file keeps per step; the same seed means the same order of instances.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tailcut.report.numbers.results import CellRow
from tailcut.types import Array

POINTS = 120
"""At most so many points per curve: more than a figure can show, few enough for a page."""


@dataclass(frozen=True)
class Band:
    """A curve with a deviation over seeds."""

    name: str
    mean: Array
    """Shape (points,)."""
    deviation: Array
    """Population standard deviation over seeds, shape (points,)."""


@dataclass(frozen=True)
class StreamCurves:
    """Several curves over the same abscissa."""

    scenario: str
    at: Array
    """Instances served, or seconds, shape (points,)."""
    bands: tuple[Band, ...]


@dataclass(frozen=True)
class Shares:
    """How often each algorithm is chosen, in consecutive windows of the stream."""

    selector: str
    at: Array
    """Instances served at the end of each window, shape (windows,)."""
    share: Array
    """Shape (windows, K); rows sum to 1, or to 0 where nothing was chosen."""


def sampled(n: int, points: int = POINTS) -> NDArray[np.intp]:
    """Return at most `points` of the steps 0..n-1, evenly spread, the last one included.

    >>> sampled(5).tolist(), sampled(1000, 4).tolist()
    ([0, 1, 2, 3, 4], [0, 333, 666, 999])
    """
    return np.unique(np.linspace(0, n - 1, min(n, points)).astype(np.intp))


def regret(
    scenario: str, losses: dict[str, dict[int, Array]], oracle: dict[int, Array]
) -> StreamCurves | None:
    """Return cumulative regrets against the oracle: sums of (loss - the oracle's loss), over seeds.

    `losses` maps selector -> seed -> losses per step, shape (n,), `oracle` seed -> losses in the same
    order. Seeds without an oracle are left out; None if nothing remains.
    """
    if not oracle:
        return None
    steps = sampled(len(next(iter(oracle.values()))))
    bands = []
    for selector, by_seed in losses.items():
        sums = [np.cumsum(by_seed[seed] - oracle[seed])[steps] for seed in by_seed if seed in oracle]
        if sums:
            bands.append(_band(selector, sums))
    return StreamCurves(scenario, (steps + 1).astype(float), tuple(bands)) if bands else None


def solved_by(scenario: str, losses: dict[str, dict[int, Array]], cutoff: float) -> StreamCurves:
    """Return the share of instances solved within t seconds, for t up to the cutoff, over seeds."""
    fastest = min(float(trace.min()) for by_seed in losses.values() for trace in by_seed.values())
    times = np.geomspace(max(fastest, cutoff * 1e-5), cutoff, POINTS)
    times[-1] = cutoff  # exactly: what was solved right at the cutoff counts
    bands = tuple(
        _band(
            selector,
            [np.searchsorted(np.sort(trace), times, side="right") / len(trace) for trace in by_seed.values()],
        )
        for selector, by_seed in losses.items()
    )
    return StreamCurves(scenario, times, bands)


def _band(name: str, curves: Sequence[Array]) -> Band:
    stack = np.stack(curves)
    return Band(name, stack.mean(axis=0), stack.std(axis=0))


def shares(
    selector: str, choices: Sequence[NDArray[np.int16]], n_algorithms: int, windows: int = 24
) -> Shares:
    """Return the shares of the algorithms in consecutive windows, over all seeds; choices of shape (n,).

    >>> shares("x", [np.array([0, 1, 1, 1], dtype=np.int16)], 2, windows=2).share.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    n = len(choices[0])
    edges = np.unique(np.linspace(0, n, min(n, windows) + 1).astype(int))
    rows = []
    for start, stop in pairwise(edges.tolist()):
        inside = np.concatenate([trace[start:stop] for trace in choices])
        inside = inside[inside >= 0]  # a schedule without time to run anything chooses nothing
        rows.append(np.bincount(inside, minlength=n_algorithms) / max(len(inside), 1))
    return Shares(selector, edges[1:].astype(float), np.array(rows))


def cutoff_of(cells: Sequence[CellRow], losses: Callable[[CellRow], Array]) -> float | None:
    """Return the cutoff that follows from the traces: an unsolved instance costs penalty x cutoff.

    None where every instance was solved by every selector, for then the traces do not show it.
    """
    for cell in cells:
        if cell.unsolved > 0.0 and cell.penalty > 1.0:
            return float(losses(cell).max()) / cell.penalty
    return None
