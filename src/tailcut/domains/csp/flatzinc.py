"""Reads FlatZinc: variables, constraints with their arguments, and the goal.

Names are looked up while reading: an argument is a number, a truth value, a `Var`, a range or set of integers
(`frozenset` or `range`), a text, or a list of these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tailcut.errors import InputError

_TOKEN = re.compile(r'"[^"]*"|-?\d+\.\d+(?:[eE][-+]?\d+)?|-?\d+|[A-Za-z_]\w*|\.\.|::|[\[\](){},;:=]')
_WIDEST = 2**31 - 1
"""Bounds of an integer that has none."""


class Var(NamedTuple):
    name: str


class Constraint(NamedTuple):
    name: str
    arguments: list[Any]


@dataclass
class FlatModel:
    """A model in FlatZinc; what it holds of each variable is its domain, or None for a truth value."""

    domains: dict[str, range | frozenset[int] | None] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    """What names stand for: arrays, and variables that are equal to something."""
    outputs: dict[str, list[range] | None] = field(default_factory=dict)
    """What is to be printed; the index sets of an array."""
    constraints: list[Constraint] = field(default_factory=list)
    goal: str = "satisfy"
    objective: Any = None


def parse_flatzinc(text: str, name: str = "model") -> FlatModel:
    """Return the model of a FlatZinc text; floats and set variables are refused."""
    model = FlatModel()
    for number, line in enumerate(text.splitlines(), 1):
        words = _TOKEN.findall(line)
        if not words or line.lstrip().startswith("%"):
            continue
        try:
            _Statement(words, model).read()
        except (IndexError, KeyError, ValueError) as error:
            raise InputError(f"{name}, line {number}: cannot be read as FlatZinc: {error}") from None
    return model


class _Statement:
    def __init__(self, words: list[str], model: FlatModel) -> None:
        self.words, self.model, self.at = words, model, 0

    def _next(self) -> str:
        self.at += 1
        return self.words[self.at - 1]

    def _is(self, word: str) -> bool:
        if self.words[self.at] == word:
            self.at += 1
            return True
        return False

    def read(self) -> None:
        first = self._next()
        match first:
            case "predicate":
                return
            case "constraint":
                called = self._next()
                self._next()
                self.model.constraints.append(Constraint(called, self._list(")")))
            case "solve":
                self._annotations()
                self.model.goal = self._next()
                if self.model.goal != "satisfy":
                    self.model.objective = self._value()
            case _:
                self._declaration(array=first == "array")

    def _declaration(self, *, array: bool) -> None:
        if array:
            while not self._is("of"):
                self.at += 1
        else:
            self.at -= 1
        declared = self._is("var") and not array
        kind = self._type()
        self._next()  # the colon
        name = self._next()
        if declared:
            self.model.domains[name] = kind
        for called, arguments in self._annotations():
            if called == "output_var":
                self.model.outputs[name] = None
            elif called == "output_array":
                self.model.outputs[name] = [range(one.start, one.stop) for one in arguments[0]]
        if self._is("="):
            value = self._value()
            if declared:
                self.model.constraints.append(Constraint("equal", [Var(name), value]))
            else:
                self.model.values[name] = value

    def _type(self) -> range | frozenset[int] | None:
        first = self._next()
        if first == "bool":
            return None
        if first == "int":
            return range(-_WIDEST, _WIDEST + 1)
        if first == "set":
            self._next()  # of
            return self._type()
        if first == "{":
            return frozenset(self._list("}"))
        low = int(first)
        self._next()
        return range(low, int(self._next()) + 1)

    def _annotations(self) -> list[tuple[str, list[Any]]]:
        found = []
        while self._is("::"):
            called = self._next()
            found.append((called, self._list(")") if self._is("(") else []))
        return found

    def _list(self, end: str) -> list[Any]:
        found = []
        while not self._is(end):
            found.append(self._value())
            self._is(",")
        return found

    def _value(self) -> Any:
        first = self._next()
        if first == "[":
            return self._list("]")
        if first == "{":
            return frozenset(self._list("}"))
        if first in ("true", "false"):
            return first == "true"
        if first.startswith('"'):
            return first
        if re.fullmatch(r"-?\d+", first):
            if self._is(".."):
                return range(int(first), int(self._next()) + 1)
            return int(first)
        if re.match(r"-?\d", first):
            raise ValueError(f"{first}: numbers must be whole here")
        if self._is("("):  # a call within an annotation
            return self._list(")")
        return self.model.values[first] if first in self.model.values else Var(first)
