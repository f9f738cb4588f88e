"""Two figures for the practitioner: how selectors learn, and what each further solver is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailcut.report.figures.canvas import drawn, legend_right, sheet, shortened, styled, thousands
from tailcut.report.numbers.complement import Complement
from tailcut.report.numbers.learning import Learning
from tailcut.report.style import INK, LOOKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def draw_learning(found: Sequence[Learning], par: str) -> Figure:
    """Return nPARk per part of the stream; 1 is the single best solver on the same instances."""
    figure, grid = sheet(6.4, 3.6)
    axes = grid[0, 0]
    axes.axhline(1.0, color=INK, linewidth=1.4, linestyle=LOOKS["sbs"].dashes, label="sbs")
    for one in found:
        axes.plot(one.at, one.npar, **drawn(one.selector, marker=True))
    axes.set_xlim(0, None)
    axes.set_ylim(min(0.0, *axes.get_ylim()), None)
    axes.set_xlabel("instances")
    axes.set_ylabel(f"n{par} within each part")
    axes.set_title("How the selectors learn", loc="left")
    figure.subplots_adjust(left=0.1, right=0.63, bottom=0.15, top=0.91)
    legend_right(figure, axes, 0.65)
    return figure


@styled
def draw_growth(found: Complement, par: str, most: int = 12) -> Figure:
    """Return the PARk of a perfect choice among the best 1, 2, ... solvers, bars named by newcomers."""
    shown = found.growth[:most]
    figure, grid = sheet(6.4, 0.27 * len(shown) + 1.1)
    axes = grid[0, 0]
    height = 0.27 * len(shown) + 1.1
    places = range(len(shown))
    axes.barh(places, [one.par for one in shown], color=LOOKS["thompson"].colour, height=0.65)
    axes.axvline(found.vbs, color=INK, linewidth=1.2, linestyle=LOOKS["oracle"].dashes)
    names = [("" if i == 0 else "+ ") + shortened(one.algorithms[-1]) for i, one in enumerate(shown)]
    axes.set_yticks(list(places), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    thousands(axes, "x")
    axes.set_xlabel(f"{par} of a perfect choice, s; dotted: all solvers (VBS)")
    axes.set_title("What each further solver is worth", loc="left")
    figure.subplots_adjust(left=0.38, right=0.97, bottom=0.55 / height, top=1 - 0.35 / height)
    return figure
