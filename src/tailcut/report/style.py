"""How figures look: one style per selector, the same in every figure, and axes without clutter.

The hue of a selector is that of its family; shade, dashes and marker differ within it.

The hues of the families are those of Okabe and Ito ("Color Universal Design", 2008) and a violet chosen
for its distance from them; a test checks that they stay apart under simulated colour blindness.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from tailcut.bench.labels import labelled, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER = "#ffffff"
"""The background; turned dark on a dark page."""
INK = "#1a1a1a"
"""Text, axes and hindsight baselines; turned light on a dark page."""
INDIGO = "#332288"
"""The first colour of a scenario's algorithms; turned lighter on a dark page."""
FAINT = "#d0d0d1"
"""Grid lines and what stands in the background."""

SOLID, DASHED, DOTTED, DASHDOT = "-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2))


@dataclass(frozen=True)
class Look:
    """How a selector is drawn."""

    colour: str
    dashes: str | tuple[int, tuple[float, ...]]
    marker: str
    family: str
    width: float = 1.4


_BLUE, _LIGHT_BLUE = "#0072b2", "#56b4e9"
_RED, _LIGHT_RED = "#d55e00", "#f2a067"
_GREEN, _LIGHT_GREEN = "#009e73", "#63c9a9"
_PINK, _DARK_PINK, _LIGHT_PINK = "#cc79a7", "#9c4676", "#e5b3ce"
_VIOLET, _LIGHT_VIOLET = "#9d24f3", "#c27dfa"
_GOLD, _GREY, _BROWN, _CRIMSON = "#e69f00", "#9a9a9a", "#7a4b1e", "#b00020"

LOOKS = {
    "tailcut": Look(_VIOLET, SOLID, "*", "ours", 2.0),
    "tailcut_schedule": Look(_CRIMSON, SOLID, "P", "schedules", 2.0),
    "bounded_thompson": Look(_LIGHT_VIOLET, DASHDOT, "p", "ours", 1.8),
    "thompson": Look(_BLUE, SOLID, "o", "Thompson"),
    "thompson_rev": Look(_BLUE, DASHED, "s", "Thompson"),
    "bj_thompson": Look(_LIGHT_BLUE, SOLID, "^", "Thompson"),
    "bj_thompson_rev": Look(_LIGHT_BLUE, DASHED, "D", "Thompson"),
    "blinducb": Look(_RED, SOLID, "o", "blind LinUCB"),
    "blinducb_rev": Look(_RED, DASHED, "s", "blind LinUCB"),
    "rand_blinducb": Look(_LIGHT_RED, SOLID, "^", "blind LinUCB"),
    "rand_blinducb_rev": Look(_LIGHT_RED, DASHED, "D", "blind LinUCB"),
    "bclinucb": Look(_GREEN, SOLID, "o", "bc LinUCB"),
    "bclinucb_rev": Look(_GREEN, DASHED, "s", "bc LinUCB"),
    "rand_bclinucb": Look(_LIGHT_GREEN, SOLID, "^", "bc LinUCB"),
    "rand_bclinucb_rev": Look(_LIGHT_GREEN, DASHED, "D", "bc LinUCB"),
    "degroote_epsilon_greedy_lr": Look(_PINK, SOLID, "X", "Degroote"),
    "degroote_epsilon_greedy_rf": Look(_DARK_PINK, DASHED, "v", "Degroote"),
    "degroote_ucb_rf": Look(_LIGHT_PINK, DASHDOT, ">", "Degroote"),
    "epsilon_greedy": Look(_GOLD, SOLID, "h", "no features"),
    "random": Look(_GREY, DOTTED, "x", "no features"),
    "round_robin": Look(_BROWN, DASHDOT, "<", "schedules"),
    "oracle": Look(INK, DOTTED, "1", "hindsight", 1.6),
    "sbs": Look(INK, DASHDOT, "+", "hindsight", 1.6),
    "sbs_train": Look(_GREY, DASHDOT, "4", "hindsight", 1.2),
    "sbs_pair": Look(INK, DASHED, "2", "hindsight", 1.2),
    "sbs_schedule": Look(INK, SOLID, "3", "hindsight", 1.2),
}

_SPARE_COLOURS = ("#882255", "#117733", "#332288", "#999933", "#aa4499", "#44aa99")
_SPARE_MARKERS = ("p", "<", "d", "8", "H")

ALGORITHMS = (INDIGO, "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255", "#aa4499")
"""Colours of a scenario's algorithms: Paul Tol's scheme "muted" (technical note, 2021)."""
OTHER_ALGORITHMS = "#bbbbbb"


def look(selector: str) -> Look:
    """Return how a selector is drawn; an unknown name gets a style that depends on the name alone.

    >>> look("thompson:noise_variance=2.0").family
    'Thompson'
    """
    if selector in LOOKS:
        return LOOKS[selector]
    number = int.from_bytes(hashlib.sha256(selector.encode()).digest()[:4], "big")
    colour = _SPARE_COLOURS[number % len(_SPARE_COLOURS)]
    marker = _SPARE_MARKERS[number // 7 % len(_SPARE_MARKERS)]
    dashes = (SOLID, DASHED, DASHDOT)[number // 41 % 3]
    base = LOOKS.get(name_of(selector))
    return Look(colour, dashes, marker, base.family if base else "other")


def sheet(width: float, height: float, **options: Any) -> tuple[Figure, Axes]:
    figure, (axes,) = panels(width, height, 1, 1, **options)
    return figure, axes


def panels(
    width: float, height: float, count: int, columns: int, layout: Any = "constrained", **options: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each of `count` things, in at most so many columns."""
    from matplotlib.figure import Figure  # not pyplot, which keeps state

    figure = Figure(figsize=(width, height), layout=layout)
    rows, columns = -(-count // columns), min(count, columns)
    every = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for unused in every[count:]:
        unused.set_axis_off()
    return figure, every[:count]


def small_panels(
    width: float, row: float, titles: Sequence[str], columns: int, more: float = 0.7, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Return a panel for each title, in rows of so many inches, with `more` for what stands around them."""
    height = row * -(-len(titles) // columns) + more
    figure, every = panels(width, height, len(titles), columns, **options)
    for axes, title in zip(every, titles, strict=True):
        axes.set_title(title, fontsize=8.5)
        axes.tick_params(labelsize=7)
    return figure, every


def entitle(figure: Figure, title: str | None, across: str, up: str) -> None:
    if title is not None:
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    figure.supxlabel(across, fontsize=8.5)
    figure.supylabel(up, fontsize=8.5)


def drawn(selector: str, *, marker: bool = False) -> dict[str, Any]:
    style = look(selector)
    line: dict[str, Any] = {"color": style.colour, "linestyle": style.dashes, "linewidth": style.width}
    line["label"] = labelled(selector)
    return {**line, "marker": style.marker, "markersize": 5} if marker else line


def legend_right(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, distinct(labels), handlelength=2.8, loc="outside right center")


def name_rows(axes: Axes, names: Sequence[str], most: int, size: float = 8.0) -> None:
    """Write names of at most so many letters in place of a vertical axis, from top to bottom."""
    axes.set_yticks(range(len(names)), distinct(names, most), fontsize=size)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    short_ticks(axes, "x")


def distinct(names: Sequence[str], most: int = 28) -> list[str]:
    """Return names that fit and still differ.

    >>> distinct(["solver-" + "x" * 30 + "-1", "solver-" + "x" * 31 + "-1", "b"], 14)
    ['sol…xxxxxxxx-1', 'sol…xxxxxxxx-1 (2)', 'b']
    """
    fitting: list[str] = []
    for name in names:
        short = shortened(name, most)
        numbered = (f"{short} ({number})" for number in count(2))
        fitting.append(next(one for one in chain([short], numbered) if one not in fitting))
    return fitting


def shortened(name: str, most: int = 28) -> str:
    """Return a name that fits: its middle is cut.

    >>> shortened("a" * 40)
    'aaaaaaaaaaaaaaaaa…aaaaaaaaaa'
    """
    name = " ".join(name.split())
    return name if len(name) <= most else f"{name[: most - 11]}…{name[-10:]}"


def plain_log(axes: Axes, which: str) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    short_ticks(axes, which)
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    if high / low < 40:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_formatter(NullFormatter())


def short_ticks(axes: Axes, which: str = "y") -> None:
    """Label an axis with short numbers: 1.5k, 20k, 3M."""
    from matplotlib.ticker import FuncFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))


def short_number(value: float) -> str:
    """Return a number as axes show it.

    >>> short_number(1500.0), short_number(2e6), short_number(0.5)
    ('1.5k', '2M', '0.5')
    """
    for size, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{sign}"
    return f"{value:g}"
