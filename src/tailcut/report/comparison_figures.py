"""Figures over all scenarios: who costs how much, who differs from whom, what time and settings change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tailcut.bench.labels import labelled, name_of
from tailcut.bench.ranks import Ranking
from tailcut.catalogue import BASELINES
from tailcut.report.canvas import (
    distinct,
    drawn,
    legend_right,
    panels,
    plain_log,
    sheet,
    short_ticks,
    shortened,
)
from tailcut.report.curves import SweepPoints
from tailcut.report.standings import CpuCurve, Standing
from tailcut.report.style import DASHDOT, DASHED, DOTTED, INK, PAPER, SOLID, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIGNS = {
    "noise": "\N{GREEK SMALL LETTER SIGMA}",
    "noise_variance": "\N{GREEK SMALL LETTER SIGMA}",
    "ridge": "\N{GREEK SMALL LETTER LAMDA}",
    "alpha": "\N{GREEK SMALL LETTER ALPHA}",
}


def with_bars(standings: Sequence[Standing]) -> list[Standing]:
    """Return those that get a bar, the lowest first: all but the ends of the scale and what has no value."""
    return [
        one
        for one in standings
        if name_of(one.selector) not in ("sbs", "oracle") and math.isfinite(one.npar_mean)
    ]


def npar_bars(standings: Sequence[Standing], par: str) -> Figure:
    """Draw nPARk of every selector, the best at the top; hindsight baselines are outlined."""
    shown = with_bars(standings)
    height = 1.1 + 0.27 * len(shown)
    figure, axes = sheet(8.0, height)
    most = max(1.2, max(one.npar_mean for one in shown))
    for place, one in enumerate(reversed(shown)):
        hindsight = name_of(one.selector) in BASELINES
        fill = "none" if hindsight else look(one.selector).colour
        edge = INK if hindsight else fill
        axes.barh(place, one.npar_mean, height=0.72, color=fill, edgecolor=edge, linewidth=1.0)
        end = max(one.npar_mean, 0.0) + 0.012 * most
        axes.text(end, place, f"{one.npar_mean:.2f}", va="center", fontsize=9)
    for value, name in ((0.0, "perfect choice"), (1.0, "single best solver")):
        axes.axvline(value, color=INK, linewidth=1.2, linestyle="--" if value else "-")
        align = "center" if value else "left"
        label = axes.text(value, len(shown) - 0.35, name, ha=align, va="bottom", fontsize=9)
        if value:
            label.set_bbox({"facecolor": PAPER, "edgecolor": "none", "pad": 1.0})  # above its line
    axes.set_yticks(range(len(shown)), distinct([labelled(one.selector) for one in reversed(shown)], 34))
    axes.set(xlim=(min(0.0, *(one.npar_mean for one in shown)), most * 1.1), ylim=(-0.6, len(shown) + 0.1))
    outlined = any(name_of(one.selector) in BASELINES for one in shown)
    hint = ", outlined: known only in hindsight" if outlined else ""
    axes.set_xlabel(f"mean n{par} over scenarios; lower is better{hint}")
    figure.subplots_adjust(left=0.3, right=0.98, bottom=0.55 / height, top=0.97)
    return figure


def cliques(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Return the largest runs of increasing ranks that span at most `difference`, as (first, last).

    >>> cliques([1.0, 1.5, 2.2, 4.0, 4.1], 1.0)
    [(0, 1), (1, 2), (3, 4)]
    """
    runs: list[tuple[int, int]] = []
    for first, low in enumerate(ranks):
        last = max(i for i, rank in enumerate(ranks) if rank - low <= difference)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def critical_difference(ranked: Ranking, par: str) -> Figure:
    """Draw average ranks on a line, bars under those not shown to differ (Demšar, JMLR 2006, figure 1).

    The better half is named left, the others right.
    """
    names, ranks = ranked.selectors, ranked.average_ranks
    k = len(names)
    bars = cliques(ranks, ranked.critical_difference)
    half = (k + 1) // 2
    step, bar_step = 0.24, 0.13
    depth = 0.2 + bar_step * len(bars)
    figure, axes = sheet(8.0, 0.95 + depth + step * half)
    axes.set_axis_off()
    figure.subplots_adjust(left=0.28, right=0.72, bottom=0.01, top=0.99)
    low, high = 1.0, float(k)
    axes.set(xlim=(low, high), ylim=(-(depth + step * half), 0.95))
    ink: dict[str, Any] = {"color": INK, "clip_on": False}
    axes.plot([low, high], [0.0, 0.0], linewidth=0.9, **ink)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [0.0, 0.06], linewidth=0.9, **ink)
        axes.text(tick, 0.1, str(tick), ha="center", va="bottom", fontsize=8)
    for number, (first, last) in enumerate(bars):
        ends, y = [ranks[first] - 0.05, ranks[last] + 0.05], -0.14 - bar_step * number
        axes.plot(ends, [y, y], linewidth=3.2, alpha=0.75, solid_capstyle="round", **ink)
    pad = 0.03 * (high - low)
    for i, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = i < half
        y = -(depth + step * (i if left else k - 1 - i) + 0.08)
        edge, align = (low - pad, "right") if left else (high + pad, "left")
        axes.plot([rank, rank, edge], [0.0, y, y], color=look(name).colour, linewidth=1.1, clip_on=False)
        text = f"{shortened(name)}  {rank:.2f}" if left else f"{rank:.2f}  {shortened(name)}"
        axes.text(edge + (-pad if left else pad) / 3, y, text, ha=align, va="center", fontsize=8.5)
    _ruler(axes, ranked, par, low)
    return figure


def _ruler(axes: Axes, ranked: Ranking, par: str, low: float) -> None:
    """Draw the length of the critical difference above the axis."""
    end = low + ranked.critical_difference
    axes.plot([low, end], [0.5, 0.5], color=INK, linewidth=1.6, clip_on=False)
    for x in (low, end):
        axes.plot([x, x], [0.45, 0.55], color=INK, linewidth=1.2, clip_on=False)
    label = (
        f"critical difference {ranked.critical_difference:.2f} (Nemenyi, level {ranked.alpha:g}, "
        f"{len(ranked.scenarios)} scenarios); average rank by {par}"
    )
    axes.text(low, 0.64, label, ha="left", va="bottom", fontsize=8.5)


def tradeoff(title: str, standings: Sequence[Standing], par: str) -> Figure:
    """Draw median rePARk against the time of a decision; a point's legend has its marker and colour."""
    figure, axes = sheet(6.4, 3.6)
    for one in standings:
        style = look(one.selector)
        lines_only = style.marker in "x+1"
        axes.plot(
            [one.decision_us / 1e3],
            [one.repar_median],
            linestyle="none",
            marker=style.marker,
            markersize=11 if style.marker == "*" else 8,
            color=style.colour,
            markeredgecolor=style.colour if lines_only else "white",
            markeredgewidth=2.0 if lines_only else 0.6,
            label=labelled(one.selector),
        )
    axes.set_xscale("log")
    axes.margins(0.12)
    plain_log(axes, "x")
    axes.set(xlabel="decision time per instance, ms (mean over scenarios)", title=title)
    axes.set_ylabel(f"median re{par} over scenarios")
    legend_right(figure, axes)
    return figure


def extra_cpu(curves: Sequence[CpuCurve], par: str) -> Figure:
    """Draw nPARk of the answers against extra CPU time: one curve per selector, points named by amount."""
    from matplotlib.ticker import PercentFormatter

    figure, axes = sheet(7.0, 3.8)
    ways = list(dict.fromkeys(curve.how for curve in curves))
    for curve in curves:
        dashes = (SOLID, DASHED, DOTTED, DASHDOT)[ways.index(curve.how) % 4]
        style = {**drawn(curve.selector, marker=True), "linestyle": dashes}
        style["label"] = f"{curve.selector}, {curve.how}"
        axes.plot([point.extra for point in curve.points], [point.npar for point in curve.points], **style)
        text: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7.5, "color": style["color"]}
        for point in curve.points:
            axes.annotate(f"{point.amount:g}", (point.extra, point.npar), xytext=(4, 5), **text)
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0))
    axes.margins(0.08)
    count = curves[0].scenarios
    axes.set(
        xlabel="extra CPU time, as a share of that of the answers",
        ylabel=f"mean n{par} of the answers",
        title=f"Mean over {count} scenario{'s' * (count != 1)}",
    )
    figure.subplots_adjust(left=0.1, right=0.97, bottom=0.14, top=0.91)
    axes.legend(loc="best")
    return figure


def sweep(points: SweepPoints, par: str) -> Figure:
    """Draw PARk against a hyperparameter, one panel per scenario; a vertical line marks the default."""
    height = 2.0 * -(-len(points.panels) // 3) + 0.6
    figure, every = panels(7.6, height, len(points.panels), 3)
    style: dict[str, Any] = {"color": look(points.selector).colour, "marker": "o", "markersize": 3}
    style |= {"linewidth": 1.0, "elinewidth": 0.7, "capsize": 2}
    for axes, panel in zip(every, points.panels, strict=True):
        axes.axvline(points.default, color=INK, linewidth=0.8, linestyle=DOTTED)
        axes.errorbar(panel.values, panel.mean, yerr=panel.deviation, **style)
        axes.set_title(panel.scenario, fontsize=9)
        axes.tick_params(labelsize=7)
        short_ticks(axes)
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
