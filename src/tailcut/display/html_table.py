"""Tables as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], most: int = 30) -> str:
    """Return a titled HTML table of the first `most` rows, and how many are not shown.

    >>> html_table("two", ["name", "seconds"], [["a<b", 1.25], ["c", None]], most=1)
    '<p><b>two</b></p><table><tr><th>name</th><th>seconds</th></tr><tr><td>a&lt;b</td><td>1.25</td></tr></table><p>and 1 more</p>'
    """  # noqa: E501 - one value
    listed = list(rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_shown(one))}</td>' for one in row)}</tr>" for row in listed[:most]
    )
    more = f"<p>and {len(listed) - most:,} more</p>" if len(listed) > most else ""
    return f"<p><b>{escape(title)}</b></p><table><tr>{head}</tr>{body}</table>{more}"


def _shown(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
