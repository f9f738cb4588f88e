"""Tables of plain values, independent of their format: Markdown, LaTeX (booktabs), CSV and HTML."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tailcut.report.page import render

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
        """The value in full precision."""
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
        """Return a row with the formats of its columns."""
        pairs = zip(row, self.columns.values(), strict=True)
        return [replace(cell if isinstance(cell, Cell) else Cell(cell), number_format=f) for cell, f in pairs]

    def write(self, folder: Path) -> None:
        """Write it in every format."""
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
