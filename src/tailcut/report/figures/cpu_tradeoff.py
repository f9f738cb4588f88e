"""nPARk of the answers against extra CPU time: one curve per selector, each point named by its amount."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailcut.report.figures.canvas import drawn, sheet, styled
from tailcut.report.numbers.extra_cpu import CpuCurve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))


@styled
def draw(curves: Sequence[CpuCurve], par: str) -> Figure:
    """Return the figure; lower left is better."""
    from matplotlib.ticker import PercentFormatter

    figure, grid = sheet(7.0, 3.8)
    axes = grid[0, 0]
    ways = list(dict.fromkeys(curve.how for curve in curves))
    for curve in curves:
        look = drawn(curve.selector, marker=True)
        look["linestyle"] = _DASHES[ways.index(curve.how) % len(_DASHES)]
        look["label"] = f"{curve.selector}, {curve.how}"
        axes.plot([point.extra for point in curve.points], [point.npar for point in curve.points], **look)
        for point in curve.points:
            axes.annotate(
                f"{point.amount:g}",
                (point.extra, point.npar),
                textcoords="offset points",
                xytext=(4, 5),
                fontsize=7.5,
                color=look["color"],
            )
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0))
    axes.margins(0.08)
    count = curves[0].scenarios
    axes.set_xlabel("extra CPU time, as a share of that of the answers")
    axes.set_ylabel(f"mean n{par} of the answers")
    axes.set_title(f"Mean over {count} scenario{'s' * (count != 1)}", loc="left")
    figure.subplots_adjust(left=0.1, right=0.97, bottom=0.14, top=0.91)
    axes.legend(loc="best")
    return figure
