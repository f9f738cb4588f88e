"""Kaplan-Meier curves of a scenario's algorithms: the heavier the tail, the higher the line stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tailcut.report.figures.canvas import legend_right, plain_log, sheet, styled
from tailcut.report.numbers.kaplan_meier import SurvivalCurve
from tailcut.report.style import ALGORITHMS, OTHER_ALGORITHMS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DASHES = ("-", (0, (5, 2)), (0, (6, 2, 1, 2)))


@styled
def draw(scenario: str, curves: Sequence[SurvivalCurve]) -> Figure:
    """Return one line per algorithm; those with the lowest PARk have colours, the rest are grey."""
    from matplotlib.ticker import PercentFormatter

    figure, grid = sheet(6.4, 3.6)
    axes = grid[0, 0]
    cutoff = max(float(one.time[-1]) for one in curves)
    positive = np.concatenate([one.time[one.time > 0] for one in curves])
    start = max(float(positive.min()) * 0.8, cutoff * 1e-5)
    for number, one in enumerate(curves[: len(ALGORITHMS)]):
        axes.step(np.maximum(one.time, start), one.share, where="post", color=ALGORITHMS[number],
                  linestyle=_DASHES[number % 3], linewidth=1.3, label=one.algorithm)  # fmt: skip
    for number, one in enumerate(curves[len(ALGORITHMS) :]):
        axes.step(np.maximum(one.time, start), one.share, where="post", color=OTHER_ALGORITHMS,
                  linewidth=0.7, zorder=1.5, label=None if number else "the other algorithms")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(start, cutoff)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    plain_log(axes, "x")
    axes.set_xlabel("seconds, up to the cutoff")
    axes.set_ylabel("runs still unsolved")
    axes.set_title(scenario, loc="left")
    figure.subplots_adjust(left=0.115, right=0.63, bottom=0.15, top=0.91)
    legend_right(figure, axes, 0.65)
    return figure
