"""One decision explained: an interval per algorithm on the axis of time, a bar per feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailcut.explain import AlgorithmBelief, Explanation, percent, seconds
from tailcut.report.figures.canvas import (
    distinct,
    plain_log,
    sheet,
    short_number,
    shortened,
    styled,
    thousands,
)
from tailcut.report.numbers.explained_decisions import ExplainedDecision
from tailcut.report.style import INK, OTHER_ALGORITHMS, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 12
"""The number of algorithms drawn: the chosen one, its rival, and those with the lowest expected losses."""
_RISE = 0.27
"""Inches per row."""
_TIMEOUT, _LOSS = 1.2, 1.44
"""Where the columns of numbers end, in widths of the axes."""


@styled
def draw(found: ExplainedDecision, selector: str, title: str) -> Figure:
    """Return the figure; a point is a median, a line a 90% interval, a cross the actual runtime."""
    explanation = found.explanation
    rows = _shown(explanation)
    room = max(_RISE * len(rows), _RISE * len(explanation.features), 1.0)
    height = room + 1.1
    figure, grid = sheet(10.0, height, columns=2)
    left, right = grid[0]
    left.set_position((0.195, 0.55 / height, 0.3, room / height))
    right.set_position((0.84, 0.55 / height, 0.145, room / height))
    colour = look(selector).colour
    _intervals(left, rows, found, colour)
    _effects(right, explanation, colour)
    figure.text(0.01, 1 - 0.1 / height, title, va="top", fontsize=10)
    return figure


def _shown(explanation: Explanation) -> list[AlgorithmBelief]:
    """Return the algorithms worth drawing, the lowest expected loss first."""
    known = [one for one in explanation.algorithms if one.expected_par is not None]
    ordered = sorted(known, key=lambda one: (one.expected_par or 0.0, one.name))
    kept = {explanation.algorithm, explanation.rival, *(one.name for one in ordered[: _MOST - 2])}
    return [one for one in ordered if one.name in kept]


def _intervals(axes: Axes, rows: list[AlgorithmBelief], found: ExplainedDecision, colour: str) -> None:
    explanation = found.explanation
    cutoff = explanation.cutoff
    start, end = _reach(rows, found)
    for place, one in enumerate(rows):
        assert one.low is not None
        assert one.high is not None
        assert one.predicted_runtime is not None
        chosen = one.name == explanation.algorithm
        shade = colour if chosen else OTHER_ALGORITHMS
        low, high = (min(max(value, start), end) for value in (one.low, one.high))
        axes.plot([low, high], [place, place], color=shade, linewidth=5.0 if chosen else 3.2,
                  solid_capstyle="butt", zorder=2)  # fmt: skip
        median = min(max(one.predicted_runtime, start), end)
        axes.plot([median], [place], marker="o" if one.predicted_runtime <= end else ">",
                  markersize=7 if chosen else 5.5, color=shade, markeredgecolor=INK,
                  markeredgewidth=0.8, zorder=3, clip_on=False)  # fmt: skip
        took = found.runtimes.get(one.name)
        if took is not None:
            axes.plot([max(took, start)], [place], marker="x", markersize=6, color=INK, zorder=4)
        _note(axes, place, one, chosen=chosen)
    axes.axvline(cutoff, color=INK, linewidth=1.0, linestyle=(0, (5, 2)))
    axes.set_xscale("log")
    axes.set_xlim(start, end)
    plain_log(axes, "x")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), distinct([one.name for one in rows], 25), fontsize=7.5)
    for label, one in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if one.name == explanation.algorithm else "normal")
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"seconds; dashed: cutoff {seconds(cutoff)} s; crosses: how long they really take")
    for x, head in ((_TIMEOUT, "timeout"), (_LOSS, f"PAR{explanation.penalty:g}")):
        axes.text(x, 1.0, head, transform=axes.transAxes, ha="right", va="bottom", fontsize=8)


def _reach(rows: list[AlgorithmBelief], found: ExplainedDecision) -> tuple[float, float]:
    """Return the limits of the time axis: everything drawn, within a sensible range."""
    cutoff = found.explanation.cutoff
    took = [found.runtimes[one.name] for one in rows if found.runtimes.get(one.name)]
    low = min([*(one.low for one in rows if one.low), *(value for value in took if value), cutoff])
    high = max([*(one.high for one in rows if one.high), cutoff])
    return max(low * 0.8, cutoff * 1e-6), min(high * 1.25, cutoff * 30.0)


def _note(axes: Axes, place: int, one: AlgorithmBelief, *, chosen: bool) -> None:
    """Write timeout probability and expected loss beside a row."""
    weight = "bold" if chosen else "normal"
    transform = axes.get_yaxis_transform()
    for x, text in ((_TIMEOUT, percent(one.timeout_probability or 0.0)), (_LOSS, f"{_loss(one)} s")):
        axes.text(x, place, text, transform=transform, ha="right", va="center", fontsize=8, fontweight=weight)


def _loss(one: AlgorithmBelief) -> str:
    return seconds(one.expected_par or 0.0)


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
    thousands(axes, "x")
    axes.margins(x=0.08)
    unit = f" ({explanation.unit})" if explanation.unit else ""
    axes.set_xlabel(f"right: speaks for it{unit}")
    rival = f"for it against {shortened(explanation.rival or '', 22)}"
    axes.text(1.0, 1.02, rival, transform=axes.transAxes, ha="right", va="bottom", fontsize=8)
