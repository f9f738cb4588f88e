"""The published numbers: par10.csv beside this file, each cell as it is printed.

Source: Alexander Tornede, Viktor Bengs, Eyke Hüllermeier, "Machine Learning for Online Algorithm
Selection under Censored Feedback", AAAI 2022; the table of the appendix "Detailed Performance Values":
average PAR10 over 10 seeds and its standard deviation, 27 scenarios x 13 approaches. The printed
`degroote_EpsilonGreedy_LinearRegression` is called `degroote_epsilon_greedy_lr` here.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from tailcut.errors import InputError


@dataclass(frozen=True)
class PublishedCell:
    """One cell of the table, in the digits it is printed with."""

    scenario: str
    approach: str
    par10_mean: str
    par10_std: str

    @property
    def mean(self) -> float:
        """PAR10 in seconds, mean over the seeds."""
        return float(self.par10_mean)

    @property
    def std(self) -> float:
        """Its population standard deviation over the seeds."""
        return float(self.par10_std)


@cache
def cells() -> dict[tuple[str, str], PublishedCell]:
    """Return the table by (scenario, approach), in the printed order.

    >>> cells()["CPMP-2015", "blinducb"].par10_mean
    '11518.55'
    """
    text = resources.files(__package__).joinpath("par10.csv").read_text(encoding="utf-8")
    rows = [PublishedCell(**row) for row in csv.DictReader(text.splitlines())]
    return {(row.scenario, row.approach): row for row in rows}


def scenarios() -> list[str]:
    """Return the names of the published scenarios.

    >>> len(scenarios())
    27
    """
    return list(dict.fromkeys(scenario for scenario, _ in cells()))


def published_in(folder: Path, wanted: Sequence[str] = ()) -> list[str]:
    """Return which scenarios of a folder to run: those wanted, or all published ones that it has."""
    published = scenarios()
    for name in wanted:
        if name not in published:
            raise InputError(f"scenario {name}: not in the published table, which has {', '.join(published)}")
        if not (folder / name).is_dir():
            raise InputError(f"scenario {name}: no folder of that name in {folder}")
    present = wanted or [name for name in published if (folder / name).is_dir()]
    if not present:
        raise InputError(f"{folder}: none of the published scenarios is in it, e.g. {published[0]}")
    return list(dict.fromkeys(present))


def cell(scenario: str, approach: str) -> PublishedCell:
    """Return one cell, or say what the table has."""
    if scenario not in scenarios():
        raise InputError(
            f"the published table has no scenario {scenario!r}; it has: {', '.join(scenarios())}"
        )
    found = cells().get((scenario, approach))
    if found is None:
        raise InputError(f"the published table has no approach {approach!r} for {scenario}")
    return found
