"""What a report is written as: tables and figures as files, and one self-contained page that shows them."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tailcut.bench.labels import is_schedule, labelled
from tailcut.display import counted
from tailcut.errors import InputError, MissingExtraError
from tailcut.explain import seconds
from tailcut.numerics.processes import unordered
from tailcut.report.gather import SILENT, ReportProgress
from tailcut.report.style import FAINT, INDIGO, INK, PAPER

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")
Drawings = dict[str, partial["Figure"]]
"""Name of a figure's files -> the call that draws it, in this process or another."""
_TEMPLATES = Path(__file__).parent / "templates"
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "µ": r"\textmu{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def render(template: str, **context: Any) -> str:
    """Return a template of the folder `templates`, filled in; in HTML, values are escaped."""
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError:
        raise MissingExtraError("pages need the extra 'report': pip install 'tailcut[report]'") from None
    environment = Environment(
        loader=PackageLoader("tailcut.report"),
        autoescape=lambda name: name is None or not name.endswith((".md.j2", ".tex.j2", ".txt.j2")),
        undefined=StrictUndefined,
        extensions=["jinja2.ext.do"],
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"latex": latex, "markdown": markdown, "prose": prose}
    environment.filters |= {"counted": counted, "number": format, "seconds": seconds}
    environment.filters |= {"labelled": labelled, "slug": slug}
    environment.tests["schedule"] = is_schedule
    return environment


def markdown(text: str) -> str:
    """Return text that Markdown shows as it stands."""
    return re.sub(r"([\\|*_`<>\[\]#])", r"\\\1", " ".join(text.split()))


def latex(text: str) -> str:
    r"""Return text that LaTeX prints as it stands; signs it cannot print become question marks.

    >>> print(latex("rand_ucb 5% & more"))
    rand\_ucb 5\% \& more
    """
    return "".join(
        _LATEX.get(sign, sign if sign.isprintable() and ord(sign) < 0x250 else "?") for sign in text
    )


def prose(text: str) -> Markup:
    """Return a plain text as HTML, with what is in backticks as code.

    >>> print(prose("a < b: `tailcut bench`"))
    a &lt; b: <code>tailcut bench</code>
    """
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def slug(name: str) -> str:
    """Return a name as a part of a file name; a changed name gets a unique suffix.

    >>> slug("SAT12-INDU"), slug("a/b")
    ('SAT12-INDU', 'a_b-c14cddc0')
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")
    return plain if plain == name else f"{plain[:60]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


Value = float | int | str | None


@dataclass(frozen=True)
class Cell:
    """A text, or a number with its format and perhaps a deviation; None and nan are empty."""

    value: Value
    deviation: float | None = None
    mark: Literal["", "best", "second"] = ""
    number_format: str = ""

    @property
    def empty(self) -> bool:
        return self.value is None or (isinstance(self.value, float) and not math.isfinite(self.value))

    @property
    def text(self) -> str:
        """What is shown, without the deviation."""
        if self.empty:
            return ""
        return format(self.value, self.number_format) if isinstance(self.value, float) else str(self.value)

    @property
    def spread(self) -> str:
        """The deviation as it is shown; nothing if there is none."""
        return "" if self.empty or self.deviation is None else format(self.deviation, self.number_format)

    @property
    def exact(self) -> str:
        if self.empty:
            return ""
        return repr(float(self.value)) if isinstance(self.value, float) else str(self.value)


Row = Sequence[Value | Cell]


@dataclass(frozen=True)
class Table:
    """Columns, rows, and rows that sum up below a line; the first column names the row.

    >>> table = Table("k", "T", "", {"name": "", "par": ".1f", "share": ".0%"}, [("a", 12.345, 0.25)])
    >>> [cell.text for cell in table.cells(table.rows[0])]
    ['a', '12.3', '25%']
    """

    key: str
    title: str
    note: str
    columns: dict[str, str]
    """Heading -> how its fractions are formatted; texts and integers are shown as they are."""
    rows: Sequence[Row]
    footer: Sequence[Row] = ()

    def cells(self, row: Row) -> list[Cell]:
        pairs = zip(row, self.columns.values(), strict=True)
        return [replace(cell if isinstance(cell, Cell) else Cell(cell), number_format=f) for cell, f in pairs]

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for kind in ("md", "tex", "csv", "html"):
            (folder / f"{self.key}.{kind}").write_text(self.text(kind), encoding="utf-8")

    def text(self, kind: str) -> str:
        """Return it as `md`, `tex` (for booktabs and graphicx), `csv` or `html` (headings sort it)."""
        return self._csv() if kind == "csv" else render(f"table.{kind}.j2", table=self)

    def _csv(self) -> str:
        """Return comma-separated values in full precision, deviations in columns of their own."""
        rows = [self.cells(row) for row in (*self.rows, *self.footer)]
        columns = []
        for j, name in enumerate(self.columns):
            column = [row[j] for row in rows]
            columns.append([name, *(cell.exact for cell in column)])
            if any(cell.deviation is not None for cell in column):
                deviations = (Cell(None if cell.empty else cell.deviation).exact for cell in column)
                columns.append([f"{name} deviation", *deviations])
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(zip(*columns, strict=True))
        return out.getvalue()


def table(
    key: str,
    rows: Sequence[Row],
    *,
    texts: str = "",
    columns: Mapping[str, str] | None = None,
    footer: Sequence[Row] = (),
    **words: Any,
) -> Table:
    """Return a table with the title, note and columns of `templates/tables.toml`, `words` filled in.

    `texts` is its section there, if that is not `key`; `columns` replace what it says of them.
    """
    with (_TEMPLATES / "tables.toml").open("rb") as file:
        section = tomllib.load(file)[texts or key]
    title, note = section["title"].format(**words), section["note"].format(**words)
    shown = section["columns"] if columns is None else columns
    return Table(key, title, note, {name.format(**words): f for name, f in shown.items()}, rows, footer)


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
    drawings: Drawings, folder: Path, formats: Sequence[str], jobs: int = 1, progress: ReportProgress = SILENT
) -> dict[str, str]:
    """Draw all figures, in processes if there are several jobs and enough to do; return them as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = partial(_render_one, folder=folder, formats=with_svg(formats))
    several = jobs > 1 and len(drawings) >= 12
    drawn = unordered(draw, drawings.items(), jobs=jobs) if several else map(draw, drawings.items())
    for number, _ in enumerate(drawn, start=1):
        progress.proceeded("figures drawn", number, len(drawings))
    return {name: (folder / f"{name}.svg").read_text(encoding="utf-8") for name in drawings}


def _render_one(drawing: tuple[str, Callable[[], Figure]], folder: Path, formats: Sequence[str]) -> None:
    name, draw = drawing
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    with require().rc_context(fname=_TEMPLATES / "figures.mplstyle"):
        figure = draw()
        for kind in formats:
            path = folder / f"{name}.{kind}"
            figure.savefig(path, metadata=undated[kind])
            if kind == "svg":
                path.write_text(_lighter(path.read_text(encoding="utf-8")), encoding="utf-8")


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


def write_page(
    template: str,
    out: Path,
    tables: Sequence[Table],
    drawings: Drawings,
    *,
    formats: Sequence[str] = FORMATS,
    jobs: int = 1,
    progress: ReportProgress = SILENT,
    **context: Any,
) -> Path:
    """Write tables, figures and the page that shows them into the folder `out`; return the page."""
    for table in tables:
        table.write(out / "tables")
    svgs = render_all(drawings, out / "figures", formats, jobs, progress)
    figures = {name: inline(svg, f"f{number}") for number, (name, svg) in enumerate(svgs.items())}
    by_key = {table.key: table for table in tables}
    path = out / "index.html"
    page = render(template, tables=by_key, figures=figures, sections=[], **context)
    # templates wrap sentences as sources are wrapped
    page = re.sub(r"<p>.*?</p>", lambda found: " ".join(found[0].split()), page, flags=re.DOTALL)
    path.write_text(page, encoding="utf-8")
    return path


def inline(svg: str, mark: str) -> str:
    r"""Return an SVG document as an element of a page, in the page's own ink; `mark` makes its ids unique.

    >>> inline('<?xml version="1.0"?>\n<svg><g id="a" style="stroke: #1a1a1a"/></svg>', "f1")
    '<svg><g id="f1-a" style="stroke: var(--ink)"/></svg>'
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\sid=")', rf"\g<1>{mark}-", svg)
    svg = re.sub(r"(url\(#|href=\"#)", rf"\g<1>{mark}-", svg)
    for colour, name in ((PAPER, "--paper"), (INK, "--ink"), (FAINT, "--faint"), (INDIGO, "--indigo")):
        svg = svg.replace(colour, f"var({name})")
    return svg.strip()
