"""The table of pairwise tests: who differs from whom, corrected for how many pairs there are."""

from __future__ import annotations

from tailcut.bench.labels import labelled
from tailcut.bench.ranks import Ranking
from tailcut.report.tables.sheet import Sheet, SheetEntry

MOST = 40
"""Pairs shown: those of the best ranked first."""


def pairs_sheet(ranked: Ranking | None, par: str) -> Sheet | None:
    """Return Wilcoxon's tests, or None if there is nothing to compare."""
    if ranked is None:
        return None
    rows = tuple(
        (
            SheetEntry(f"{labelled(pair.first)} against {labelled(pair.second)}"),
            SheetEntry(pair.wins),
            SheetEntry(pair.losses),
            SheetEntry(pair.p, decimals=4),
            SheetEntry(pair.p_holm, decimals=4),
            SheetEntry("yes" if pair.p_holm <= ranked.alpha else "no"),
        )
        for pair in ranked.pairs[:MOST]
    )
    note = (
        f"Wilcoxon's signed-rank test of mean {par} over {len(ranked.scenarios)} scenarios, two-sided, with "
        f"Holm's correction for all {len(ranked.pairs)} pairs."
    )
    if len(ranked.pairs) > MOST:
        note += f" The first {MOST} pairs by average rank are shown."
    columns = ("pair", "first better on", "worse on", "p", "p corrected", f"differ at {ranked.alpha:g}")
    return Sheet("wilcoxon", "Pairwise comparison", note, columns, rows)
