"""What to measure first, by stream and portfolio: the table of docs/howto/warm-start.md, from a result file.

    tailcut bench --plan learning --aslib aslib_data --seeds 3 --out learning.db
    python benchmarks/measuring.py learning.db --selector tailcut

Prints Markdown: for streams of several lengths and portfolios of several sizes, what measuring the first
instances with all solvers costs and saves. Both are shares of what the same selector takes without it on the
same instances: the CPU time of the extra runs against that of its answers, and how much lower PARk is. Every
scenario that is long enough counts once for a length, by its first instances in the order of each seed; then
comes the nPARk of the whole streams. Streams longer than any scenario are calculated: measuring costs what it
costs in the whole scenario; it saves at least what it saves there and nothing afterwards, at most as much on
every further instance as in the second half of the scenario.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tailcut.bench.labels import Conditions, conditions_of
from tailcut.bench.store import Store, opened
from tailcut.types import Array

LENGTHS = (100, 300, 1_000)
LONG = 10_000
"""A stream longer than any scenario: calculated."""
SIZES = {"2 to 9 solvers": range(2, 10), "10 to 19": range(10, 20), "20 and more": range(20, 1_000)}


@dataclass(frozen=True)
class Measured:
    """One selector on one scenario under one seed, with the first instances measured or without."""

    losses: Array
    """PARk of each answer, shape (n,)."""
    npar: float
    cutoff: float
    extra: float
    """CPU seconds of the extra runs; all were made by the end of the measured instances."""

    def answers(self, length: int) -> float:
        """Return the CPU seconds of the first answers; an unsolved one took the whole cutoff."""
        return float(np.minimum(self.losses[:length], self.cutoff).sum())


@dataclass(frozen=True)
class Pair:
    """The same stream without and with measuring."""

    without: Measured
    measured: Measured

    def at(self, length: int) -> tuple[float, float, float]:
        """Return the cost of a stream of this length, and what is saved at least and at most, as shares."""
        n, half = len(self.without.losses), len(self.without.losses) // 2
        first, more = min(length, n), max(length - n, 0)
        without = self.without.losses[:first].sum() + more * self.without.losses[half:].mean()
        saved = (self.without.losses - self.measured.losses)[:first].sum()
        later = more * (self.without.losses - self.measured.losses)[half:].mean()
        taken = self.without.answers(first) * (1.0 + more / n)
        return self.measured.extra / taken, float(saved / without), float((saved + later) / without)


def read(store: Store, selector: str, share: float) -> dict[int, dict[str, list[Pair]]]:
    """Return the pairs of a selector: instances measured -> scenario -> one for each seed.

    They were measured for this `share` of the cutoff.
    """
    cells: dict[tuple[str, int], dict[int, Measured]] = defaultdict(dict)
    cutoffs = {name: float(known["cutoff"]) for name, known in store.scenarios().items()}
    for row in store.rows():
        conditions = Conditions.parse(conditions_of(row["selector"]))
        count = conditions.measure_first
        plain = Conditions(measure_first=count, measure_cutoff=share if count else 1.0)
        if row["selector"].partition("@")[0] != selector or conditions != plain or row["error"]:
            continue
        npar = (row["par"] - row["vbs"]) / (row["sbs"] - row["vbs"])
        losses = store.trace(row["hash"])[1]
        found = Measured(losses, npar, cutoffs[row["scenario"]], row["extra_cpu"] or 0.0)
        cells[row["scenario"], row["seed"]][count] = found
    pairs: dict[int, dict[str, list[Pair]]] = defaultdict(lambda: defaultdict(list))
    for (scenario, _), runs in sorted(cells.items()):
        for count in runs.keys() - {0} if 0 in runs else ():
            pairs[count][scenario].append(Pair(runs[0], runs[count]))
    return pairs


def lines(pairs: Mapping[int, Mapping[str, Sequence[Pair]]], solvers: Mapping[str, int]) -> Iterator[str]:
    """Yield the table, line by line."""
    counts = sorted(pairs)
    yield (
        "| portfolio | instances to come | scenarios | "
        + " | ".join(f"measure {m}: costs | saves" for m in counts)
        + " |"
    )
    yield "|---|---:|---:|" + "---:|---:|" * len(counts)
    for size, numbers in SIZES.items():
        for length in (*LENGTHS, LONG):
            chosen = [
                name
                for name in sorted(set.intersection(*(set(pairs[m]) for m in counts)))
                if solvers[name] in numbers
                and (length == LONG or len(pairs[counts[0]][name][0].without.losses) >= length)
            ]
            if chosen:
                shown = [_mean(pairs[m], chosen, length) for m in counts]
                entries = " | ".join(f"{cost:.0%} | {_range(*saved)}" for cost, *saved in shown)
                label = f"{length:,}" + (" (calculated)" if length == LONG else "")
                yield f"| {size} | {label} | {len(chosen)} | {entries} |"


def _range(least: float, most: float) -> str:
    """Return a share, or two where they differ."""
    return f"{most:.0%}" if f"{least:.0%}" == f"{most:.0%}" else f"{least:.0%} to {most:.0%}"


def _mean(pairs: Mapping[str, Sequence[Pair]], chosen: Sequence[str], length: int) -> Array:
    """Return the mean cost and savings over the scenarios."""
    of_each = [np.mean([pair.at(length) for pair in pairs[name]], axis=0) for name in chosen]
    return np.asarray(np.mean(of_each, axis=0), dtype=np.float64)


def whole_streams(pairs: Mapping[int, Mapping[str, Sequence[Pair]]]) -> Iterator[str]:
    """Yield the mean nPARk over the scenarios that have every number of measured instances."""
    common = sorted(set.intersection(*(set(of_count) for of_count in pairs.values())))
    seeds = len(pairs[min(pairs)][common[0]])
    yield f"{len(common)} scenarios, {seeds} seeds, whole streams:"
    yield ""
    yield "| measured first | nPAR10 | lowest and highest seed | extra CPU time |"
    yield "|---:|---:|---:|---:|"
    for count in (0, *sorted(pairs)):
        of_count = pairs[count or min(pairs)]
        both = [[pair.measured if count else pair.without for pair in of_count[name]] for name in common]
        by_seed = np.array([[one.npar for one in seeds] for seeds in both]).mean(axis=0)
        extra = np.mean([one.extra / one.answers(len(one.losses)) for seeds in both for one in seeds])
        yield f"| {count} | {by_seed.mean():.2f} | {by_seed.min():.2f}, {by_seed.max():.2f} | {extra:.0%} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", type=Path, help="written by `tailcut bench --plan learning`")
    parser.add_argument("--selector", default="tailcut")
    parser.add_argument("--measure-cutoff", type=float, default=1.0, help="as given to `tailcut bench`")
    chosen = parser.parse_args()
    with opened(chosen.results, read_only=True) as store:
        pairs = read(store, chosen.selector, chosen.measure_cutoff)
        solvers = {name: len(known["algorithms"]) for name, known in store.scenarios().items()}
    if not pairs:
        parser.error(f"{chosen.results} has no runs of {chosen.selector} with and without measuring")
    print("\n".join([*lines(pairs, solvers), "", *whole_streams(pairs)]))


if __name__ == "__main__":
    main()
