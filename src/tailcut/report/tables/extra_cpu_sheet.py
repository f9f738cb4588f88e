"""The table of extra CPU time: what runs beside the answers cost on each scenario, and what they save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tailcut.bench.labels import labelled
from tailcut.report.numbers.standings import MetricGrid
from tailcut.report.tables.sheet import Sheet, SheetEntry


def extra_cpu_sheet(
    grids: Mapping[str, MetricGrid], described: Sequence[dict[str, Any]], par: str
) -> Sheet | None:
    """Return a row per scenario and selector with extra CPU time, or None if there is none."""
    rows = tuple(_rows(grids, {one["name"]: one for one in described}))
    columns = ("scenario", "instances", "algorithms", "selector", "extra CPU", f"{par} saved", f"n{par}",
               "difference")  # fmt: skip
    note = (
        "Extra CPU: the time of all runs beside the answers, as a share of theirs. Saved: how much lower "
        f"{par} of the answers is than that of the same selector without such runs; difference: the same "
        f"of n{par}. Both are empty where it was not run without."
    )
    return Sheet("extra-cpu", "What extra CPU time costs and saves", note, columns, rows) if rows else None


def _rows(
    grids: Mapping[str, MetricGrid], described: Mapping[str, dict[str, Any]]
) -> Iterator[tuple[SheetEntry, ...]]:
    par, npar, extra = grids["par"], grids["npar"].mean, grids["extra_cpu"].mean
    place = {label: j for j, label in enumerate(par.selectors)}
    for i, scenario in enumerate(par.scenarios):
        known = described.get(scenario, {})
        for label, j in place.items():
            if not extra[i, j] > 0.0:  # nothing, or nan where it was not run
                continue
            without = place.get(label.partition("@")[0])
            saved = None if without is None else 1.0 - float(par.mean[i, j] / par.mean[i, without])
            difference = None if without is None else float(npar[i, j] - npar[i, without])
            yield (
                SheetEntry(scenario),
                SheetEntry(known.get("instances")),
                SheetEntry(len(known["algorithms"]) if "algorithms" in known else None),
                SheetEntry(labelled(label)),
                SheetEntry(float(extra[i, j]), decimals=1, percent=True),
                SheetEntry(saved, decimals=1, percent=True),
                SheetEntry(float(npar[i, j]), decimals=3),
                SheetEntry(difference, decimals=3),
            )
