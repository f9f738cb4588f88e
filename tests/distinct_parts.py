"""Which rows of the catalogue differ in their parts, not only in hyperparameters and arguments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import partial
from typing import Any

from tailcut.catalogue import recipe


def distinct_rows(names: Iterable[str]) -> list[str]:
    """Return the last of the rows that have the same parts, for each set of parts."""
    return list({_parts(name): name for name in names}.values())


def _parts(name: str) -> tuple[Any, ...]:
    row = recipe(name)
    values = (getattr(row, field.name) for field in fields(row) if field.name not in ("name", "summary"))
    parts = (value.func if isinstance(value, partial) else value for value in values)
    return (type(row), *(part for part in parts if callable(part) or isinstance(part, str)))
