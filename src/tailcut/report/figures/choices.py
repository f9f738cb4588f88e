"""Which algorithms are chosen over time: stacked shares, one panel per selector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tailcut.bench.labels import labelled
from tailcut.report.figures.canvas import blank, distinct, panels, sheet, shortened, styled
from tailcut.report.numbers.stream_curves import Shares
from tailcut.report.style import ALGORITHMS, OTHER_ALGORITHMS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def draw(
    scenario: str, shares: Sequence[Shares], algorithms: Sequence[str], best: Sequence[str] = ()
) -> Figure:
    """Return one panel per selector; some algorithms have colours, the rest are one grey.

    `best` are the algorithms by PARk, if known: they have the same colours as in the survival curves. Without
    it, the most chosen ones get colours.
    """
    total = np.sum([one.share.mean(axis=0) for one in shares], axis=0)
    chosen = [algorithms.index(name) for name in best] or np.argsort(-total, kind="stable").tolist()
    most = np.array(chosen[: len(ALGORITHMS)])
    rest = np.setdiff1d(np.arange(len(total)), most)
    rows, columns = panels(len(shares), 3)
    height = 1.75 * rows + 0.75
    figure, grid = sheet(7.6, height, rows, columns, sharey=True, sharex=True)
    flat = list(grid.flat)
    for axes, one in zip(flat, shares, strict=False):
        at = np.concatenate([[0.0], one.at])
        share = np.vstack([one.share[:1], one.share])
        layers = [share[:, k] for k in most] + ([share[:, rest].sum(axis=1)] if len(rest) else [])
        axes.stackplot(
            at,
            *layers,
            colors=[*ALGORITHMS[: len(most)], OTHER_ALGORITHMS],
            step="pre",
            linewidth=0,
            labels=[*distinct([algorithms[k] for k in most], 25), *(["others"] if len(rest) else [])],
        )
        axes.set_title(shortened(labelled(one.selector)), loc="left", fontsize=8)
        axes.set_xlim(0, at[-1])
        axes.set_ylim(0, 1)
        axes.tick_params(labelsize=7)
        axes.grid(visible=False)
    blank(flat[len(shares) :])
    figure.subplots_adjust(left=0.075, right=0.74, bottom=0.48 / height, top=1 - 0.5 / height, hspace=0.35)
    figure.suptitle(scenario, x=0.01, y=0.995, ha="left", va="top", fontsize=10)
    figure.supxlabel("instances", fontsize=8.5, x=0.4, y=0.06 / height)
    figure.supylabel("share of choices", fontsize=8.5, x=0.002)
    handles, labels = flat[0].get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.755, 1 - 0.45 / height)}
    figure.legend(handles[::-1], labels[::-1], fontsize=7, frameon=False, **place)
    return figure
