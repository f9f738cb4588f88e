"""How far a report is: methods to override by whoever wants to show it."""

from __future__ import annotations

from tailcut.bench.benchmark import BenchProgress


class ReportProgress(BenchProgress):
    """Hears how a report proceeds, and the runs it may need first."""

    def scenarios_planned(self, count: int) -> None:
        """Hear of how many scenarios numbers will be gathered."""

    def scenario_gathered(self, name: str) -> None:
        """Hear that the numbers of a scenario are there."""

    def figures_planned(self, count: int) -> None:
        """Hear how many figures will be drawn."""

    def figure_drawn(self, name: str) -> None:
        """Hear that a figure was drawn and written."""


SILENT = ReportProgress()
"""Ignores everything."""
