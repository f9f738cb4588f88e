"""A hyperparameter sweep: PARk against the value, with error bars, one panel per scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailcut.report.figures.canvas import blank, panels, sheet, styled, thousands
from tailcut.report.numbers.sweep_points import SweepPoints
from tailcut.report.style import INK, look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIGNS = {
    "noise": "\N{GREEK SMALL LETTER SIGMA}",
    "noise_variance": "\N{GREEK SMALL LETTER SIGMA}",
    "ridge": "\N{GREEK SMALL LETTER LAMDA}",
    "alpha": "\N{GREEK SMALL LETTER ALPHA}",
}


@styled
def draw(points: SweepPoints, par: str) -> Figure:
    """Return the sweep; the default value is marked by a vertical line."""
    rows, columns = panels(len(points.panels), 3)
    height = 2.0 * rows + 0.6
    figure, grid = sheet(7.6, height, rows, columns)
    chosen = look(points.selector)
    flat = list(grid.flat)
    for axes, panel in zip(flat, points.panels, strict=False):
        axes.axvline(points.default, color=INK, linewidth=0.8, linestyle=(0, (1, 1.5)))
        axes.errorbar(
            panel.values,
            panel.mean,
            yerr=panel.deviation,
            color=chosen.colour,
            marker="o",
            markersize=3,
            linewidth=1.0,
            elinewidth=0.7,
            capsize=2,
        )
        axes.set_title(panel.scenario, loc="left", fontsize=9)
        axes.tick_params(labelsize=7)
        thousands(axes)
    blank(flat[len(points.panels) :])
    figure.subplots_adjust(
        left=0.09, right=0.985, bottom=0.48 / height, top=1 - 0.58 / height, hspace=0.42, wspace=0.3
    )
    sign = _SIGNS.get(points.parameter)
    name = f"{points.parameter} ({sign})" if sign else points.parameter
    title = f"{points.selector}: {name}; dotted: the default, {points.default:g}"
    figure.suptitle(title, x=0.01, y=0.995, ha="left", va="top", fontsize=10)
    figure.supxlabel(name, fontsize=8.5, y=0.06 / height)
    figure.supylabel(f"{par}, s", fontsize=8.5, x=0.002)
    return figure
