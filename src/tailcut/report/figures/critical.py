"""The critical-difference diagram: average ranks on a line, bars under those not shown to differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailcut.bench.ranks import Ranking
from tailcut.report.figures.canvas import sheet, shortened, styled
from tailcut.report.style import INK, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def cliques(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Return the largest runs of increasing ranks that span at most `difference`, as (first, last).

    >>> cliques([1.0, 1.5, 2.2, 4.0, 4.1], 1.0)
    [(0, 1), (1, 2), (3, 4)]
    """
    found: list[tuple[int, int]] = []
    for first, low in enumerate(ranks):
        last = max(i for i, rank in enumerate(ranks) if rank - low <= difference)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


@styled
def draw(ranked: Ranking, par: str) -> Figure:
    """Return the diagram (Demšar, JMLR 2006, figure 1): the better half named left, the others right."""
    names, ranks = ranked.selectors, ranked.average_ranks
    k = len(names)
    bars = cliques(ranks, ranked.critical_difference)
    half = (k + 1) // 2
    step, bar_step = 0.24, 0.13
    depth = 0.2 + bar_step * len(bars)
    height = 0.95 + depth + step * half
    figure, grid = sheet(8.0, height)
    axes = grid[0, 0]
    axes.set_axis_off()
    figure.subplots_adjust(left=0.28, right=0.72, bottom=0.01, top=0.99)
    low, high = 1.0, float(k)
    axes.set_xlim(low, high)
    axes.set_ylim(-(depth + step * half), 0.95)
    axes.plot([low, high], [0.0, 0.0], color=INK, linewidth=0.9, clip_on=False)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [0.0, 0.06], color=INK, linewidth=0.9, clip_on=False)
        axes.text(tick, 0.1, str(tick), ha="center", va="bottom", fontsize=8)
    for number, (first, last) in enumerate(bars):
        y = -0.14 - bar_step * number
        axes.plot([ranks[first] - 0.05, ranks[last] + 0.05], [y, y], color=INK, linewidth=3.2, alpha=0.75,
                  solid_capstyle="round", clip_on=False)  # fmt: skip
    pad = 0.03 * (high - low)
    for i, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = i < half
        y = -(depth + step * (i if left else k - 1 - i) + 0.08)
        edge, align = (low - pad, "right") if left else (high + pad, "left")
        chosen = look(name)
        axes.plot([rank, rank, edge], [0.0, y, y], color=chosen.colour, linewidth=1.1, clip_on=False)
        text = f"{shortened(name)}  {rank:.2f}" if left else f"{rank:.2f}  {shortened(name)}"
        axes.text(edge + (-pad if left else pad) / 3, y, text, ha=align, va="center", fontsize=8.5)
    _ruler(axes, ranked, par, low)
    return figure


def _ruler(axes: Axes, ranked: Ranking, par: str, low: float) -> None:
    """Draw the length of the critical difference above the axis."""
    end = low + ranked.critical_difference
    axes.plot([low, end], [0.5, 0.5], color=INK, linewidth=1.6, clip_on=False)
    for x in (low, end):
        axes.plot([x, x], [0.45, 0.55], color=INK, linewidth=1.2, clip_on=False)
    label = (
        f"critical difference {ranked.critical_difference:.2f} (Nemenyi, level {ranked.alpha:g}, "
        f"{len(ranked.scenarios)} scenarios); average rank by {par}"
    )
    axes.text(low, 0.64, label, ha="left", va="bottom", fontsize=8.5)
