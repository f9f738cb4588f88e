"""Solution quality, live: the last objective that an anytime solver printed becomes the loss of its run."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tailcut.errors import LiveError, PortfolioError
from tailcut.live.instances import Instance
from tailcut.live.tomltable import TomlTable


@dataclass(frozen=True)
class ObjectiveRule:
    r"""How objectives are read and turned into losses.

    >>> rule = ObjectiveRule(re.compile(rb"^o (?P<objective>\S+)", re.M), best=0.0, worst=200.0)
    >>> rule.last(b"o 90\no 50\nc stopped\n")
    50.0
    >>> rule.loss(Instance("i1", Path("i1")), 50.0), rule.loss(Instance("i1", Path("i1")), None)
    (0.25, 1.0)
    """

    pattern: re.Pattern[bytes]
    """Finds an objective in a group of that name; ^ and $ match at lines."""
    best: float | None = None
    worst: float | None = None
    """The objectives with losses 0 and 1; None: `best_known` is used."""
    best_known: Mapping[str, float] = field(default_factory=dict)
    """The best known objective, by the name of the instance's file."""

    def last(self, output: bytes) -> float | None:
        """Return the last finite objective in a solver's output; None if there is none."""
        found = None
        for match in self.pattern.finditer(output):
            try:
                value = float(match["objective"])
            except (TypeError, ValueError):
                continue
            found = value if math.isfinite(value) else found
        return found

    def check(self, instance: Instance) -> None:
        """Raise if there is no best known objective for an instance."""
        if self.best is None and instance.path.name not in self.best_known:
            raise LiveError(f"objective.best_known: has no row for {instance.path.name}")

    def loss(self, instance: Instance, value: float | None) -> float:
        """Return the loss of a run that ended with this objective; 1 without any.

        With bounds, this is the position between them. Otherwise it is the gap to the best known objective,
        as a share of the larger of the two numbers; 1 if their signs differ.
        """
        if value is None:
            return 1.0
        if self.best is not None and self.worst is not None:
            return min(max((value - self.best) / (self.worst - self.best), 0.0), 1.0)
        best = self.best_known[instance.path.name]
        if value == best:
            return 0.0
        return 1.0 if value * best < 0.0 else abs(value - best) / max(abs(value), abs(best))


def objective_rule(table: TomlTable, folder: Path) -> ObjectiveRule | None:
    if not table.fields:
        return None
    table.close(("pattern", "best", "worst", "best_known"))
    pattern = table.pattern("pattern")
    if pattern is None or "objective" not in pattern.groupindex:
        raise table.wrong("pattern", "a regular expression with a group (?P<objective>...)")
    bounded = ("best" in table) + ("worst" in table)
    if bounded + 2 * ("best_known" in table) != 2:
        raise PortfolioError(f"{table.file}: objective must have best and worst, or best_known")
    if not bounded:
        return ObjectiveRule(pattern, best_known=_best_known(folder / table.text("best_known")))
    best, worst = table.finite("best"), table.finite("worst")
    if best == worst:
        raise table.wrong("worst", "another number than best")
    return ObjectiveRule(pattern, best, worst)


def _best_known(file: Path) -> dict[str, float]:
    """Return the best known objectives of a CSV file with the columns instance and best."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = csv.DictReader(lines)
            if not {"instance", "best"} <= set(rows.fieldnames or ()):
                raise PortfolioError(f"{file}, line 1: expected the columns instance and best")
            found = {}
            for row in rows:
                try:
                    value = float(row["best"] or "nan")
                except ValueError:
                    value = math.nan
                if not math.isfinite(value):
                    words = f"best must be a finite number, got {row['best']!r}"
                    raise PortfolioError(f"{file}, line {rows.line_num}: {words}")
                found[row["instance"]] = value
    except (OSError, UnicodeDecodeError) as error:
        raise PortfolioError(f"{file}: cannot be read: {error}") from None
    return found
