"""What all figures share: fonts and lines, axes without clutter, legends, and saving."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from tailcut.bench.labels import labelled
from tailcut.errors import InputError, MissingExtraError
from tailcut.report.style import FAINT, INK, PAPER, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")

_RC: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "text.color": INK,
    "text.parse_math": False,  # names may hold dollar signs
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "svg.fonttype": "none",  # text stays text: small files, searchable pages
    "svg.hashsalt": "tailcut",  # the same figure gives the same file
    "pdf.fonttype": 42,  # slower than the default, but conferences refuse Type 3 fonts
    "path.simplify_threshold": 0.5,
}


def with_svg(formats: Sequence[str]) -> list[str]:
    """Return the formats to draw in; raise if one is unknown."""
    for kind in formats:
        if kind not in FORMATS:
            raise InputError(f"unknown figure format {kind!r}; known: {', '.join(FORMATS)}")
    return list(dict.fromkeys(["svg", *formats]))


def sheet(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """Return an empty figure of so many inches and its axes, an array of shape (rows, columns)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


P = ParamSpec("P")


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Make a function draw in the style of all figures."""

    @wraps(draw)
    def inside(*given: P.args, **named: P.kwargs) -> Figure:
        with _matplotlib().rc_context(_RC):
            return draw(*given, **named)

    return inside


def require() -> None:
    """Raise, before long work begins, if the library for figures is not installed."""
    _matplotlib()


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingExtraError("figures need the extra 'report': pip install 'tailcut[report]'") from None
    return matplotlib


def save(figure: Figure, folder: Path, name: str, formats: Iterable[str]) -> None:
    """Write the figure in each format."""
    matplotlib = _matplotlib()
    with matplotlib.rc_context(_RC):
        for kind in formats:
            options: dict[str, Any] = {"dpi": 150} if kind == "png" else {}
            date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
            path = folder / f"{name}.{kind}"
            figure.savefig(path, metadata=date, **options)
            if kind == "svg":
                path.write_text(_lighter(path.read_text(encoding="utf-8")), encoding="utf-8")


def _lighter(svg: str) -> str:
    """Return an SVG document with coordinates to a hundredth of a point, and no needless lines.

    >>> _lighter('<path d="M 1.234567 20.000001 L 3 4.5"/>')
    '<path d="M 1.23 20 L 3 4.5"/>'
    """
    shorter = re.sub(
        r' (?:d|x|y|transform)="[^"]*"', lambda part: re.sub(r"-?\d+\.\d{3,}", _rounded, part[0]), svg
    )
    return re.sub(r"\n\s*", "\n", shorter)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def drawn(selector: str, *, marker: bool = False) -> dict[str, Any]:
    """Return the options that draw a selector's line in its style."""
    chosen = look(selector)
    options: dict[str, Any] = {
        "color": chosen.colour,
        "linestyle": chosen.dashes,
        "linewidth": chosen.width,
        "label": labelled(selector),
    }
    return {**options, "marker": chosen.marker, "markersize": 5} if marker else options


def legend_right(figure: Figure, axes: Axes, left: float, top: float = 0.9) -> None:
    """Put the legend beside the axes, its left edge at the share `left` of the width."""
    handles, labels = axes.get_legend_handles_labels()
    options: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (left, top), "handlelength": 2.8}
    figure.legend(handles, distinct(labels), borderaxespad=0.0, **options)


def distinct(names: Sequence[str], most: int = 28) -> list[str]:
    """Return names that fit and still differ.

    >>> distinct(["solver-" + "x" * 30 + "-1", "solver-" + "x" * 31 + "-1", "b"], 14)
    ['sol…xxxxxxxx-1', 'sol…xxxxxxxx-1 (2)', 'b']
    """
    found: list[str] = []
    for name in names:
        short, number = shortened(name, most), 1
        candidate = short
        while candidate in found:
            number += 1
            candidate = f"{short} ({number})"
        found.append(candidate)
    return found


def shortened(name: str, most: int = 28) -> str:
    """Return a name that fits: its middle is cut.

    >>> shortened("a" * 40)
    'aaaaaaaaaaaaaaaaa…aaaaaaaaaa'
    """
    name = " ".join(name.split())
    return name if len(name) <= most else f"{name[: most - 11]}…{name[-10:]}"


def plain_log(axes: Axes, which: str) -> None:
    """Label a logarithmic axis with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    if high / low < 40:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_formatter(NullFormatter())


def thousands(axes: Axes, which: str = "y") -> None:
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


def panels(count: int, columns: int) -> tuple[int, int]:
    """Return rows and columns for so many panels.

    >>> panels(5, 3), panels(2, 3)
    ((2, 3), (1, 2))
    """
    return -(-count // columns), min(count, columns)


def blank(axes: Sequence[Axes]) -> None:
    """Hide axes that have nothing to show."""
    for one in axes:
        one.set_axis_off()
