"""Data frames of pandas, where pandas is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tailcut.errors import MissingExtraError


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
