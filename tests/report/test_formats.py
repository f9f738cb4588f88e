"""Tables as text: structure, escapes, and values that survive the way there."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tailcut.bench.store import opened
from tailcut.report.numbers.gather import gather
from tailcut.report.pages.results_page import sheets
from tailcut.report.tables.formats import as_csv, as_html, latex, markdown
from tailcut.report.tables.sheet import Sheet, SheetEntry
from tests.report.conftest import SCENARIOS

ODD = Sheet(
    "odd",
    "100% of $ & <tags>",
    "Best in bold, second best underlined.",
    ("scenario", "a_b\\c", "x|y", "<script>"),
    (
        (
            SheetEntry("na{me}_#1 ~^"),
            SheetEntry(1.5, 0.25, 2, "best"),
            SheetEntry(None),
            SheetEntry("text & more"),
        ),
        (
            SheetEntry('"quoted", ž'),
            SheetEntry(2.5, 0.5, 2, "second"),
            SheetEntry(0.125, None, 1, "", True),
            SheetEntry(7),
        ),
    ),
    ((SheetEntry("mean"), SheetEntry(2.0), SheetEntry(float("nan")), SheetEntry(None)),),
)


def all_sheets(path: Path) -> list[Sheet]:
    with opened(path, read_only=True) as store:
        return sheets(gather(store))


def test_latex_is_balanced_with_one_row_per_scenario(results: Path) -> None:
    for sheet in [*all_sheets(results), ODD]:
        text = latex(sheet)
        opened_, closed = (re.findall(rf"\\{word}{{(\S+?)}}", text) for word in ("begin", "end"))
        assert opened_ == closed[::-1] == ["table*", "tabular"]
        plain = re.sub(r"\\[{}]", "", text)
        assert plain.count("{") == plain.count("}")
        assert [text.count(rule) for rule in (r"\toprule", r"\bottomrule")] == [1, 1]
        body = text.split(r"\midrule")[1].split(r"\bottomrule")[0]
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert len(rows) == len(sheet.rows)
        for row in rows:
            assert len(re.findall(r"(?<!\\)&", row)) == len(sheet.columns) - 1
    par = next(sheet for sheet in all_sheets(results) if sheet.key == "par10")
    text = latex(par)
    assert all(len(re.findall(rf"^{name} &", text, re.MULTILINE)) == 1 for name in SCENARIOS)
    assert text.count(r"\textbf{") == text.count(r"\underline{") == len(SCENARIOS)
    assert "average rank &" in text


def test_latex_escapes_what_it_must() -> None:
    text = latex(ODD)
    assert r"na\{me\}\_\#1 \textasciitilde{}\textasciicircum{}" in text
    assert r"a\_b\textbackslash{}c" in text
    assert r"\textbf{1.50} $\pm$ 0.25" in text
    assert r"12.5\%" in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on this machine")
def test_latex_compiles(results: Path, tmp_path: Path) -> None:
    body = "\n".join(latex(sheet) for sheet in [*all_sheets(results), ODD])
    packages = r"\usepackage[T1]{fontenc}\usepackage{booktabs,graphicx,textcomp}"
    document = rf"\documentclass{{article}}{packages}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "t.tex").write_text(document, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_csv_keeps_full_precision(results: Path) -> None:
    for sheet in [*all_sheets(results), ODD]:
        rows = list(csv.DictReader(io.StringIO(as_csv(sheet))))
        assert len(rows) == len(sheet.rows) + len(sheet.footer)
        for row, entries in zip(rows, sheet.rows, strict=False):
            for name, entry in zip(sheet.columns, entries, strict=True):
                if isinstance(entry.value, float) and not entry.empty:
                    assert float(row[name]) == entry.value
                    if entry.deviation is not None:
                        assert float(row[f"{name} deviation"]) == entry.deviation


def test_markdown_has_as_many_cells_in_every_row() -> None:
    lines = [line for line in markdown(ODD).splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 3
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {5}
    assert "**1.50 ± 0.25**" in lines[2]
    assert "*2.50 ± 0.50*" in lines[3]


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.values: list[str | None] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.stack.append(tag)
        self.tags.add(tag)
        if tag == "td":
            self.values.append(dict(attrs)["data-value"])

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


def test_html_is_well_formed_and_carries_values_to_sort_by() -> None:
    parser = _Cells()
    parser.feed(as_html(ODD))
    assert parser.stack == []
    assert parser.values == ["1.5", "", "text & more", "2.5", "0.125", "7", "2.0", "", ""]
    assert "script" not in parser.tags
