"""What all figures share: fonts and lines, axes without clutter, legends; drawing and saving them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailcut.bench.labels import labelled
from tailcut.errors import InputError, MissingExtraError
from tailcut.numerics.processes import unordered
from tailcut.report.gather import SILENT, ReportProgress
from tailcut.report.style import look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")
Drawings = dict[str, partial["Figure"]]
"""Name of a figure's files -> the call that draws it, in this process or another."""
_STYLE = Path(__file__).parent / "templates" / "figures.mplstyle"


def with_svg(formats: Sequence[str]) -> list[str]:
    """Return the formats to draw in; raise if one is unknown."""
    for kind in formats:
        if kind not in FORMATS:
            raise InputError(f"unknown figure format {kind!r}; known: {', '.join(FORMATS)}")
    return list(dict.fromkeys(["svg", *formats]))


def require() -> Any:
    """Return the library for figures; raise if it is not installed."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingExtraError("figures need the extra 'report': pip install 'tailcut[report]'") from None
    return matplotlib


def render_all(
    drawings: Drawings,
    folder: Path,
    formats: Sequence[str],
    jobs: int = 1,
    progress: ReportProgress = SILENT,
) -> dict[str, str]:
    """Draw all figures, in processes if there are several jobs and enough to do; return them as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    progress.figures_planned(len(drawings))
    draw = partial(render_one, folder=folder, formats=with_svg(formats))
    several = jobs > 1 and len(drawings) >= 12
    for name in unordered(draw, drawings.items(), jobs=jobs) if several else map(draw, drawings.items()):
        progress.figure_drawn(name)
    return {name: (folder / f"{name}.svg").read_text(encoding="utf-8") for name in drawings}


def render_one(drawing: tuple[str, Callable[[], Figure]], folder: Path, formats: Sequence[str]) -> str:
    """Draw one figure, write it in all formats, and return its name."""
    name, draw = drawing
    with require().rc_context(fname=_STYLE):
        figure = draw()
        for kind in formats:
            options: dict[str, Any] = {"dpi": 150} if kind == "png" else {}
            date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
            path = folder / f"{name}.{kind}"
            figure.savefig(path, metadata=date, **options)
            if kind == "svg":
                path.write_text(_lighter(path.read_text(encoding="utf-8")), encoding="utf-8")
    return name


def _lighter(svg: str) -> str:
    """Return an SVG document with coordinates to a hundredth of a point, and no needless lines.

    >>> _lighter('<path d="M 1.234567 20.000001 L 3 4.5"/>')
    '<path d="M 1.23 20 L 3 4.5"/>'
    """

    def rounded(number: re.Match[str]) -> str:
        return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")

    shorter = re.sub(
        r' (?:d|x|y|transform)="[^"]*"', lambda part: re.sub(r"-?\d+\.\d{3,}", rounded, part[0]), svg
    )
    return re.sub(r"\n\s*", "\n", shorter)


def slug(name: str) -> str:
    """Return a name as a part of a file name; a changed name gets a unique suffix.

    >>> slug("SAT12-INDU"), slug("a/b")
    ('SAT12-INDU', 'a_b-c14cddc0')
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")
    return plain if plain == name else f"{plain[:60]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def sheet(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty figure of so many inches and its axes."""
    figure, (axes,) = panels(width, height, 1, 1)
    return figure, axes


def panels(
    width: float, height: float, count: int, columns: int, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each of `count` things, in at most so many columns."""
    from matplotlib.figure import Figure  # not pyplot, which keeps state

    figure = Figure(figsize=(width, height))
    rows, columns = -(-count // columns), min(count, columns)
    every = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for unused in every[count:]:
        unused.set_axis_off()
    return figure, every[:count]


def drawn(selector: str, *, marker: bool = False) -> dict[str, Any]:
    """Return the options that draw a selector's line in its style."""
    style = look(selector)
    options: dict[str, Any] = {
        "color": style.colour,
        "linestyle": style.dashes,
        "linewidth": style.width,
        "label": labelled(selector),
    }
    return {**options, "marker": style.marker, "markersize": 5} if marker else options


def legend_right(figure: Figure, axes: Axes, left: float = 0.1) -> None:
    """Put the axes into the left part of the figure, from `left` of its width on, and the legend beside."""
    figure.subplots_adjust(left=left, right=0.63, bottom=0.15, top=0.91)
    handles, labels = axes.get_legend_handles_labels()
    options: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.65, 0.9), "handlelength": 2.8}
    figure.legend(handles, distinct(labels), borderaxespad=0.0, **options)


def distinct(names: Sequence[str], most: int = 28) -> list[str]:
    """Return names that fit and still differ.

    >>> distinct(["solver-" + "x" * 30 + "-1", "solver-" + "x" * 31 + "-1", "b"], 14)
    ['sol…xxxxxxxx-1', 'sol…xxxxxxxx-1 (2)', 'b']
    """
    fitting: list[str] = []
    for name in names:
        short, number = shortened(name, most), 1
        candidate = short
        while candidate in fitting:
            number += 1
            candidate = f"{short} ({number})"
        fitting.append(candidate)
    return fitting


def shortened(name: str, most: int = 28) -> str:
    """Return a name that fits: its middle is cut.

    >>> shortened("a" * 40)
    'aaaaaaaaaaaaaaaaa…aaaaaaaaaa'
    """
    name = " ".join(name.split())
    return name if len(name) <= most else f"{name[: most - 11]}…{name[-10:]}"


def plain_log(axes: Axes, which: str) -> None:
    """Label a logarithmic axis with plain numbers."""
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
