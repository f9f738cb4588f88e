"""All figures: over all scenarios, of one scenario, of one decision, of a live run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tailcut.bench.labels import labelled, name_of
from tailcut.bench.ranks import Ranking
from tailcut.bench.sweeps import Sweep
from tailcut.catalogue import BASELINES, CATALOGUE
from tailcut.display import counted
from tailcut.estimate import RunEstimate
from tailcut.explain import AlgorithmBelief, Explanation, percent, seconds
from tailcut.journal.instances import Instance
from tailcut.report import style
from tailcut.report.curves import Complement, InstanceScatter, Learning, Shares, Steps, StreamCurves
from tailcut.report.gather import ExplainedDecision
from tailcut.report.standings import CpuCurves, Standing
from tailcut.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIGNS = {
    "noise": "\N{GREEK SMALL LETTER SIGMA}",
    "noise_variance": "\N{GREEK SMALL LETTER SIGMA}",
    "ridge": "\N{GREEK SMALL LETTER LAMDA}",
    "alpha": "\N{GREEK SMALL LETTER ALPHA}",
}


_MOST = 12
"""Algorithms drawn of a decision: the chosen one, its rival, and those with the lowest expected losses."""
_RISE = 0.27
"""Inches per row of a decision."""
_TIMEOUT, _LOSS = 1.2, 1.44
"""Where the columns of numbers beside a decision end, in widths of the axes."""
LONGEST = 60
"""Instances in the waterfall at most."""
_UNITS = ((7200.0, 3600.0, "hours"), (180.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


def with_bars(standings: Sequence[Standing]) -> list[Standing]:
    """Return those that get a bar, the lowest first: all but the ends of the scale and what has no value."""
    finite = [one for one in standings if math.isfinite(one.npar_mean)]
    return [one for one in finite if name_of(one.selector) not in ("sbs", "oracle")]


def npar_bars(standings: Sequence[Standing], par: str) -> Figure:
    """Draw nPARk of every selector, the best at the top; hindsight baselines are outlined."""
    shown = with_bars(standings)
    figure, axes = style.sheet(8.0, 1.1 + 0.27 * len(shown))
    most = max(1.2, max(one.npar_mean for one in shown))
    for place, one in enumerate(reversed(shown)):
        hindsight = name_of(one.selector) in BASELINES
        fill = "none" if hindsight else style.look(one.selector).colour
        edge = style.INK if hindsight else fill
        axes.barh(place, one.npar_mean, height=0.72, color=fill, edgecolor=edge, linewidth=1.0)
        end = max(one.npar_mean, 0.0) + 0.012 * most
        axes.text(end, place, f"{one.npar_mean:.2f}", va="center", fontsize=9)
    for value, name in ((0.0, "perfect choice"), (1.0, "single best solver")):
        axes.axvline(value, color=style.INK, linewidth=1.2, linestyle="--" if value else "-")
        align = "center" if value else "left"
        label = axes.text(value, len(shown) - 0.35, name, ha=align, va="bottom", fontsize=9)
        if value:
            label.set_bbox({"facecolor": style.PAPER, "edgecolor": "none", "pad": 1.0})  # above its line
    names = style.distinct([labelled(one.selector) for one in reversed(shown)], 34)
    axes.set_yticks(range(len(shown)), names)
    axes.set(xlim=(min(0.0, *(one.npar_mean for one in shown)), most * 1.1), ylim=(-0.6, len(shown) + 0.1))
    outlined = any(name_of(one.selector) in BASELINES for one in shown)
    hint = ", outlined: known only in hindsight" if outlined else ""
    axes.set_xlabel(f"mean n{par} over scenarios; lower is better{hint}")
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
    figure, axes = style.sheet(8.0, 0.95 + depth + step * half, layout=None)
    axes.set_axis_off()
    figure.subplots_adjust(left=0.28, right=0.72, bottom=0.01, top=0.99)
    low, high = 1.0, float(k)
    axes.set(xlim=(low, high), ylim=(-(depth + step * half), 0.95))
    ink: dict[str, Any] = {"color": style.INK, "clip_on": False}
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
        axes.plot([rank, rank, edge], [0.0, y, y], **{**ink, "color": style.look(name).colour})
        text = f"{style.shortened(name)}  {rank:.2f}" if left else f"{rank:.2f}  {style.shortened(name)}"
        axes.text(edge + (-pad if left else pad) / 3, y, text, ha=align, va="center", fontsize=8.5)
    ruler, end = [0.45, 0.55, 0.5, 0.5, 0.55, 0.45], low + ranked.critical_difference
    axes.plot([low] * 3 + [end] * 3, ruler, linewidth=1.4, **ink)
    label = (
        f"critical difference {ranked.critical_difference:.2f} (Nemenyi, level {ranked.alpha:g}, "
        f"{len(ranked.scenarios)} scenarios); average rank by {par}"
    )
    axes.text(low, 0.64, label, ha="left", va="bottom", fontsize=8.5)
    return figure


def tradeoff(title: str, standings: Sequence[Standing], par: str) -> Figure:
    """Draw median rePARk against the time of a decision; a point's legend has its marker and colour."""
    figure, axes = style.sheet(6.4, 3.6)
    for one in standings:
        line = style.look(one.selector)
        lines_only = line.marker in "x+1"
        size = 11 if line.marker == "*" else 8
        dot: dict[str, Any] = {"marker": line.marker, "markersize": size, "color": line.colour}
        dot["markeredgecolor"] = line.colour if lines_only else "white"
        dot["markeredgewidth"] = 2.0 if lines_only else 0.6
        at = [one.decision_us / 1e3], [one.repar_median]
        axes.plot(*at, linestyle="none", label=labelled(one.selector), **dot)
    axes.set_xscale("log")
    axes.margins(0.12)
    style.plain_log(axes, "x")
    axes.set(xlabel="decision time per instance, ms (mean over scenarios)", title=title)
    axes.set_ylabel(f"median re{par} over scenarios")
    style.legend_right(figure, axes)
    return figure


def extra_cpu(curves: CpuCurves, par: str) -> Figure:
    """Draw nPARk of the answers against extra CPU time: one curve per selector, points named by amount."""
    from matplotlib.ticker import PercentFormatter

    figure, axes = style.sheet(7.0, 3.8)
    ways = list(dict.fromkeys(how for _, how in curves))
    for (selector, how), curve in curves.items():
        dashes = (style.SOLID, style.DASHED, style.DOTTED, style.DASHDOT)[ways.index(how) % 4]
        line = {**style.drawn(selector, marker=True), "linestyle": dashes, "label": f"{selector}, {how}"}
        points = [(one.extra_cpu, one.npar_mean) for one in curve.values()]
        axes.plot(*zip(*points, strict=True), **line)
        text: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7.5, "color": line["color"]}
        for amount, point in zip(curve, points, strict=True):
            axes.annotate(f"{amount}", point, xytext=(4, 5), **text)
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0))
    axes.margins(0.08)
    axes.set(xlabel="extra CPU time, as a share of that of the answers", ylabel=f"mean n{par} of the answers")
    scenarios = max(one.scenarios for curve in curves.values() for one in curve.values())
    axes.set_title(f"Mean over {counted(scenarios, 'scenario')}")
    axes.legend(loc="best")
    return figure


def sweep(swept: Sweep, panels: Sequence[StreamCurves], par: str) -> Figure:
    """Draw PARk against a hyperparameter, one panel per scenario; a vertical line marks the default."""
    default = float(CATALOGUE[swept.selector].settings({})[swept.parameter])
    figure, every = style.small_panels(7.6, 2.0, [panel.scenario for panel in panels], 3)
    line: dict[str, Any] = {"color": style.look(swept.selector).colour, "marker": "o", "markersize": 3}
    line |= {"linewidth": 1.0, "elinewidth": 0.7, "capsize": 2}
    for axes, panel in zip(every, panels, strict=True):
        mean, deviation = panel.bands[swept.selector]
        axes.axvline(default, color=style.INK, linewidth=0.8, linestyle=style.DOTTED)
        axes.errorbar(panel.at, mean, yerr=deviation, **line)
        style.short_ticks(axes)
    sign = _SIGNS.get(swept.parameter)
    name = f"{swept.parameter} ({sign})" if sign else swept.parameter
    title = f"{swept.selector}: {name}; dotted: the default, {default:g}"
    style.entitle(figure, title, name, f"{par}, s")
    return figure


def regret(curves: StreamCurves, featured: Sequence[str], par: str) -> Figure:
    """Draw cumulative regret: the featured selectors with bands of one deviation, the others thin behind."""
    figure, axes = style.sheet(6.4, 3.6)
    _regret_panel(axes, curves, featured)
    axes.set(xlabel="instances", ylabel=f"cumulative {par} regret, s", title=curves.scenario)
    style.legend_right(figure, axes)
    return figure


def regret_overview(scenarios: Sequence[StreamCurves], featured: Sequence[str], par: str) -> Figure:
    """Draw the regret of all scenarios on one sheet, at every third point: a small panel shows no more."""
    columns = min((4, 3), key=lambda wide: -len(scenarios) % wide)
    width = 2.6 * max(min(columns, len(scenarios)), 2)
    titles = [curves.scenario for curves in scenarios]
    figure, every = style.small_panels(width, 1.9, titles, columns, more=1.0)
    for axes, curves in zip(every, scenarios, strict=True):
        _regret_panel(axes, curves, featured, np.arange(len(curves.at))[::-3][::-1])
    style.entitle(figure, None, "instances", f"cumulative {par} regret, s")
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles, labels, handlelength=2.8, ncol=columns, loc="outside upper center")
    return figure


def _regret_panel(axes: Axes, curves: StreamCurves, featured: Sequence[str], kept: Any = slice(None)) -> None:
    at = curves.at[kept]
    bands = {name: band[:, kept] for name, band in curves.bands.items() if name != "oracle"}
    shown = [name for name in featured if name in bands]
    for name, (mean, _) in bands.items():
        if name not in shown:
            axes.plot(at, mean, color=style.look(name).colour, linewidth=0.5, alpha=0.45, zorder=1.5)
    for name in shown:
        _banded(axes, name, at, *bands[name])
    if len(bands) > len(shown):
        axes.plot([], [], color=style.FAINT, linewidth=0.8, label="thin: the other selectors")
    low = min(0.0, *(float(mean.min()) for mean, _ in bands.values()))
    tops = [mean + (deviation if name in shown else 0.0) for name, (mean, deviation) in bands.items()]
    top = max((float(values.max()) for values in tops), default=1.0)
    axes.set(xlim=(0, at[-1]), ylim=(low, top * 1.03 or 1.0))
    style.short_ticks(axes)


def _banded(axes: Axes, selector: str, at: Array, mean: Array, deviation: Array) -> None:
    line = style.drawn(selector)
    axes.fill_between(at, mean - deviation, mean + deviation, color=line["color"], alpha=0.18, linewidth=0)
    axes.plot(at, mean, **line)


def instances(scatter: InstanceScatter) -> Figure:
    """Draw a point per instance; below the line is good, unsolved ones stand in a margin."""
    figure, axes = style.sheet(6.4, 4.6)
    edge = scatter.cutoff * 2.0
    across, up = (np.where(v > scatter.cutoff, edge, v) for v in (scatter.single_best, scatter.paid))
    low = max(min(float(across.min()), float(up.min())), scatter.cutoff * 1e-5)
    dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4.5, "markeredgewidth": 0}
    colour = style.look(scatter.selector).colour
    axes.plot(np.maximum(across, low), np.maximum(up, low), color=colour, alpha=0.45, **dots)
    axes.plot([low, edge], [low, edge], color=style.INK, linewidth=1.0)
    for line in (axes.axvline, axes.axhline):
        line(scatter.cutoff * 1.4, color=style.INK, linewidth=0.8, linestyle=":")
    limits = (low * 0.8, edge * 1.3)
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
    style.plain_log(axes, "x")
    style.plain_log(axes, "y")
    better, worse = (scatter.paid < scatter.single_best).sum(), (scatter.paid > scatter.single_best).sum()
    axes.set(
        xlabel="seconds of the single best solver; beyond the dots: unsolved",
        ylabel=f"seconds of {labelled(scatter.selector)}",
        title=f"{scatter.scenario}: better on {better}, worse on {worse}",
    )
    return figure


def solved(curves: StreamCurves, featured: Sequence[str]) -> Figure:
    """Draw the share of instances that the featured selectors solve within t seconds, up to the cutoff."""
    figure, axes = style.sheet(6.4, 3.6)
    for name in featured:
        if name in curves.bands:
            _banded(axes, name, curves.at, *curves.bands[name])
    label = "seconds, up to the cutoff (features included where used)"
    _share_over_time(axes, (curves.at[0], curves.at[-1]), None, label)
    axes.set(ylabel="instances solved", title=curves.scenario)
    style.legend_right(figure, axes)
    return figure


def survival(scenario: str, curves: Mapping[str, Steps]) -> Figure:
    """Draw Kaplan-Meier curves: the heavier the tail, the higher the line; the lowest PARk have colours."""
    figure, axes = style.sheet(6.4, 3.6)
    cutoff = max(float(time[-1]) for time, _ in curves.values())
    positive = np.concatenate([time[time > 0] for time, _ in curves.values()])
    start = max(float(positive.min()) * 0.8, cutoff * 1e-5)
    for number, (algorithm, (time, share)) in enumerate(curves.items()):
        line: dict[str, Any] = {"color": style.OTHER_ALGORITHMS, "linewidth": 0.7, "zorder": 1.5}
        if number < len(style.ALGORITHMS):
            dashes = (style.SOLID, style.DASHED, style.DASHDOT)[number % 3]
            line = {"color": style.ALGORITHMS[number], "linestyle": dashes, "linewidth": 1.3}
            line["label"] = algorithm
        elif number == len(style.ALGORITHMS):
            line["label"] = "the other algorithms"
        axes.step(np.maximum(time, start), share, where="post", **line)
    _share_over_time(axes, (start, cutoff), 1, "seconds, up to the cutoff")
    axes.set(ylabel="runs still unsolved", title=scenario)
    style.legend_right(figure, axes)
    return figure


def _share_over_time(axes: Axes, times: tuple[float, float], top: float | None, label: str) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.set(xscale="log", xlim=times, ylim=(0, top), xlabel=label)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    style.plain_log(axes, "x")


def choices(
    scenario: str, shares: Sequence[Shares], algorithms: Sequence[str], best: Sequence[str] = ()
) -> Figure:
    """Draw stacked shares over time, one panel per selector; some algorithms have colours, the rest are grey.

    `best` are the algorithms by PARk, if known: they have the same colours as in the survival curves. Without
    it, the most chosen ones get colours.
    """
    total = np.sum([one.share.mean(axis=0) for one in shares], axis=0)
    order = [algorithms.index(name) for name in best] or np.argsort(-total, kind="stable").tolist()
    coloured = order[: len(style.ALGORITHMS)]
    rest = np.setdiff1d(np.arange(len(total)), coloured)
    labels = [*style.distinct([algorithms[k] for k in coloured], 25), *(["others"] if len(rest) else [])]
    titles = [style.shortened(labelled(one.selector)) for one in shares]
    figure, every = style.small_panels(7.6, 1.75, titles, 3, sharey=True, sharex=True)
    for axes, one in zip(every, shares, strict=True):
        at = np.concatenate([[0.0], one.at])
        share = np.vstack([one.share[:1], one.share])
        layers = [share[:, k] for k in coloured] + ([share[:, rest].sum(axis=1)] if len(rest) else [])
        colours = [*style.ALGORITHMS[: len(coloured)], style.OTHER_ALGORITHMS]
        axes.stackplot(at, *layers, colors=colours, step="pre", linewidth=0, labels=labels)
        axes.set(xlim=(0, at[-1]), ylim=(0, 1))
        axes.grid(visible=False)
    style.entitle(figure, scenario, "instances", "share of choices")
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], fontsize=7, loc="outside right upper")
    return figure


def learning(learned: Sequence[Learning], par: str) -> Figure:
    """Draw nPARk per part of the stream; 1 is the single best solver on the same instances."""
    figure, axes = style.sheet(6.4, 3.6)
    axes.axhline(1.0, color=style.INK, linewidth=1.4, linestyle=style.LOOKS["sbs"].dashes, label="sbs")
    for one in learned:
        axes.plot(one.at, one.npar, **style.drawn(one.selector, marker=True))
    axes.set(xlim=(0, None), ylim=(min(0.0, *axes.get_ylim()), None))
    axes.set(xlabel="instances", ylabel=f"n{par} within each part", title="How the selectors learn")
    style.legend_right(figure, axes)
    return figure


def growth(complement: Complement, par: str, most: int = 12) -> Figure:
    """Draw the PARk of a perfect choice among the best 1, 2, ... solvers, bars named by newcomers."""
    shown = complement.growth[:most]
    figure, axes = style.sheet(6.4, 0.27 * len(shown) + 1.1)
    colour = style.LOOKS["thompson"].colour
    axes.barh(range(len(shown)), [one.par for one in shown], color=colour, height=0.65)
    axes.axvline(complement.vbs, color=style.INK, linewidth=1.2, linestyle=style.LOOKS["oracle"].dashes)
    names = [("+ " if i else "") + style.shortened(one.algorithms[-1]) for i, one in enumerate(shown)]
    style.name_rows(axes, names, 30)
    axes.set(xlabel=f"{par} of a perfect choice, s; dotted: all solvers (VBS)")
    axes.set_title("What each further solver is worth")
    return figure


def decision(explained: ExplainedDecision) -> Figure:
    """Draw beliefs and features; a point is a median, a line a 90% interval, a cross the actual runtime."""
    explanation = explained.explanation
    predicted = [one for one in explanation.algorithms if one.expected_par is not None]
    ordered = sorted(predicted, key=lambda one: (one.expected_par or 0.0, one.name))
    kept = {explanation.algorithm, explanation.rival, *(one.name for one in ordered[: _MOST - 2])}
    rows = [one for one in ordered if one.name in kept]
    room = max(_RISE * len(rows), _RISE * len(explanation.features), 1.0)
    height = room + 1.1
    figure, (left, right) = style.panels(10.0, height, 2, 2, layout=None)
    left.set_position((0.195, 0.55 / height, 0.3, room / height))
    right.set_position((0.84, 0.55 / height, 0.145, room / height))
    colour = style.look(explained.selector).colour
    _intervals(left, rows, explained, colour)
    _effects(right, explanation, colour)
    at = f"{explained.scenario}, decision {explained.step} of {explained.instances}"
    figure.text(0.01, 1 - 0.1 / height, f"{at}: {explanation.algorithm}", va="top", fontsize=10)
    return figure


def _intervals(axes: Axes, rows: list[AlgorithmBelief], explained: ExplainedDecision, colour: str) -> None:
    explanation = explained.explanation
    cutoff = explanation.cutoff
    start, end = _reach(rows, explained)
    axes.set(xscale="log", xlim=(start, end))
    for place, one in enumerate(rows):
        chosen = one.name == explanation.algorithm
        shade, weight = (colour, "bold") if chosen else (style.OTHER_ALGORITHMS, "normal")
        assert one.predicted_runtime is not None
        low, median, high = np.clip([one.low, one.predicted_runtime, one.high], start, end)
        width = 5.0 if chosen else 3.2
        axes.plot([low, high], [place] * 2, color=shade, linewidth=width, solid_capstyle="butt", zorder=2)
        point: dict[str, Any] = {"marker": "o" if one.predicted_runtime <= end else ">", "zorder": 3}
        point |= {"markersize": 7 if chosen else 5.5, "markeredgecolor": style.INK, "markeredgewidth": 0.8}
        axes.plot([median], [place], color=shade, clip_on=False, **point)
        took = explained.runtimes.get(one.name)
        if took is not None:
            axes.plot([max(took, start)], [place], marker="x", markersize=6, color=style.INK, zorder=4)
        beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "ha": "right", "va": "center"}
        loss = f"{seconds(one.expected_par or 0.0)} s"
        for x, text in ((_TIMEOUT, percent(one.timeout_probability or 0.0)), (_LOSS, loss)):
            axes.text(x, place, text, fontsize=8, fontweight=weight, **beside)
    axes.axvline(cutoff, color=style.INK, linewidth=1.0, linestyle=style.DASHED)
    style.name_rows(axes, [one.name for one in rows], 25)
    style.plain_log(axes, "x")
    for label, one in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if one.name == explanation.algorithm else "normal")
    axes.set_xlabel(f"seconds; dashed: cutoff {seconds(cutoff)} s; crosses: how long they really take")
    for x, head in ((_TIMEOUT, "timeout"), (_LOSS, f"PAR{explanation.penalty:g}")):
        axes.text(x, 1.0, head, transform=axes.transAxes, ha="right", va="bottom", fontsize=8)


def _reach(rows: list[AlgorithmBelief], explained: ExplainedDecision) -> tuple[float, float]:
    cutoff = explained.explanation.cutoff
    runtimes = [runtime for one in rows if (runtime := explained.runtimes.get(one.name))]
    low = min([*(one.low for one in rows if one.low), *runtimes, cutoff])
    high = max([*(one.high for one in rows if one.high), cutoff])
    return max(low * 0.8, cutoff * 1e-6), min(high * 1.25, cutoff * 30.0)


def _effects(axes: Axes, explanation: Explanation, colour: str) -> None:
    """Draw the weights of the features; bars to the right speak for the chosen algorithm."""
    effects = [one.effect for one in explanation.features]
    if not effects:
        axes.set_axis_off()
        return
    shades = [colour if effect > 0.0 else style.OTHER_ALGORITHMS for effect in effects]
    axes.barh(range(len(effects)), effects, height=0.6, color=shades)
    axes.axvline(0.0, color=style.INK, linewidth=0.8)
    names = [f"feature {one.index}" if one.name is None else one.name for one in explanation.features]
    values = [style.short_number(float(f"{one.value:.3g}")) for one in explanation.features]
    pairs = zip(style.distinct(names, 16), values, strict=True)
    style.name_rows(axes, [f"{name} = {value}" for name, value in pairs], 40)
    axes.locator_params(axis="x", nbins=3)
    axes.margins(x=0.08)
    unit = f" ({explanation.unit})" if explanation.unit else ""
    axes.set_xlabel(f"right: speaks for it{unit}")
    rival = f"for it against {style.shortened(explanation.rival or '', 22)}"
    axes.text(1.0, 1.02, rival, transform=axes.transAxes, ha="right", va="bottom", fontsize=8)


def solved_over_time(instances: Sequence[Instance]) -> Figure:
    begun = min(one.began for one in instances)
    ends = np.sort([(one.over or begun) - begun for one in instances])
    solved = np.sort([(one.over or begun) - begun for one in instances if one.solved])
    longest = float(ends[-1])
    size, unit = next((size, unit) for least, size, unit in _UNITS if longest >= least)
    figure, axes = style.sheet(6.4, 3.2)
    for at, label, colour, dashes in (
        (ends, "completed", style.INK, style.LOOKS["sbs"].dashes),
        (solved, "solved", style.LOOKS["tailcut"].colour, "-"),
    ):
        x = np.concatenate([[0.0], at, [longest]]) / size
        y = np.concatenate([np.arange(len(at) + 1), [len(at)]])
        axes.step(x, y, where="post", color=colour, linestyle=dashes, linewidth=1.6, label=label)
    axes.set(xlim=(0, max(longest / size, 1e-9)), ylim=(0, None))
    axes.set(xlabel=f"{unit} since the first decision", ylabel="instances")
    axes.legend(loc="lower right")
    return figure


def estimate(run: RunEstimate) -> Figure:
    """Draw a row per solver: estimate and interval, exact costs filled; dashed: what the run cost."""
    figure, axes = style.sheet(6.4, 0.27 * len(run.solvers) + 1.0)
    colour = style.LOOKS["thompson"].colour
    for place, one in enumerate(run.solvers):
        shade = style.OTHER_ALGORITHMS if one.par10 is None else colour
        axes.plot([one.low, one.high], [place, place], color=shade, linewidth=3.0, solid_capstyle="butt")
        if one.par10 is not None:
            dot: dict[str, Any] = {
                "markerfacecolor": colour if one.exact else "none",
                "markeredgecolor": style.INK,
            }
            axes.plot([one.par10], [place], "o", color=colour, **dot)
    axes.axvline(run.par10, color=style.LOOKS["tailcut"].colour, linewidth=1.8, linestyle=style.DASHED)
    style.name_rows(axes, [one.name for one in run.solvers], 25)
    axes.set(xlim=(0, None), xlabel="PAR10 per instance, s; dashed: what this run cost")
    return figure


def waterfall(instances: Sequence[Instance], algorithms: Sequence[str]) -> Figure:
    """Draw a bar per instance, its runs side by side, those of a race one below the other.

    A cross: it was not solved.
    """
    shown = sorted(instances, key=lambda one: -one.seconds)[:LONGEST]
    figure, axes = style.sheet(7.6, 0.15 * len(shown) + 1.1)
    coloured = algorithms[: len(style.ALGORITHMS)]
    colours = dict(zip(coloured, style.ALGORITHMS, strict=False))
    for place, one in enumerate(shown):
        if one.runs and one.runs[0].spent:
            axes.barh(place, one.runs[0].spent, color=style.INK, height=0.8)
        height = 0.8 / len(one.runs) if one.raced else 0.8
        for lane, run in enumerate(one.runs):
            at = place - 0.4 + (lane + 0.5) * height if one.raced else place
            colour = colours.get(run.algorithm, style.OTHER_ALGORITHMS)
            axes.barh(at, run.seconds or 0.0, left=run.spent, color=colour, height=height)
        if not one.solved:
            axes.plot([one.seconds], [place], "x", color=style.INK, markersize=3.5, clip_on=False)
    style.name_rows(axes, [one.name or "?" for one in shown], 30, size=5.5)
    axes.set(xlim=(0, None), xlabel="seconds; crosses: not solved; ink at the left: features")
    handles: list[Any] = [axes.bar(0, 0, color=colour) for colour in colours.values()]
    labels = style.distinct(coloured, 22)
    if len(algorithms) > len(coloured):
        handles.append(axes.bar(0, 0, color=style.OTHER_ALGORITHMS))
        labels.append("others")
    figure.legend(handles, labels, fontsize=7, loc="outside right upper")
    return figure
