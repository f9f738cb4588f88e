"""One self-contained HTML page: sections of words, tables and figures, with style and script inside."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from tailcut.report.style import FAINT, INDIGO, INK, PAPER
from tailcut.report.tables.formats import as_html
from tailcut.report.tables.sheet import Sheet


@dataclass(frozen=True)
class Section:
    """A heading with an anchor, and HTML below it."""

    anchor: str
    title: str
    body: str


def page(title: str, introduction: str, sections: Sequence[Section]) -> str:
    """Return the whole document, which loads nothing else."""
    links = "".join(f'<li><a href="#{one.anchor}">{html.escape(one.title)}</a></li>' for one in sections)
    body = "".join(
        f'<section id="{one.anchor}"><h2>{html.escape(one.title)}</h2>{one.body}</section>'
        for one in sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # an empty icon, because otherwise browsers request one
        '<link rel="icon" href="data:,">'
        f"<title>{html.escape(title)}</title><style>{_asset('page.css')}</style></head><body>"
        f"<header><h1>{html.escape(title)}</h1>{introduction}</header>"
        f'<nav aria-label="Contents"><ul>{links}</ul></nav><main>{body}</main>'
        f"<script>{_asset('page.js')}</script></body></html>\n"
    )


def _asset(name: str) -> str:
    return (files("tailcut.report.pages") / name).read_text(encoding="utf-8")


def paragraphs(texts: Sequence[str]) -> str:
    """Return plain texts as paragraphs."""
    return "".join(f"<p>{_text(text)}</p>" for text in texts)


def bullets(texts: Sequence[str]) -> str:
    """Return plain texts as a list."""
    return "<ul>" + "".join(f"<li>{_text(text)}</li>" for text in texts) + "</ul>" if texts else ""


def _text(text: str) -> str:
    """Return a plain text as HTML, with what is in backticks as code.

    >>> _text("a < b: `tailcut bench`")
    'a &lt; b: <code>tailcut bench</code>'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def table(sheet: Sheet) -> str:
    """Return a sheet with its title and note."""
    return f'<h3>{html.escape(sheet.title)}</h3>{as_html(sheet)}<p class="note">{html.escape(sheet.note)}</p>'


def figure(svg: str, caption: str, mark: str) -> str:
    """Return a drawing with its caption; `mark` makes its ids unique on the page."""
    return (
        f'<figure><div role="img" aria-label="{html.escape(caption)}">{inline(svg, mark)}</div>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def inline(svg: str, mark: str) -> str:
    r"""Return an SVG document as an element of a page, in the page's own ink.

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


def details(anchor: str, title: str, body: str, *, opened: bool = False) -> str:
    """Return a part that unfolds."""
    state = " open" if opened else ""
    return f'<details id="{anchor}"{state}><summary>{html.escape(title)}</summary>{body}</details>'
