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
from tailcut.report.gather import gather
from tailcut.report.page import Cell, Table
from tailcut.report.reports import results_tables
from tests.report.conftest import SCENARIOS

ODD = Table(
    "odd",
    "100% of $ & <tags>",
    "Best in bold, second best underlined.",
    {"scenario": "", "a_b\\c": ".2f", "x|y": ".1%", "<script>": ""},
    [
        ("na{me}_#1 ~^", Cell(1.5, 0.25, "best"), None, "text & more"),
        ('"quoted", ž', Cell(2.5, 0.5, "second"), 0.125, 7),
    ],
    [("mean", 2.0, float("nan"), None)],
)


def all_tables(path: Path) -> list[Table]:
    with opened(path, read_only=True) as store:
        return results_tables(gather(store))


def test_latex_is_balanced_with_one_row_per_scenario(results: Path) -> None:
    for table in [*all_tables(results), ODD]:
        text = table.text("tex")
        opened_, closed = (re.findall(rf"\\{word}{{(\S+?)}}", text) for word in ("begin", "end"))
        assert opened_ == closed[::-1] == ["table*", "tabular"]
        plain = re.sub(r"\\[{}]", "", text)
        assert plain.count("{") == plain.count("}")
        assert [text.count(rule) for rule in (r"\toprule", r"\bottomrule")] == [1, 1]
        body = text.split(r"\midrule")[1].split(r"\bottomrule")[0]
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert len(rows) == len(table.rows)
        for row in rows:
            assert len(re.findall(r"(?<!\\)&", row)) == len(table.columns) - 1
    par = next(table for table in all_tables(results) if table.key == "par10")
    text = par.text("tex")
    assert all(len(re.findall(rf"^{name} &", text, re.MULTILINE)) == 1 for name in SCENARIOS)
    assert text.count(r"\textbf{") == text.count(r"\underline{") == len(SCENARIOS)
    assert "average rank &" in text


def test_latex_escapes_what_it_must() -> None:
    text = ODD.text("tex")
    assert r"na\{me\}\_\#1 \textasciitilde{}\textasciicircum{}" in text
    assert r"a\_b\textbackslash{}c" in text
    assert r"\textbf{1.50} $\pm$ 0.25" in text
    assert r"12.5\%" in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on this machine")
def test_latex_compiles(results: Path, tmp_path: Path) -> None:
    body = "\n".join(table.text("tex") for table in [*all_tables(results), ODD])
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
    for table in [*all_tables(results), ODD]:
        rows = list(csv.DictReader(io.StringIO(table.text("csv"))))
        assert len(rows) == len(table.rows) + len(table.footer)
        for row, entries in zip(rows, table.rows, strict=False):
            for name, entry in zip(table.columns, table.cells(entries), strict=True):
                if isinstance(entry.value, float) and not entry.empty:
                    assert float(row[name]) == entry.value
                    if entry.deviation is not None:
                        assert float(row[f"{name} deviation"]) == entry.deviation


def test_markdown_has_as_many_cells_in_every_row() -> None:
    lines = [line for line in ODD.text("md").splitlines() if line.startswith("|")]
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
    parser.feed(ODD.text("html"))
    assert parser.stack == []
    assert parser.values == ["1.5", "", "text & more", "2.5", "0.125", "7", "2.0", "", ""]
    assert "script" not in parser.tags


def test_html_shows_markup_in_names_as_text() -> None:
    markup = ODD.text("html")
    assert "<script>" not in markup
    assert "&lt;script&gt;" in markup
    assert "100% of $ &amp; &lt;tags&gt;" in markup
