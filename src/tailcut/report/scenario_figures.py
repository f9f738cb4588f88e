"""Figures of one scenario: regret, choices, solved instances, survival, learning, one decision explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tailcut.bench.labels import labelled
from tailcut.explain import AlgorithmBelief, Explanation, percent, seconds
from tailcut.report.canvas import (
    distinct,
    drawn,
    legend_right,
    panels,
    plain_log,
    sheet,
    short_number,
    short_ticks,
    shortened,
)
from tailcut.report.complement import Complement
from tailcut.report.curves import InstanceScatter, Learning, Shares, StreamCurves, SurvivalCurve
from tailcut.report.gather import ExplainedDecision
from tailcut.report.style import (
    ALGORITHMS,
    DASHDOT,
    DASHED,
    FAINT,
    INK,
    LOOKS,
    OTHER_ALGORITHMS,
    SOLID,
    look,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 12
"""Algorithms drawn of a decision: the chosen one, its rival, and those with the lowest expected losses."""
_RISE = 0.27
"""Inches per row of a decision."""
_TIMEOUT, _LOSS = 1.2, 1.44
"""Where the columns of numbers beside a decision end, in widths of the axes."""


def regret(curves: StreamCurves, featured: Sequence[str], par: str) -> Figure:
    """Draw cumulative regret: the featured selectors with bands of one deviation, the others thin behind."""
    figure, axes = sheet(6.4, 3.6)
    _regret_panel(axes, curves, featured)
    axes.set(xlabel="instances", ylabel=f"cumulative {par} regret, s", title=curves.scenario)
    legend_right(figure, axes, left=0.12)
    return figure


def regret_overview(scenarios: Sequence[StreamCurves], featured: Sequence[str], par: str) -> Figure:
    """Draw the regret of all scenarios on one sheet, at every third point: a small panel shows no more."""
    columns = min((4, 3), key=lambda wide: -len(scenarios) % wide)
    height = 1.9 * -(-len(scenarios) // columns) + 1.0
    columns = min(columns, len(scenarios))
    figure, every = panels(2.6 * max(columns, 2), height, len(scenarios), columns)
    for axes, curves in zip(every, scenarios, strict=True):
        _regret_panel(axes, curves, featured, np.arange(len(curves.at))[::-3][::-1])
        axes.set_title(curves.scenario, fontsize=9)
        axes.tick_params(labelsize=7)
    top = 1.0 - 0.75 / height
    figure.subplots_adjust(left=0.07, right=0.985, bottom=0.55 / height, top=top, hspace=0.45, wspace=0.28)
    figure.supxlabel("instances", fontsize=9, y=0.1 / height)
    figure.supylabel(f"cumulative {par} regret, s", fontsize=9, x=0.004)
    handles, labels = every[0].get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.995)}
    figure.legend(handles, labels, fontsize=8, handlelength=2.8, ncol=3 if columns < 4 else 4, **place)
    return figure


def _regret_panel(axes: Axes, curves: StreamCurves, featured: Sequence[str], kept: Any = slice(None)) -> None:
    at = curves.at[kept]
    bands = {b.name: (b.mean[kept], b.deviation[kept]) for b in curves.bands if b.name != "oracle"}
    shown = [name for name in featured if name in bands]
    for name, (mean, _) in bands.items():
        if name not in shown:
            axes.plot(at, mean, color=look(name).colour, linewidth=0.5, alpha=0.45, zorder=1.5)
    for name in shown:
        mean, deviation = bands[name]
        fill: dict[str, Any] = {"color": look(name).colour, "alpha": 0.18, "linewidth": 0, "zorder": 1.8}
        axes.fill_between(at, mean - deviation, mean + deviation, **fill)
        axes.plot(at, mean, **drawn(name))
    if len(bands) > len(shown):
        axes.plot([], [], color=FAINT, linewidth=0.8, label="thin: the other selectors")
    low = min(0.0, *(float(mean.min()) for mean, _ in bands.values()))
    tops = [mean + (deviation if name in shown else 0.0) for name, (mean, deviation) in bands.items()]
    top = max((float(values.max()) for values in tops), default=1.0)
    axes.set(xlim=(0, at[-1]), ylim=(low, top * 1.03 or 1.0))
    short_ticks(axes)


def instances(scatter: InstanceScatter) -> Figure:
    """Draw a point per instance; below the line is good, unsolved ones stand in a margin."""
    figure, axes = sheet(6.4, 4.6)
    edge = scatter.cutoff * 2.0
    across, up = (np.where(v > scatter.cutoff, edge, v) for v in (scatter.single_best, scatter.paid))
    low = max(min(float(across.min()), float(up.min())), scatter.cutoff * 1e-5)
    dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4.5, "markeredgewidth": 0}
    colour = look(scatter.selector).colour
    axes.plot(np.maximum(across, low), np.maximum(up, low), color=colour, alpha=0.45, **dots)
    axes.plot([low, edge], [low, edge], color=INK, linewidth=1.0)
    for line in (axes.axvline, axes.axhline):
        line(scatter.cutoff * 1.4, color=INK, linewidth=0.8, linestyle=":")
    limits = (low * 0.8, edge * 1.3)
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
    plain_log(axes, "x")
    plain_log(axes, "y")
    better, worse = (scatter.paid < scatter.single_best).sum(), (scatter.paid > scatter.single_best).sum()
    axes.set(
        xlabel="seconds of the single best solver; beyond the dots: unsolved",
        ylabel=f"seconds of {labelled(scatter.selector)}",
        title=f"{scatter.scenario}: better on {better}, worse on {worse}",
    )
    figure.subplots_adjust(left=0.12, right=0.97, bottom=0.13, top=0.93)
    return figure


def solved(curves: StreamCurves, featured: Sequence[str]) -> Figure:
    """Draw the share of instances that the featured selectors solve within t seconds, up to the cutoff."""
    figure, axes = sheet(6.4, 3.6)
    by_name = {band.name: band for band in curves.bands}
    for name in featured:
        if name in by_name:
            band = by_name[name]
            low, high = band.mean - band.deviation, band.mean + band.deviation
            axes.fill_between(curves.at, low, high, color=look(name).colour, alpha=0.15, linewidth=0)
            axes.plot(curves.at, band.mean, **drawn(name))
    label = "seconds, up to the cutoff (features included where used)"
    _share_over_time(axes, (curves.at[0], curves.at[-1]), None, label)
    axes.set(ylabel="instances solved", title=curves.scenario)
    legend_right(figure, axes)
    return figure


def survival(scenario: str, curves: Sequence[SurvivalCurve]) -> Figure:
    """Draw Kaplan-Meier curves: the heavier the tail, the higher the line; the lowest PARk have colours."""
    figure, axes = sheet(6.4, 3.6)
    cutoff = max(float(one.time[-1]) for one in curves)
    positive = np.concatenate([one.time[one.time > 0] for one in curves])
    start = max(float(positive.min()) * 0.8, cutoff * 1e-5)
    for number, one in enumerate(curves):
        style: dict[str, Any] = {"color": OTHER_ALGORITHMS, "linewidth": 0.7, "zorder": 1.5}
        if number < len(ALGORITHMS):
            style = {"color": ALGORITHMS[number], "linestyle": (SOLID, DASHED, DASHDOT)[number % 3]}
            style |= {"linewidth": 1.3, "label": one.algorithm}
        elif number == len(ALGORITHMS):
            style["label"] = "the other algorithms"
        axes.step(np.maximum(one.time, start), one.share, where="post", **style)
    _share_over_time(axes, (start, cutoff), 1, "seconds, up to the cutoff")
    axes.set(ylabel="runs still unsolved", title=scenario)
    legend_right(figure, axes, left=0.115)
    return figure


def _share_over_time(axes: Axes, times: tuple[float, float], top: float | None, label: str) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.set(xscale="log", xlim=times, ylim=(0, top), xlabel=label)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    plain_log(axes, "x")


def choices(
    scenario: str, shares: Sequence[Shares], algorithms: Sequence[str], best: Sequence[str] = ()
) -> Figure:
    """Draw stacked shares over time, one panel per selector; some algorithms have colours, the rest are grey.

    `best` are the algorithms by PARk, if known: they have the same colours as in the survival curves. Without
    it, the most chosen ones get colours.
    """
    total = np.sum([one.share.mean(axis=0) for one in shares], axis=0)
    order = [algorithms.index(name) for name in best] or np.argsort(-total, kind="stable").tolist()
    coloured = order[: len(ALGORITHMS)]
    rest = np.setdiff1d(np.arange(len(total)), coloured)
    labels = [*distinct([algorithms[k] for k in coloured], 25), *(["others"] if len(rest) else [])]
    height = 1.75 * -(-len(shares) // 3) + 0.75
    figure, every = panels(7.6, height, len(shares), 3, sharey=True, sharex=True)
    for axes, one in zip(every, shares, strict=True):
        at = np.concatenate([[0.0], one.at])
        share = np.vstack([one.share[:1], one.share])
        layers = [share[:, k] for k in coloured] + ([share[:, rest].sum(axis=1)] if len(rest) else [])
        colours = [*ALGORITHMS[: len(coloured)], OTHER_ALGORITHMS]
        axes.stackplot(at, *layers, colors=colours, step="pre", linewidth=0, labels=labels)
        axes.set_title(shortened(labelled(one.selector)), fontsize=8)
        axes.set(xlim=(0, at[-1]), ylim=(0, 1))
        axes.tick_params(labelsize=7)
        axes.grid(visible=False)
    figure.subplots_adjust(left=0.075, right=0.74, bottom=0.48 / height, top=1 - 0.5 / height, hspace=0.35)
    figure.suptitle(scenario, x=0.01, y=0.995, ha="left", va="top", fontsize=10)
    figure.supxlabel("instances", fontsize=8.5, x=0.4, y=0.06 / height)
    figure.supylabel("share of choices", fontsize=8.5, x=0.002)
    handles, labels = every[0].get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.755, 1 - 0.45 / height)}
    figure.legend(handles[::-1], labels[::-1], fontsize=7, **place)
    return figure


def learning(learned: Sequence[Learning], par: str) -> Figure:
    """Draw nPARk per part of the stream; 1 is the single best solver on the same instances."""
    figure, axes = sheet(6.4, 3.6)
    axes.axhline(1.0, color=INK, linewidth=1.4, linestyle=LOOKS["sbs"].dashes, label="sbs")
    for one in learned:
        axes.plot(one.at, one.npar, **drawn(one.selector, marker=True))
    axes.set(xlim=(0, None), ylim=(min(0.0, *axes.get_ylim()), None))
    axes.set(xlabel="instances", ylabel=f"n{par} within each part", title="How the selectors learn")
    legend_right(figure, axes)
    return figure


def growth(complement: Complement, par: str, most: int = 12) -> Figure:
    """Draw the PARk of a perfect choice among the best 1, 2, ... solvers, bars named by newcomers."""
    shown = complement.growth[:most]
    height = 0.27 * len(shown) + 1.1
    figure, axes = sheet(6.4, height)
    places = range(len(shown))
    axes.barh(places, [one.par for one in shown], color=LOOKS["thompson"].colour, height=0.65)
    axes.axvline(complement.vbs, color=INK, linewidth=1.2, linestyle=LOOKS["oracle"].dashes)
    names = [("" if i == 0 else "+ ") + shortened(one.algorithms[-1]) for i, one in enumerate(shown)]
    axes.set_yticks(list(places), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    short_ticks(axes, "x")
    axes.set(xlabel=f"{par} of a perfect choice, s; dotted: all solvers (VBS)")
    axes.set_title("What each further solver is worth")
    figure.subplots_adjust(left=0.38, right=0.97, bottom=0.55 / height, top=1 - 0.35 / height)
    return figure


def decision(explained: ExplainedDecision, selector: str, title: str) -> Figure:
    """Draw beliefs and features; a point is a median, a line a 90% interval, a cross the actual runtime."""
    explanation = explained.explanation
    predicted = [one for one in explanation.algorithms if one.expected_par is not None]
    ordered = sorted(predicted, key=lambda one: (one.expected_par or 0.0, one.name))
    kept = {explanation.algorithm, explanation.rival, *(one.name for one in ordered[: _MOST - 2])}
    rows = [one for one in ordered if one.name in kept]
    room = max(_RISE * len(rows), _RISE * len(explanation.features), 1.0)
    height = room + 1.1
    figure, (left, right) = panels(10.0, height, 2, 2)
    left.set_position((0.195, 0.55 / height, 0.3, room / height))
    right.set_position((0.84, 0.55 / height, 0.145, room / height))
    colour = look(selector).colour
    _intervals(left, rows, explained, colour)
    _effects(right, explanation, colour)
    figure.text(0.01, 1 - 0.1 / height, title, va="top", fontsize=10)
    return figure


def _intervals(axes: Axes, rows: list[AlgorithmBelief], explained: ExplainedDecision, colour: str) -> None:
    explanation = explained.explanation
    cutoff = explanation.cutoff
    start, end = _reach(rows, explained)
    axes.set(xscale="log", xlim=(start, end), ylim=(len(rows) - 0.4, -0.6))
    for place, one in enumerate(rows):
        chosen = one.name == explanation.algorithm
        shade, weight = (colour, "bold") if chosen else (OTHER_ALGORITHMS, "normal")
        assert one.predicted_runtime is not None
        low, median, high = np.clip([one.low, one.predicted_runtime, one.high], start, end)
        width = 5.0 if chosen else 3.2
        axes.plot([low, high], [place] * 2, color=shade, linewidth=width, solid_capstyle="butt", zorder=2)
        point: dict[str, Any] = {"marker": "o" if one.predicted_runtime <= end else ">", "zorder": 3}
        point |= {"markersize": 7 if chosen else 5.5, "markeredgecolor": INK, "markeredgewidth": 0.8}
        axes.plot([median], [place], color=shade, clip_on=False, **point)
        took = explained.runtimes.get(one.name)
        if took is not None:
            axes.plot([max(took, start)], [place], marker="x", markersize=6, color=INK, zorder=4)
        beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "ha": "right", "va": "center"}
        loss = f"{seconds(one.expected_par or 0.0)} s"
        for x, text in ((_TIMEOUT, percent(one.timeout_probability or 0.0)), (_LOSS, loss)):
            axes.text(x, place, text, fontsize=8, fontweight=weight, **beside)
    axes.axvline(cutoff, color=INK, linewidth=1.0, linestyle=DASHED)
    plain_log(axes, "x")
    axes.set_yticks(range(len(rows)), distinct([one.name for one in rows], 25), fontsize=7.5)
    for label, one in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if one.name == explanation.algorithm else "normal")
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"seconds; dashed: cutoff {seconds(cutoff)} s; crosses: how long they really take")
    for x, head in ((_TIMEOUT, "timeout"), (_LOSS, f"PAR{explanation.penalty:g}")):
        axes.text(x, 1.0, head, transform=axes.transAxes, ha="right", va="bottom", fontsize=8)


def _reach(rows: list[AlgorithmBelief], explained: ExplainedDecision) -> tuple[float, float]:
    """Return the limits of the time axis: everything drawn, within a sensible range."""
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
    places = range(len(effects))
    axes.barh(places, effects, height=0.6, color=[colour if e > 0.0 else OTHER_ALGORITHMS for e in effects])
    axes.axvline(0.0, color=INK, linewidth=0.8)
    names = [f"feature {one.index}" if one.name is None else one.name for one in explanation.features]
    values = [f" = {short_number(float(f'{one.value:.3g}'))}" for one in explanation.features]
    labels = [name + value for name, value in zip(distinct(names, 16), values, strict=True)]
    axes.set_yticks(list(places), labels, fontsize=8)
    axes.set_ylim(len(effects) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.locator_params(axis="x", nbins=3)
    short_ticks(axes, "x")
    axes.margins(x=0.08)
    unit = f" ({explanation.unit})" if explanation.unit else ""
    axes.set_xlabel(f"right: speaks for it{unit}")
    rival = f"for it against {shortened(explanation.rival or '', 22)}"
    axes.text(1.0, 1.02, rival, transform=axes.transAxes, ha="right", va="bottom", fontsize=8)
