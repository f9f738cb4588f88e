"""A point per instance: the single best solver to the right, the selector upwards; below the line is good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailcut.bench.labels import labelled
from tailcut.report.figures.canvas import plain_log, sheet, styled
from tailcut.report.numbers.against_single_best import InstanceScatter
from tailcut.report.style import INK, look

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def draw(scatter: InstanceScatter) -> Figure:
    """Return the scatter plot; unsolved instances are moved to a margin of their own beyond the cutoff."""
    figure, grid = sheet(6.4, 4.6)
    axes = grid[0, 0]
    edge = scatter.cutoff * 2.0
    across, up = (np.where(v > scatter.cutoff, edge, v) for v in (scatter.single_best, scatter.paid))
    low = max(min(float(across.min()), float(up.min())), scatter.cutoff * 1e-5)
    axes.plot(np.maximum(across, low), np.maximum(up, low), linestyle="none", marker="o", markersize=4.5,
              color=look(scatter.selector).colour, alpha=0.45, markeredgewidth=0)  # fmt: skip
    axes.plot([low, edge], [low, edge], color=INK, linewidth=1.0)
    for line in (axes.axvline, axes.axhline):
        line(scatter.cutoff * 1.4, color=INK, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low * 0.8, edge * 1.3)
    axes.set_ylim(low * 0.8, edge * 1.3)
    plain_log(axes, "x")
    plain_log(axes, "y")
    axes.set_xlabel("seconds of the single best solver; beyond the dots: unsolved")
    axes.set_ylabel(f"seconds of {labelled(scatter.selector)}")
    axes.set_title(f"{scatter.scenario}: better on {scatter.better}, worse on {scatter.worse}", loc="left")
    figure.subplots_adjust(left=0.12, right=0.97, bottom=0.13, top=0.93)
    return figure
