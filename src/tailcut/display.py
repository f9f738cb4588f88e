"""How values are shown: HTML tables and data frames in notebooks, numbers with their nouns in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from tailcut.errors import MissingExtraError


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], most: int = 30) -> str:
    """Return a titled HTML table of the first `most` rows, and how many are not shown.

    >>> html_table("two", ["name", "seconds"], [["a<b", 1.25], ["c", None]], most=1)
    '<p><b>two</b></p><table><tr><th>name</th><th>seconds</th></tr><tr><td>a&lt;b</td><td>1.25</td></tr></table><p>and 1 more</p>'
    """  # noqa: E501 - one value
    listed = list(rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row)}</tr>" for row in listed[:most]
    )
    more = f"<p>and {len(listed) - most:,} more</p>" if len(listed) > most else ""
    return f"<p><b>{escape(title)}</b></p><table><tr>{head}</tr>{body}</table>{more}"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def data_frame(rows: Iterable[Mapping[str, object]] | Mapping[str, Any]) -> Any:
    """Return a pandas data frame of rows, or of columns by name.

    >>> data_frame([{"name": "a", "seconds": 1.0}]).shape
    (1, 2)
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("to_frame() needs pandas: pip install 'tailcut[notebook]'") from error
    return pandas.DataFrame(rows if isinstance(rows, Mapping) else list(rows))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    >>> counted(1, "instance"), counted(0, "instance")
    ('1 instance', '0 instances')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
