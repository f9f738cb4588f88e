"""Instances solved within t seconds: an empirical distribution, per selector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailcut.report.figures.canvas import drawn, legend_right, plain_log, sheet, styled
from tailcut.report.numbers.stream_curves import StreamCurves
from tailcut.report.style import look

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def draw(curves: StreamCurves, featured: Sequence[str]) -> Figure:
    """Return the curves of the featured selectors and the hindsight baselines, up to the cutoff."""
    from matplotlib.ticker import PercentFormatter

    figure, grid = sheet(6.4, 3.6)
    axes = grid[0, 0]
    by_name = {band.name: band for band in curves.bands}
    for name in featured:
        if name in by_name:
            band = by_name[name]
            axes.fill_between(curves.at, band.mean - band.deviation, band.mean + band.deviation,
                              color=look(name).colour, alpha=0.15, linewidth=0)  # fmt: skip
            axes.plot(curves.at, band.mean, **drawn(name))
    axes.set_xscale("log")
    axes.set_xlim(curves.at[0], curves.at[-1])
    axes.set_ylim(0, None)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    plain_log(axes, "x")
    axes.set_xlabel("seconds, up to the cutoff (features included where used)")
    axes.set_ylabel("instances solved")
    axes.set_title(curves.scenario, loc="left")
    figure.subplots_adjust(left=0.1, right=0.63, bottom=0.15, top=0.91)
    legend_right(figure, axes, 0.65)
    return figure
