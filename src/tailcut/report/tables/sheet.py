"""A sheet: a table of plain values and marks, independent of its format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tailcut.bench.labels import is_schedule, labelled
from tailcut.bench.ranks import Ranking
from tailcut.report.numbers.standings import MetricGrid, Standing

Mark = Literal["", "best", "second"]


@dataclass(frozen=True)
class SheetEntry:
    """One cell: a text, or a number with decimals and perhaps a deviation; None and nan are empty."""

    value: float | int | str | None
    deviation: float | None = None
    decimals: int = 2
    mark: Mark = ""
    percent: bool = False

    @property
    def empty(self) -> bool:
        """Whether it is empty."""
        return self.value is None or (isinstance(self.value, float) and not math.isfinite(self.value))

    def text(self, number: float) -> str:
        """Return `number` in this entry's format."""
        return f"{100.0 * number if self.percent else number:.{self.decimals}f}" + (
            "%" if self.percent else ""
        )

    def shown(self, between: str = " ± ") -> str:
        """Return the text to show.

        >>> SheetEntry(12.345, 0.5, decimals=1).shown(), SheetEntry(0.25, percent=True, decimals=0).shown()
        ('12.3 ± 0.5', '25%')
        """
        if self.empty or self.value is None:
            return ""
        if isinstance(self.value, str | int):
            return str(self.value)
        spread = "" if self.deviation is None else between + self.text(self.deviation)
        return self.text(self.value) + spread


@dataclass(frozen=True)
class Sheet:
    """Columns, rows, and rows that sum up below a line; the first column names the row."""

    key: str
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[SheetEntry, ...], ...]
    footer: tuple[tuple[SheetEntry, ...], ...] = ()


_TITLES = {
    "par": ("{par} in seconds, mean ± deviation over seeds", 2),
    "npar": ("n{par}: 0 is the virtual best solver, 1 the single best", 3),
    "repar": ("re{par}: {par} relative to the virtual best solver", 3),
    "unsolved": ("Unsolved instances", 1),
    "decision": ("Decision time in microseconds per instance, to select and to learn", 1),
}


def grid_sheet(grid: MetricGrid, par: str, ranked: Ranking | None) -> Sheet:
    """Return a metric's table: a row per scenario, best and second marked, means (and ranks) below."""
    title, decimals = _TITLES[grid.metric]
    percent = grid.metric == "unsolved"
    rows = []
    for i, scenario in enumerate(grid.scenarios):
        best, second = grid.placed(i)
        entries = [SheetEntry(scenario)]
        for j in range(len(grid.selectors)):
            mark: Mark = "best" if j in best else "second" if j in second else ""
            entries.append(SheetEntry(grid.mean[i, j], grid.deviation[i, j], decimals, mark, percent))
        rows.append(tuple(entries))
    footer = []
    if grid.metric != "par":  # seconds of different scenarios have different scales
        means = [_mean(grid.mean[:, j].tolist()) for j in range(len(grid.selectors))]
        footer.append(
            (SheetEntry("mean"), *(SheetEntry(value, None, decimals, "", percent) for value in means))
        )
    if grid.metric == "par" and ranked is not None:
        ranks = dict(zip(ranked.selectors, ranked.average_ranks, strict=True))
        footer.append((SheetEntry("average rank"), *(SheetEntry(ranks.get(name)) for name in grid.selectors)))
    note = "Best in bold, second best underlined; schedules and the hindsight baselines do not compete."
    columns = ("scenario", *map(labelled, grid.selectors))
    return Sheet(_key(grid.metric, par), title.format(par=par), note, columns, tuple(rows), tuple(footer))


def _key(metric: str, par: str) -> str:
    return metric.replace("par", par.lower()) if metric.endswith("par") else metric


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def standings_sheet(standings: Sequence[Standing], par: str) -> Sheet:
    """Return the leaderboard of those that pick once: a row per selector, the lowest mean nPARk first."""
    columns = ("selector", f"mean n{par}", f"median re{par}", "average rank", "wins", "beats SBS",
               "scenarios", "unsolved", "decision, µs")  # fmt: skip
    rows = tuple(
        (
            SheetEntry(one.selector),
            SheetEntry(one.npar_mean, decimals=3),
            SheetEntry(one.repar_median, decimals=3),
            SheetEntry(one.average_rank),
            SheetEntry(one.wins),
            SheetEntry(one.beats_sbs),
            SheetEntry(one.scenarios),
            SheetEntry(one.unsolved, decimals=1, percent=True),
            SheetEntry(one.decision_us, decimals=0),
        )
        for one in standings
        if not is_schedule(one.selector)
    )
    note = (
        "Wins: scenarios on which no other selector is better. Beats SBS: scenarios with a lower "
        f"{par} than the single best solver. Ranks are over scenarios with results of all selectors. "
        "oracle and sbs are hindsight baselines: they know every runtime and do not compete."
    )
    return Sheet("summary", "Selectors over all scenarios", note, columns, rows)


def schedules_sheet(standings: Sequence[Standing], par: str) -> Sheet | None:
    """Return the leaderboard of the schedules, or None if there are none."""
    rows = tuple(
        (
            SheetEntry(labelled(one.selector)),
            SheetEntry(one.npar_mean, decimals=3),
            SheetEntry(one.repar_median, decimals=3),
            SheetEntry(one.beats_sbs),
            SheetEntry(one.scenarios),
            SheetEntry(one.unsolved, decimals=1, percent=True),
            SheetEntry(one.decision_us, decimals=0),
        )
        for one in standings
        if is_schedule(one.selector)
    )
    note = (
        "A schedule may stop an algorithm early and start another within the same cutoff, which selectors "
        f"that pick once cannot; so they are not ranked together. {par} counts all its runs. sbs_pair and "
        "sbs_schedule are fixed in hindsight: the best two, and the best found of three stages. "
        "Decision time is that of all decisions on an instance together."
    )
    columns = ("schedule", f"mean n{par}", f"median re{par}", "beats SBS", "scenarios", "unsolved",
               "decision, µs")  # fmt: skip
    return Sheet("schedules", "Schedules over all scenarios", note, columns, rows) if rows else None


def scenarios_sheet(described: Sequence[dict[str, Any]], par: str) -> Sheet:
    """Return the overview of scenarios; what is not known about one stays empty."""
    columns = ("scenario", "instances", "features", "algorithms", "cutoff, s", "timeouts, mean", "median",
               "min", "max", "SBS", f"SBS {par}", f"VBS {par}", "SBS / VBS")  # fmt: skip
    rows = []
    for one in described:
        shares = (one.get(f"timeouts_{kind}") for kind in ("mean", "median", "min", "max"))
        algorithms, sbs, vbs = one.get("algorithms"), one.get("sbs_par"), one.get("vbs_par")
        rows.append(
            (
                SheetEntry(one["name"]),
                SheetEntry(one.get("instances")),
                SheetEntry(one.get("features")),
                SheetEntry(None if algorithms is None else len(algorithms)),
                SheetEntry(_round(one.get("cutoff"))),
                *(SheetEntry(share, decimals=1, percent=True) for share in shares),
                SheetEntry(one.get("sbs")),
                SheetEntry(sbs),
                SheetEntry(vbs),
                SheetEntry(sbs / vbs if sbs is not None and vbs else None),
            )
        )
    note = "Timeouts: share of runs that end unsolved, over the scenario's algorithms."
    return Sheet("scenarios", "Scenarios", note, columns, tuple(rows))


def _round(value: float | None) -> float | int | None:
    return int(value) if value is not None and value == int(value) else value
