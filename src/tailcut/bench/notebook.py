"""The benchmark for programs and notebooks, in two calls: `run` and `compare`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tailcut.bench.benchmark import SILENT, BenchOutcome, BenchProgress, benchmark
from tailcut.bench.plan import Contender
from tailcut.bench.ranks import RankedGroup, ranked_groups
from tailcut.scenarios import Scenario, bundled

Scenarios = str | os.PathLike[str] | Scenario | Sequence[Scenario] | None
"""A folder of scenarios, scenarios in memory, or None: the bundled one."""


def run(
    selectors: Sequence[str] | None = None,
    scenarios: Scenarios = None,
    *,
    seeds: int = 10,
    out: str | os.PathLike[str] = "results.db",
    jobs: int = 1,
    progress: BenchProgress = SILENT,
    **options: Any,
) -> BenchOutcome:
    """Replay scenarios through selectors, and return one row per scenario and selector.

    Selectors are named as on the command line, with hyperparameters and conditions:
    `thompson:noise_variance=2`, `tailcut@measure-first=25`. Cells that the result file `out` holds are not
    computed again. `options` are those of `tailcut.bench.benchmark.benchmark`. With `jobs` above 1, selectors
    that were registered in this process are unknown to the others.

    >>> import tempfile
    >>> runs = {"instance": ["i1", "i1", "i2", "i2"], "algorithm": ["a", "b", "a", "b"],
    ...         "runtime": [1.0, 60.0, 60.0, 8.0], "status": ["ok", "timeout", "timeout", "ok"]}
    >>> features = {"instance": ["i1", "i2"], "size": [10.0, 200.0]}
    >>> scenario = Scenario.from_frames(runs, features, cutoff=60.0, name="tiny")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run(["thompson", "sbs"], scenario, seeds=1, out=f"{folder}/results.db")
    >>> outcome
    BenchOutcome(1 scenario, 2 selectors, 0 cells failed)
    >>> [row["npar10"] for row in outcome.rows if row["selector"] == "sbs"]
    [1.0]
    """
    chosen = None if selectors is None else [Contender.parse_label(name) for name in selectors]
    with TemporaryDirectory() as scratch:
        folder = _folder(scenarios, Path(scratch))
        planned = benchmark(folder, contenders=chosen, seeds=seeds, progress=progress, **options)
        return planned.run(Path(out), jobs=jobs, command="tailcut.bench.run", progress=progress)


def compare(outcome: BenchOutcome) -> list[RankedGroup]:
    """Return the ranking of each kind of contender over the scenarios, as `tailcut compare` makes it."""
    return ranked_groups(outcome.rows)


def _folder(scenarios: Scenarios, scratch: Path) -> Path:
    """Return a folder that holds the scenarios, writing those that are in memory."""
    if scenarios is None:
        return bundled.FOLDER
    if isinstance(scenarios, str | os.PathLike):
        return Path(scenarios)
    for one in [scenarios] if isinstance(scenarios, Scenario) else scenarios:
        one.write(scratch / one.name)
    return scratch
