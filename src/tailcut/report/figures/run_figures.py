"""Figures of a live run: solved over time, estimates of single solvers, and where the seconds went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tailcut.estimate.single_solvers import RunEstimate
from tailcut.journal.served_instances import AskedInstance
from tailcut.report.figures.canvas import distinct, sheet, shortened, styled, thousands
from tailcut.report.style import ALGORITHMS, INK, LOOKS, OTHER_ALGORITHMS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 60
"""Instances in the waterfall at most."""
_UNITS = ((7200.0, 3600.0, "hours"), (180.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


@styled
def draw_solved(instances: Sequence[AskedInstance]) -> Figure:
    """Return how many instances were over, and solved, at any time."""
    begun = min(one.began for one in instances)
    ends = np.sort([(one.over or begun) - begun for one in instances])
    solved = np.sort([(one.over or begun) - begun for one in instances if one.solved])
    longest = float(ends[-1])
    size, unit = next((size, unit) for least, size, unit in _UNITS if longest >= least)
    figure, grid = sheet(6.4, 3.2)
    axes = grid[0, 0]
    for at, label, colour, dashes in (
        (ends, "completed", INK, LOOKS["sbs"].dashes),
        (solved, "solved", LOOKS["tailcut"].colour, "-"),
    ):
        x = np.concatenate([[0.0], at, [longest]]) / size
        y = np.concatenate([np.arange(len(at) + 1), [len(at)]])
        axes.step(x, y, where="post", color=colour, linestyle=dashes, linewidth=1.6, label=label)
    axes.set_xlim(0, max(longest / size, 1e-9))
    axes.set_ylim(0, None)
    axes.set_xlabel(f"{unit} since the first decision")
    axes.set_ylabel("instances")
    axes.legend(loc="lower right")
    figure.subplots_adjust(left=0.1, right=0.97, bottom=0.16, top=0.96)
    return figure


@styled
def draw_estimate(found: RunEstimate) -> Figure:
    """Return one row per solver: estimate and interval, exact costs filled; dashed: what the run cost."""
    rows = found.solvers
    height = 0.27 * len(rows) + 1.0
    figure, grid = sheet(6.4, height)
    axes = grid[0, 0]
    colour = LOOKS["thompson"].colour
    for place, one in enumerate(rows):
        shade = OTHER_ALGORITHMS if one.par10 is None else colour
        axes.plot([one.low, one.high], [place, place], color=shade, linewidth=3.0, solid_capstyle="butt")
        if one.par10 is not None:
            face = colour if one.exact else "none"
            axes.plot([one.par10], [place], "o", color=colour, markerfacecolor=face, markeredgecolor=INK)
    axes.axvline(found.par10, color=LOOKS["tailcut"].colour, linewidth=1.8, linestyle=(0, (5, 2)))
    axes.set_yticks(range(len(rows)), distinct([one.name for one in rows], 25), fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, None)
    axes.grid(visible=False, axis="y")
    thousands(axes, "x")
    axes.set_xlabel("PAR10 per instance, s; dashed: what this run cost")
    figure.subplots_adjust(left=0.3, right=0.97, bottom=0.55 / height, top=1 - 0.15 / height)
    return figure


@styled
def draw_waterfall(instances: Sequence[AskedInstance], algorithms: Sequence[str]) -> Figure:
    """Return one bar per instance, its runs side by side, those of a race one below the other.

    A cross: it was not solved.
    """
    shown = sorted(instances, key=lambda one: -one.seconds)[:SHOWN]
    total = 0.15 * len(shown) + 1.1
    figure, grid = sheet(7.6, total)
    axes = grid[0, 0]
    colours = {
        name: ALGORITHMS[i] if i < len(ALGORITHMS) else OTHER_ALGORITHMS for i, name in enumerate(algorithms)
    }
    used = list(algorithms)
    for place, one in enumerate(shown):
        if one.runs and one.runs[0].spent:
            axes.barh(place, one.runs[0].spent, color=INK, height=0.8)
        height = 0.8 / len(one.runs) if one.raced else 0.8
        for lane, run in enumerate(one.runs):
            at = place - 0.4 + (lane + 0.5) * height if one.raced else place
            axes.barh(at, run.seconds or 0.0, left=run.spent, color=colours[run.algorithm], height=height)
        if not one.solved:
            axes.plot([one.seconds], [place], "x", color=INK, markersize=3.5, clip_on=False)
    axes.set_yticks(range(len(shown)), [shortened(one.name or "?", 30) for one in shown], fontsize=5.5)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(0, None)
    axes.grid(visible=False, axis="y")
    thousands(axes, "x")
    axes.set_xlabel("seconds; crosses: not solved; ink at the left: features")
    handles = [axes.bar(0, 0, color=colours[name]) for name in used[: len(ALGORITHMS)]]
    labels = distinct(used[: len(ALGORITHMS)], 22)
    if len(used) > len(ALGORITHMS):
        handles.append(axes.bar(0, 0, color=OTHER_ALGORITHMS))
        labels.append("others")
    top = 1 - 0.15 / total
    figure.legend(
        handles, labels, loc="upper left", bbox_to_anchor=(0.765, top), fontsize=7, borderaxespad=0.0
    )
    figure.subplots_adjust(left=0.24, right=0.75, bottom=0.5 / total, top=top)
    return figure
