"""Reads a TOML table field by field; every error names the file and the field."""

from __future__ import annotations

import difflib
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tailcut.errors import PortfolioError

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def parse_toml(text: str, name: str) -> TomlTable:
    """Return a whole text as a table; errors call it `name`, and a syntax error names its line."""
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

    @property
    def fields(self) -> list[str]:
        return list(self._values)

    def wrong(self, field: str, expected: str) -> PortfolioError:
        found = f", got {self._values[field]!r}" if field in self._values else ", and is missing"
        return PortfolioError(f"{self.file}: {self.name(field)} must be {expected}{found}")

    def name(self, field: str) -> str:
        return f"{self.where}.{field}" if self.where else field

    def close(self, known: Iterable[str]) -> None:
        allowed = list(known)
        for field in self._values:
            if field not in allowed:
                near = difflib.get_close_matches(field, allowed, 1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(allowed)}"
                raise PortfolioError(f"{self.file}: {self.name(field)} is not known here; {hint}")

    def _read(self, field: str, fits: Callable[[Any], bool], expected: str, default: Any = None) -> Any:
        value = self._values.get(field, default)
        if not fits(value):
            raise self.wrong(field, expected)
        return value

    def flag(self, field: str) -> bool:
        return bool(self._read(field, lambda value: isinstance(value, bool), "true or false", False))

    def is_false(self, field: str) -> bool:
        return self._values.get(field) is False

    def table(self, field: str) -> TomlTable:
        values = self._read(field, lambda value: isinstance(value, dict), "a table", {})
        return TomlTable(self.file, self.name(field), values)

    def text(self, field: str, default: str | None = None) -> str:
        return str(self._read(field, lambda value: isinstance(value, str) and value != "", "a text", default))

    def texts(self, field: str) -> tuple[str, ...]:
        return tuple(self._read(field, _is_list_of_texts, "a list of texts", []))

    def words(self, field: str) -> tuple[str, ...]:
        """Return a list of texts, or a text split into words as a shell does."""
        value = self._values.get(field)
        if not isinstance(value, str) or not value:
            return self.texts(field)
        try:
            return tuple(shlex.split(value))
        except ValueError:
            raise self.wrong(field, "words as a shell reads them (is a quote open?)") from None

    def text_by_name(self, field: str) -> dict[str, str]:
        own = self.table(field)
        if not _is_list_of_texts(list(own._values.values())):
            raise self.wrong(field, "a table of texts")
        return own._values

    def choice(self, field: str, known: Sequence[str], of: str = "") -> str | None:
        """Return one of the known texts, or None; `of` says what they are."""
        expected = f"one of {of}{', '.join(known)}"
        value: str | None = self._read(field, lambda value: value is None or value in known, expected)
        return value

    def number(self, field: str, default: float | None = None) -> float | None:
        expected = "a number > 0"
        value = self._read(field, lambda one: one is None or (_is_number(one) and one > 0), expected, default)
        return None if value is None else float(value)

    def finite(self, field: str, default: float | None = None) -> float:
        return float(self._read(field, _is_number, "a finite number", default))

    def whole(self, field: str) -> int | None:
        value: int | None = self._values.get(field)
        if value is not None and not _is_number(value, int):
            raise self.wrong(field, "a whole number")
        return value

    def pattern(self, field: str) -> re.Pattern[bytes] | None:
        """Return a regular expression whose ^ and $ match at lines, or None."""
        if field not in self:
            return None
        try:
            return re.compile(self.text(field).encode(), re.MULTILINE)
        except re.error as error:
            raise self.wrong(field, f"a regular expression ({error})") from None

    def size(self, field: str) -> int | None:
        """Return an amount of memory in bytes, or None: 2000000, "500 MB", "2 GiB"."""
        value = self._values.get(field)
        if value is None or (_is_number(value, int) and value > 0):
            return value
        found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*([A-Za-z]+)", str(value))
        amount = float(found[1]) * _UNITS.get(found[2].upper(), 0) if found else 0.0
        if amount <= 0.0:
            raise self.wrong(field, 'an amount of memory such as "2 GiB" or "500 MB"')
        return int(amount)


def _is_number(value: Any, kind: Any = int | float) -> bool:
    numeric = isinstance(value, kind) and not isinstance(value, bool)
    return numeric and abs(value) <= sys.float_info.max  # an integer may have any number of digits


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
