"""Median rePARk against the time of a decision: lower left is better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailcut.bench.labels import labelled
from tailcut.report.figures.canvas import legend_right, plain_log, sheet, styled
from tailcut.report.numbers.scatters import Scatter
from tailcut.report.style import look

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def draw(scatter: Scatter, par: str) -> Figure:
    """Return the scatter plot; a point's legend entry has its marker and colour."""
    figure, grid = sheet(6.4, 3.6)
    axes = grid[0, 0]
    for point in scatter.points:
        chosen = look(point.selector)
        lines_only = chosen.marker in "x+1"
        axes.plot(
            [point.decision_us / 1e3],
            [point.repar_median],
            linestyle="none",
            marker=chosen.marker,
            markersize=11 if chosen.marker == "*" else 8,
            color=chosen.colour,
            markeredgecolor=chosen.colour if lines_only else "white",
            markeredgewidth=2.0 if lines_only else 0.6,
            label=labelled(point.selector),
        )
    axes.set_xscale("log")
    axes.margins(0.12)
    plain_log(axes, "x")
    axes.set_xlabel("decision time per instance, ms (mean over scenarios)")
    axes.set_ylabel(f"median re{par} over scenarios")
    axes.set_title(scatter.title, loc="left")
    figure.subplots_adjust(left=0.1, right=0.63, bottom=0.15, top=0.91)
    legend_right(figure, axes, 0.65)
    return figure
