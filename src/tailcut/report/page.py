"""One self-contained HTML page: a template filled with words, tables and drawings, nothing loaded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailcut.bench.labels import is_schedule, labelled
from tailcut.display import counted
from tailcut.errors import MissingExtraError
from tailcut.explain import seconds
from tailcut.report.canvas import FORMATS, Drawings, render_all, slug
from tailcut.report.gather import SILENT, ReportProgress
from tailcut.report.style import FAINT, INDIGO, INK, PAPER

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from tailcut.report.tables import Table

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
