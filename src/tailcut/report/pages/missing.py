"""What a report leaves out, in words: failed and missing cells, older results, notes on scenarios."""

from __future__ import annotations

from collections.abc import Sequence

from tailcut.report.numbers.gather import Report
from tailcut.report.numbers.results import CellRow

_MOST = 200
"""So many lines of one kind are listed; of more, only the number is given."""


def left_out(report: Report) -> list[str]:
    """Return one sentence for each thing that is not in the report; empty if nothing is missing."""
    results = report.results
    lines = [_failure(cell) for cell in results.failed]
    lines += [
        f"Missing: {scenario}, {selector}: no result for {_seeds(seeds)}."
        for scenario, selector, seeds in results.missing()
    ]
    if results.superseded:
        lines.append(_superseded(results.superseded, results.ambiguous))
    for penalty, count in sorted(results.other_penalties.items()):
        lines.append(f"Left out: {count} results with PAR{penalty:g}; this report is about {results.par}.")
    notes: dict[str, list[str]] = {}
    for part in report.scenarios:
        for note in part.notes:
            notes.setdefault(note, []).append(part.name)
    lines += [f"{', '.join(names)}: {note}." for note, names in notes.items()]
    if report.ranked is None:
        lines.append(
            "No ranks and no critical-difference diagram: they need two scenarios with all selectors."
        )
    elif dropped := [name for name in results.scenarios if name not in report.ranked.scenarios]:
        lines.append(f"Ranks leave out {', '.join(dropped)}: not every selector has a result there.")
    if report.explained is None:
        lines.append(
            "No decisions explained: that needs a scenario (--aslib) and a selector that predicts runtimes."
        )
    if not report.sweeps:
        lines.append("No sensitivity analysis: the file holds no sweep (`tailcut bench --plan sensitivity`).")
    return _shortened([*lines, *report.notes])


def _failure(cell: CellRow) -> str:
    lines = (cell.error or "").strip().splitlines()
    return (
        f"Failed: {cell.scenario}, {cell.selector}, seed {cell.seed}: {lines[-1] if lines else 'no reason'}"
    )


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {', '.join(map(str, seeds))}"


def _superseded(superseded: int, ambiguous: int) -> str:
    text = f"Left out: {superseded} results that a later run computed again, with other code or data."
    if not ambiguous:
        return text
    return f"{text} Of {ambiguous} the file does not say which is the later: start a fresh result file."


def _shortened(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST:
        return lines
    return [*lines[:_MOST], f"… and {len(lines) - _MOST} more."]
