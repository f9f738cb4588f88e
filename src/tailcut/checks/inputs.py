"""Checks of arguments: names, seconds and counts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tailcut.errors import InputError


def check_names(field: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; raise if one is not a name or appears twice.

    >>> check_names("algorithms", ["a", "b", "a"])
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: algorithms[2] repeats 'a'
    """
    if isinstance(given, str):
        raise InputError(f"{field} must be a list of names, got the single string {given!r}", field=field)
    seen: dict[str, None] = {}
    for position, name in enumerate(given):
        if not isinstance(name, str) or not name:
            raise InputError(f"{field}[{position}] must be a non-empty string, got {name!r}", field=field)
        if name in seen:
            raise InputError(f"{field}[{position}] repeats {name!r}", field=field)
        seen[name] = None
    return tuple(seen)


def check_seconds(field: str, given: float, *, above_zero: bool = False) -> float:
    """Return a finite number of seconds, at least 0 or above 0; raise otherwise.

    >>> check_seconds("cutoff", 0, above_zero=True)
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: cutoff must be a finite number of seconds > 0, got 0
    """
    seconds = given if type(given) is float else as_number(given)
    if not 0.0 <= seconds < math.inf or (above_zero and seconds == 0.0):
        bound = ">" if above_zero else ">="
        raise InputError(f"{field} must be a finite number of seconds {bound} 0, got {given!r}", field=field)
    return seconds


def as_number(given: Any) -> float:
    """Return a number, nan if it is not one."""
    try:
        return float(given)
    except (TypeError, ValueError):
        return math.nan


def check_whole_number(field: str, given: int, at_least: int) -> int:
    """Return a whole number; raise otherwise."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < at_least:
        raise InputError(f"{field} must be a whole number >= {at_least}, got {given!r}", field=field)
    return int(given)
