"""nPARk of every selector as bars: the single best solver at 1, the perfect choice at 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailcut.bench.labels import labelled, name_of
from tailcut.catalogue import BASELINES
from tailcut.report.figures.canvas import distinct, sheet, styled
from tailcut.report.numbers.standings import Standing
from tailcut.report.style import INK, PAPER, look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REFERENCES = ("sbs", "oracle")
"""What the scale is made of: lines, not bars."""


def bars(standings: Sequence[Standing]) -> list[Standing]:
    """Return those that get a bar, the lowest first: all but the two references and what has no value."""
    return [
        one for one in standings if name_of(one.selector) not in REFERENCES and math.isfinite(one.npar_mean)
    ]


@styled
def draw(standings: Sequence[Standing], par: str) -> Figure:
    """Return the bars, the best at the top; hindsight baselines are outlined."""
    shown = bars(standings)
    figure, grid = sheet(8.0, 1.1 + 0.27 * len(shown))
    axes = grid[0, 0]
    most = max(1.2, max(one.npar_mean for one in shown))
    for place, one in enumerate(reversed(shown)):
        known = name_of(one.selector) in BASELINES
        fill = "none" if known else look(one.selector).colour
        axes.barh(
            place, one.npar_mean, height=0.72, color=fill, edgecolor=INK if known else fill, linewidth=1.0
        )
        axes.text(
            max(one.npar_mean, 0.0) + 0.012 * most, place, f"{one.npar_mean:.2f}", va="center", fontsize=9
        )
    for value, words in ((0.0, "perfect choice"), (1.0, "single best solver")):
        axes.axvline(value, color=INK, linewidth=1.2, linestyle="--" if value else "-")
        label = axes.text(
            value, len(shown) - 0.35, words, ha="left" if value == 0.0 else "center", va="bottom", fontsize=9
        )
        if value:
            label.set_bbox({"facecolor": PAPER, "edgecolor": "none", "pad": 1.0})  # above its line
    axes.set_yticks(range(len(shown)), distinct([labelled(one.selector) for one in reversed(shown)], 34))
    axes.set_xlim(min(0.0, *(one.npar_mean for one in shown)), most * 1.1)
    axes.set_ylim(-0.6, len(shown) + 0.1)
    outlined = any(name_of(one.selector) in BASELINES for one in shown)
    hint = ", outlined: known only in hindsight" if outlined else ""
    axes.set_xlabel(f"mean n{par} over scenarios; lower is better{hint}")
    figure.subplots_adjust(left=0.3, right=0.98, bottom=0.55 / (1.1 + 0.27 * len(shown)), top=0.97)
    return figure
