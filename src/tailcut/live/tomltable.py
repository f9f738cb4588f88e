"""Reads a TOML table field by field; every error names the file and the field."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tailcut.errors import PortfolioError

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def read_toml(path: Path) -> TomlTable:
    """Return the whole file as a table; a syntax error names its line."""
    try:
        return parse_toml(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise PortfolioError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PortfolioError(f"{path}: is not TOML: {error}") from None


def parse_toml(text: str, name: str) -> TomlTable:
    """Return a whole text as a table; errors call it `name`."""
    try:
        return TomlTable(name, "", tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise PortfolioError(f"{name}: is not TOML: {error}") from None


class TomlTable:
    """A table whose fields are read by type; `close` refuses fields that are not known.

    >>> table = TomlTable("p.toml", "solvers.kissat", {"memory": "2 GiB", "comand": ["kissat"]})
    >>> table.size("memory")
    2147483648
    >>> table.close(known=["memory", "command"])
    Traceback (most recent call last):
        ...
    tailcut.errors.PortfolioError: p.toml: solvers.kissat.comand is not known here; did you mean command?
    """

    def __init__(self, file: str, where: str, values: dict[str, Any]) -> None:
        self.file, self.where, self._values = file, where, values

    def __contains__(self, field: str) -> bool:
        return field in self._values

    def __iter__(self) -> Iterable[str]:
        return iter(self._values)

    @property
    def fields(self) -> list[str]:
        """The names of the fields, in the order of the file."""
        return list(self._values)

    def wrong(self, field: str, expected: str) -> PortfolioError:
        """Return the error that a field is not what was expected."""
        found = f", got {self._values[field]!r}" if field in self._values else ", and is missing"
        return PortfolioError(f"{self.file}: {self.name(field)} must be {expected}{found}")

    def name(self, field: str) -> str:
        """Return a field's name with those of the tables around it."""
        return f"{self.where}.{field}" if self.where else field

    def close(self, known: Iterable[str]) -> None:
        """Raise if there is an unknown field."""
        allowed = list(known)
        for field in self._values:
            if field not in allowed:
                near = difflib.get_close_matches(field, allowed, 1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(allowed)}"
                raise PortfolioError(f"{self.file}: {self.name(field)} is not known here; {hint}")

    def flag(self, name: str) -> bool:
        """Return a truth value, by default False."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def is_false(self, field: str) -> bool:
        return self._values.get(field) is False

    def table(self, field: str) -> TomlTable:
        """Return a table in this one; an absent one is empty."""
        values = self._values.get(field, {})
        if not isinstance(values, dict):
            raise self.wrong(field, "a table")
        return TomlTable(self.file, self.name(field), values)

    def text(self, field: str, default: str | None = None) -> str:
        """Return a text that is not empty."""
        value = self._values.get(field, default)
        if not isinstance(value, str) or not value:
            raise self.wrong(field, "a text")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of texts; an absent one is empty."""
        values = self._values.get(field, [])
        if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
            raise self.wrong(field, "a list of texts")
        return tuple(values)

    def text_by_name(self, field: str) -> dict[str, str]:
        """Return a table of texts; an absent one is empty."""
        values = self._values.get(field, {})
        if not isinstance(values, dict) or not all(isinstance(one, str) for one in values.values()):
            raise self.wrong(field, "a table of texts")
        return dict(values)

    def number(self, field: str, default: float | None = None) -> float | None:
        """Return a number > 0, or the default."""
        value = self._values.get(field, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < math.inf:
            raise self.wrong(field, "a number > 0")
        return float(value)

    def finite(self, field: str) -> float:
        """Return a required finite number."""
        value = self._values.get(field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.wrong(field, "a finite number")
        return float(value)

    def whole(self, field: str) -> int | None:
        """Return a whole number, or None."""
        value = self._values.get(field)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise self.wrong(field, "a whole number")
        return value

    def size(self, field: str) -> int | None:
        """Return an amount of memory in bytes, or None: 2000000, "500 MB", "2 GiB"."""
        value = self._values.get(field)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        found = re.fullmatch(r"([0-9.]+)\s*([A-Za-z]+)", value) if isinstance(value, str) else None
        unit = _UNITS.get(found[2].upper()) if found else None
        try:
            amount = float(found[1]) if found else 0.0
        except ValueError:
            amount = 0.0
        if unit is None or amount <= 0.0:
            raise self.wrong(field, 'an amount of memory such as "2 GiB" or "500 MB"')
        return int(amount * unit)
