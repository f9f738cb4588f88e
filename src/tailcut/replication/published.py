"""The published numbers (par10.csv beside this file, each cell as it is printed), run again and compared.

Source: Alexander Tornede, Viktor Bengs, Eyke Hüllermeier, "Machine Learning for Online Algorithm
Selection under Censored Feedback", AAAI 2022; the table of the appendix "Detailed Performance Values":
average PAR10 over 10 seeds and its standard deviation, 27 scenarios x 13 approaches. The printed
`degroote_EpsilonGreedy_LinearRegression` is called `degroote_epsilon_greedy_lr` here.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from tailcut.errors import InputError
from tailcut.numerics.processes import unordered
from tailcut.replication.experiment import (
    SEEDS,
    ExperimentData,
    Summary,
    approach,
    chosen_approaches,
    evaluate,
)

Progress = Callable[[str, int, int], None]
"""Called with what is worked on ("scenarios" to read, or "cells" to run), how many are done, and how many
there are."""

LIMIT = 3.5
"""Below this |z| two means count as of one distribution: over 350 cells that all agree, a normal z goes
beyond it once in six such tables."""

VERDICTS = ("exact", "in_distribution", "differs")


@dataclass(frozen=True)
class PublishedCell:
    """One cell of the table, in the digits it is printed with."""

    scenario: str
    approach: str
    par10_mean: str
    par10_std: str

    @property
    def mean(self) -> float:
        return float(self.par10_mean)

    @property
    def std(self) -> float:
        """Population standard deviation over the seeds."""
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


@dataclass(frozen=True)
class ReplicatedCell:
    """A cell of the table with ours beside it."""

    scenario: str
    approach: str
    ours_mean: float
    ours_std: float
    published_mean: float
    published_std: float
    z: float
    verdict: str
    note: str


def as_printed(value: float, like: str) -> str:
    """Return `value` in the digits of the printed number `like`.

    >>> as_printed(1204.204, "1361.64"), as_printed(41123456.0, "4.13e+07")
    ('1204.20', '4.11e+07')
    """
    return f"{value:.2e}" if "e" in like else f"{value:.2f}"


def z_score(ours: Summary, published: PublishedCell) -> float:
    """Return z = (ours - published) / sqrt(s1^2 / n1 + s2^2 / n2), with n2 = 10 published seeds.

    s1 and s2 are sample deviations; the table prints population deviations: s^2 / n = std^2 / (n - 1).

    >>> z_score(Summary(110.0, 3.0, 10), PublishedCell("s", "a", "100.00", "4.00"))
    6.0
    """
    difference = ours.mean - published.mean
    if difference == 0.0:
        return 0.0
    error = math.sqrt(ours.std**2 / (ours.seeds - 1) + published.std**2 / (len(SEEDS) - 1))
    return difference / error if error > 0.0 else math.copysign(math.inf, difference)


def compare(ours: Summary, published: PublishedCell) -> ReplicatedCell:
    """Return the verdict on one cell.

    >>> compare(Summary(100.001, 4.004, 10), PublishedCell("s", "a", "100.00", "4.00")).verdict
    'exact'
    """
    z = z_score(ours, published)
    same_mean = as_printed(ours.mean, published.par10_mean) == published.par10_mean
    same_std = as_printed(ours.std, published.par10_std) == published.par10_std
    near = "in_distribution" if abs(z) < LIMIT else "differs"
    verdict, note = ("exact", "") if same_mean and same_std else (near, _note(published, ours.seeds))
    numbers = (ours.mean, ours.std, published.mean, published.std, z)
    return ReplicatedCell(published.scenario, published.approach, *numbers, verdict, note)


def _note(published: PublishedCell, seeds: int) -> str:
    if seeds != len(SEEDS):
        return f"{seeds} seeds, published {len(SEEDS)}"
    if published.scenario == "SAT18-EXP":
        return "the scenario's data were revised after publication"
    if "thompson" in published.approach:
        return "the published sampler depends on the BLAS in use"
    if published.approach == "degroote_epsilon_greedy_lr":
        return "the published fits depend on the scikit-learn and LAPACK in use"
    return ""


def replicate_folder(
    folder: Path,
    scenarios: Sequence[str] = (),
    approaches: Sequence[str] = (),
    *,
    seeds: Sequence[int] = SEEDS,
    jobs: int = 1,
    progress: Progress = lambda *_: None,
) -> list[ReplicatedCell]:
    """Run the table again on the ASlib scenarios in `folder`: those named, or all that are published."""
    names, chosen = published_in(folder, scenarios), chosen_approaches(approaches)
    tables = {}
    for done, name in enumerate(names, start=1):
        tables[name] = ExperimentData.read(folder / name)
        progress("scenarios", done, len(names))
    return replicate(tables, chosen, seeds=seeds, jobs=jobs, progress=progress)


def replicate_cell(item: tuple[str, ExperimentData, str, Sequence[int]]) -> ReplicatedCell:
    scenario, table, name, seeds = item
    return compare(evaluate(table, approach(name), seeds), cells()[scenario, name])


def replicate(
    tables: Mapping[str, ExperimentData],
    approaches: Sequence[str],
    *,
    seeds: Sequence[int] = SEEDS,
    jobs: int = 1,
    progress: Progress = lambda *_: None,
) -> list[ReplicatedCell]:
    """Return every cell run again, scenario by scenario, in the order of the approaches.

    Also a single job is a process of its own, with one BLAS thread: the printed digits depend on the order
    of sums.
    """
    units = [(scenario, name) for scenario in tables for name in approaches]
    done: dict[tuple[str, str], ReplicatedCell] = {}
    items = ((scenario, tables[scenario], name, tuple(seeds)) for scenario, name in units)
    for replicated in unordered(replicate_cell, items, jobs=jobs):
        done[replicated.scenario, replicated.approach] = replicated
        progress("cells", len(done), len(units))
    return [done[unit] for unit in units]
