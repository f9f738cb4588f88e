"""Hyperparameters as parts declare them: in the constructor, with their bounds beside the parameter.

    ridge: Annotated[float, Range(above=0.0)] = 1.0

A parameter without a range takes any finite number, or any text if its default is one.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, get_args, get_type_hints

from tailcut.errors import InputError
from tailcut.numerics.ranges import Range

Value = float | int | str
"""What a hyperparameter may be."""

MADE_FOR_THE_PART = frozenset(
    {"n_algorithms", "n_features", "seed", "cutoff", "views", "representation", "feature_budget", "parts"}
)
"""Constructor parameters that the recipe fills in; they are not hyperparameters."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A hyperparameter as a part declares it."""

    whole: bool
    """Whether it is a whole number."""
    range: Range


@lru_cache(maxsize=512)
def declared(part: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Return the hyperparameters of a part by name: its constructor's parameters that are not bound.

    >>> from tailcut.models.ridge import RidgeBank
    >>> str(declared(RidgeBank)["ridge"].range)
    '> 0 and <= 1e+12'
    """
    made = part.func if isinstance(part, partial) else part
    bound = set(part.keywords) if isinstance(part, partial) else set()
    hints = _hints(made)
    return {
        name: _parameter(hints.get(name))
        for name in inspect.signature(made).parameters
        if name not in bound | MADE_FOR_THE_PART
    }


def _hints(made: Any) -> dict[str, Any]:
    """Return the annotations of a constructor, and of a class, whose fields a dataclass may inherit.

    If they use names that only type checkers know, there are none.
    """
    sources = (made, type.__getattribute__(made, "__init__")) if isinstance(made, type) else (made,)
    found: dict[str, Any] = {}
    for source in sources:
        with suppress(NameError):
            found |= get_type_hints(source, include_extras=True)
    return found


def _parameter(hint: Any) -> Parameter:
    for kind in (hint, *get_args(hint)):  # `X | None` holds its X among its arguments
        for note in getattr(kind, "__metadata__", ()):
            if isinstance(note, Range):
                return Parameter(kind.__origin__ is int, note)
    return Parameter(hint is int, Range())


@lru_cache(maxsize=512)
def _parameters(part: Callable[..., Any]) -> frozenset[str]:
    """Return the names of a part's parameters; to ask for a signature takes longer than to make the part."""
    return frozenset(inspect.signature(part).parameters)


def made(part: Callable[..., Any], settings: Mapping[str, Any]) -> Any:
    """Return `part` called with the settings that it has parameters for."""
    wanted = _parameters(part)
    return part(**{name: value for name, value in settings.items() if name in wanted})


def checked(owner: str, name: str, value: Any, default: Value, parameter: Parameter) -> Value:
    """Return a hyperparameter in the type of its default; raise if it is invalid."""
    if isinstance(default, str):
        if isinstance(value, str):
            return value
        raise InputError(f"{owner}: {name} must be a text, got {value!r}", field="hyperparameters")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{owner}: {name} must be a number, got {value!r}", field="hyperparameters")
    whole = parameter.whole
    if not math.isfinite(value) or value not in parameter.range or (whole and value != int(value)):
        kind = "a whole number" if whole else "a finite number"
        expected = f"{kind} {parameter.range}".rstrip()
        raise InputError(f"{owner}: {name} must be {expected}, got {value!r}", field="hyperparameters")
    return int(value) if whole else float(value)
