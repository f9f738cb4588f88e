"""The progress of a report: methods to override."""

from __future__ import annotations

from tailcut.bench.benchmark import BenchProgress


class ReportProgress(BenchProgress):
    """Is called as a report proceeds, including the runs it may need first."""

    def scenarios_planned(self, count: int) -> None:
        """Handle the number of scenarios whose numbers will be gathered."""

    def scenario_gathered(self, name: str) -> None:
        """Handle a scenario whose numbers are ready."""

    def figures_planned(self, count: int) -> None:
        """Handle the number of figures to draw."""

    def figure_drawn(self, name: str) -> None:
        """Handle a figure that was written."""


SILENT = ReportProgress()
"""Ignores everything."""
