"""Sheets as text: Markdown, LaTeX (booktabs), CSV and HTML."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tailcut.report.tables.sheet import Sheet, SheetEntry


def markdown(sheet: Sheet) -> str:
    """Return a Markdown table: best in bold, second best in italics (Markdown does not underline)."""
    lines = [_markdown_row(map(_markdown_escape, sheet.columns))]
    lines.append(_markdown_row("---" if j == 0 else "---:" for j in range(len(sheet.columns))))
    lines += [_markdown_row(map(_markdown_entry, row)) for row in (*sheet.rows, *sheet.footer)]
    note = sheet.note.replace("underlined", "in italics")
    return f"### {sheet.title}\n\n" + "\n".join(lines) + f"\n\n{note}\n"


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown_escape(text: str) -> str:
    return re.sub(r"([\\|*_`<>\[\]#])", r"\\\1", " ".join(text.split()))


def _markdown_entry(entry: SheetEntry) -> str:
    text = _markdown_escape(entry.shown())
    around = {"best": "**", "second": "*", "": ""}[entry.mark] if text else ""
    return f"{around}{text}{around}"


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


def latex_escape(text: str) -> str:
    r"""Return text that LaTeX prints as it stands; signs it cannot print become question marks.

    >>> print(latex_escape("rand_ucb 5% & more"))
    rand\_ucb 5\% \& more
    """
    return "".join(
        _LATEX.get(sign, sign if sign.isprintable() and ord(sign) < 0x250 else "?") for sign in text
    )


def latex(sheet: Sheet) -> str:
    """Return a table environment for booktabs and graphicx, shrunk to the width of the page."""
    lines = [
        r"% needs \usepackage{booktabs}, \usepackage{graphicx} and, for pdfLaTeX, \usepackage[T1]{fontenc}",
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{latex_escape(sheet.title)}. {latex_escape(sheet.note)}}}",
        rf"\label{{tab:{sheet.key}}}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * (len(sheet.columns) - 1)}}}",
        r"\toprule",
        _latex_row(latex_escape(name) for name in sheet.columns),
        r"\midrule",
        *(_latex_row(map(_latex_entry, row)) for row in sheet.rows),
    ]
    if sheet.footer:
        lines += [r"\midrule", *(_latex_row(map(_latex_entry, row)) for row in sheet.footer)]
    lines += [r"\bottomrule", r"\end{tabular}%", "}", r"\end{table*}"]
    return "\n".join(lines) + "\n"


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_entry(entry: SheetEntry) -> str:
    if entry.empty or isinstance(entry.value, str | int) or entry.value is None:
        return latex_escape(entry.shown())
    mean = latex_escape(entry.text(entry.value))
    mean = {"best": rf"\textbf{{{mean}}}", "second": rf"\underline{{{mean}}}", "": mean}[entry.mark]
    return mean if entry.deviation is None else rf"{mean} $\pm$ {latex_escape(entry.text(entry.deviation))}"


def as_csv(sheet: Sheet) -> str:
    """Return comma-separated values in full precision, deviations in columns of their own."""
    spread = [_has_deviation(sheet, j) for j in range(len(sheet.columns))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = zip(sheet.columns, spread, strict=True)
    writer.writerow(
        [part for name, wide in names for part in ([name, f"{name} deviation"] if wide else [name])]
    )
    for row in (*sheet.rows, *sheet.footer):
        writer.writerow(_csv_row(row, spread))
    return out.getvalue()


def _has_deviation(sheet: Sheet, column: int) -> bool:
    return any(row[column].deviation is not None for row in sheet.rows)


def _csv_row(row: Sequence[SheetEntry], spread: Sequence[bool]) -> list[str]:
    cells = []
    for entry, wide in zip(row, spread, strict=True):
        cells.append("" if entry.empty else _csv_value(entry.value))
        if wide:
            cells.append("" if entry.empty or entry.deviation is None else repr(float(entry.deviation)))
    return cells


def _csv_value(value: float | int | str | None) -> str:
    return repr(float(value)) if isinstance(value, float) else str(value)


def as_html(sheet: Sheet) -> str:
    """Return a table whose headings are buttons that sort it; footer rows stay below."""
    heads = "".join(
        f'<th scope="col"{_html_class(sheet, j)}><button type="button">{html.escape(name)}</button></th>'
        for j, name in enumerate(sheet.columns)
    )
    body = "".join(_html_row(row) for row in sheet.rows)
    foot = "".join(_html_row(row) for row in sheet.footer)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(sheet.title)}">'
        f'<table class="sortable" id="table-{html.escape(sheet.key)}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody>" + (f"<tfoot>{foot}</tfoot>" if foot else "") + "</table></div>"
    )


def _html_class(sheet: Sheet, column: int) -> str:
    """Return the class that puts a heading above its column: texts stand left, numbers right."""
    texts = sheet.rows and all(isinstance(row[column].value, str) for row in sheet.rows)
    return ' class="text"' if texts else ""


def _html_row(row: Sequence[SheetEntry]) -> str:
    first, *others = row
    cells = f'<th scope="row">{html.escape(first.shown())}</th>' + "".join(map(_html_entry, others))
    return f"<tr>{cells}</tr>"


def _html_entry(entry: SheetEntry) -> str:
    value = "" if entry.empty else html.escape(_csv_value(entry.value), quote=True)
    kind = ' class="text"' if isinstance(entry.value, str) else f' class="{entry.mark}"' if entry.mark else ""
    if entry.empty or entry.value is None or isinstance(entry.value, str | int):
        text = html.escape(entry.shown())
    else:
        text = entry.text(entry.value)
        if entry.deviation is not None:
            text += f" <small>± {entry.text(entry.deviation)}</small>"
    return f'<td{kind} data-value="{value}">{text}</td>'


WRITERS: dict[str, Callable[[Sheet], str]] = {
    "md": markdown,
    "tex": latex,
    "csv": as_csv,
    "html": as_html,
}


def write_tables(tables: Sequence[Sheet], folder: Path) -> None:
    """Write every sheet in every format."""
    folder.mkdir(parents=True, exist_ok=True)
    for sheet in tables:
        for ending, writer in WRITERS.items():
            (folder / f"{sheet.key}.{ending}").write_text(writer(sheet), encoding="utf-8")
