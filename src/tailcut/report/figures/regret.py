"""Cumulative regret against the oracle, with a band of one standard deviation over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tailcut.report.figures.canvas import blank, drawn, legend_right, panels, sheet, styled, thousands
from tailcut.report.numbers.stream_curves import Band, StreamCurves
from tailcut.report.style import FAINT, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled
def draw(curves: StreamCurves, featured: Sequence[str], par: str) -> Figure:
    """Return the curves of one scenario: the featured selectors with bands, the others thin behind them."""
    figure, grid = sheet(6.4, 3.6)
    axes = grid[0, 0]
    _panel(axes, curves, featured)
    axes.set_xlabel("instances")
    axes.set_ylabel(f"cumulative {par} regret, s")
    axes.set_title(curves.scenario, loc="left")
    figure.subplots_adjust(left=0.12, right=0.63, bottom=0.15, top=0.91)
    legend_right(figure, axes, 0.65)
    return figure


@styled
def overview(scenarios: Sequence[StreamCurves], featured: Sequence[str], par: str) -> Figure:
    """Return all scenarios on one sheet."""
    rows, columns = panels(len(scenarios), min((4, 3), key=lambda wide: -len(scenarios) % wide))
    height = 1.9 * rows + 1.0
    figure, grid = sheet(2.6 * max(columns, 2), height, rows, columns)
    flat = list(grid.flat)
    for axes, curves in zip(flat, scenarios, strict=False):
        _panel(axes, _thinned(curves), featured)
        axes.set_title(curves.scenario, loc="left", fontsize=9)
        axes.tick_params(labelsize=7)
    blank(flat[len(scenarios) :])
    top = 1.0 - 0.75 / height
    figure.subplots_adjust(left=0.07, right=0.985, bottom=0.55 / height, top=top, hspace=0.45, wspace=0.28)
    figure.supxlabel("instances", fontsize=9, y=0.1 / height)
    figure.supylabel(f"cumulative {par} regret, s", fontsize=9, x=0.004)
    handles, labels = flat[0].get_legend_handles_labels()
    place: dict[str, Any] = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, 0.995),
        "ncol": 3 if columns < 4 else 4,
    }
    figure.legend(handles, labels, fontsize=8, frameon=False, handlelength=2.8, **place)
    return figure


def _thinned(curves: StreamCurves) -> StreamCurves:
    """Return every third point: a small panel shows no more."""
    kept = np.arange(len(curves.at))[::-3][::-1]
    bands = tuple(Band(one.name, one.mean[kept], one.deviation[kept]) for one in curves.bands)
    return StreamCurves(curves.scenario, curves.at[kept], bands)


def _panel(axes: Axes, curves: StreamCurves, featured: Sequence[str]) -> None:
    by_name = {band.name: band for band in curves.bands if band.name != "oracle"}
    shown = [by_name[name] for name in featured if name in by_name]
    for band in (band for name, band in by_name.items() if name not in featured):
        axes.plot(curves.at, band.mean, color=look(band.name).colour, linewidth=0.5, alpha=0.45, zorder=1.5)
    for band in shown:
        low, high = band.mean - band.deviation, band.mean + band.deviation
        colour = look(band.name).colour
        axes.fill_between(curves.at, low, high, color=colour, alpha=0.18, linewidth=0, zorder=1.8)
        axes.plot(curves.at, band.mean, **drawn(band.name))
    if len(by_name) > len(shown):
        axes.plot([], [], color=FAINT, linewidth=0.8, label="thin: the other selectors")
    axes.set_xlim(0, curves.at[-1])
    tops = [band.mean + (band.deviation if band in shown else 0.0) for band in by_name.values()]
    top = max((float(values.max()) for values in tops), default=1.0)
    axes.set_ylim(min(0.0, *(float(band.mean.min()) for band in by_name.values())), top * 1.03 or 1.0)
    thousands(axes)
