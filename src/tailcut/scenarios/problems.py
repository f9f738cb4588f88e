"""The problems of a scenario, found in one pass, each with its file, line and field."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tailcut.errors import NotRuntimeError, ScenarioError

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a scenario.

    >>> print(Problem("cv.arff", 9, "fold", "expected a whole number >= 1, got 'x'"))
    cv.arff, line 9, fold: expected a whole number >= 1, got 'x'
    """

    file: str
    """Name of the file, without its folder."""
    line: int | None
    """Line in that file, counted from 1; None if no single line is to blame."""
    field: str | None
    """Column of the table, or field of the description."""
    message: str
    severity: Severity = "error"
    """An error makes the scenario unreadable; a warning does not."""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}{', ' + self.field if self.field else ''}: {self.message}"


@dataclass
class Problems:
    """Collects problems while files are read, so that reading and checking are the same code."""

    found: list[Problem] = field(default_factory=list)
    not_runtime: bool = False
    """Whether the scenario is about the quality of solutions, which is no fault of its files."""

    def error(self, file: str, line: int | None, field: str | None, message: str) -> None:
        """Note something that makes the scenario unreadable."""
        self.found.append(Problem(file, line, field, message))

    def warning(self, file: str, line: int | None, field: str | None, message: str) -> None:
        """Note something that is against the format, but does not change what is read."""
        self.found.append(Problem(file, line, field, message, "warning"))

    @property
    def errors(self) -> list[Problem]:
        """The problems that make the scenario unreadable."""
        return [problem for problem in self.found if problem.severity == "error"]

    def raise_if_any(self, folder: str) -> None:
        """Raise `ScenarioError` with the first error, and say how many more there are."""
        errors = self.errors
        if errors:
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            kind = NotRuntimeError if self.not_runtime else ScenarioError
            raise kind(f"{folder}: {errors[0]}{more}")


def shown(value: object) -> str:
    """Return a value for a message: quoted, and cut if a damaged file made it very long.

    >>> shown("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'..."
    """
    if isinstance(value, str) and len(value) > 60:
        return repr(value[:60]) + "..."
    return repr(value)
