"""How a program observes a stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailcut.journal.past_runs import WarmStart
from tailcut.live.instance_record import InstanceRecord, RunRecord

if TYPE_CHECKING:
    from tailcut.live.totals import Totals


class StreamObserver:
    """Is called when something happens in a stream; override the methods you need.

    The thread that runs the stream calls all methods and waits for them.
    """

    def solver_added(self, solver: str) -> None:
        """Handle a solver of the portfolio that the state file did not have."""

    def solver_removed(self, solver: str) -> None:
        """Handle a solver of the state file that is no longer in the portfolio."""

    def solver_put_aside(self, solver: str, words: str) -> None:
        """Handle a solver that is set aside, now or since an earlier call, and the reason."""

    def instance_again(self, instance: str, words: str) -> None:
        """Handle a completed instance without an answer that is run again, and the reason."""

    def warm_started(self, report: WarmStart) -> None:
        """Handle the recorded runs that were learned before the stream began, and mismatches."""

    def instance_changed(self, instance: str) -> None:
        """Handle a completed instance whose file has changed: it is run again."""

    def stream_started(self, totals: Totals, n_instances: int | None) -> None:
        """Handle the earlier totals and the total number of instances, None if unknown.

        The stream keeps the totals up to date, each time before it calls a method of this class.
        """

    def outputs_missing(self, count: int, folder: Path) -> None:
        """Handle the number of instances answered earlier without keeping the solver's output."""

    def features_started(self, record: InstanceRecord) -> None:
        """Handle the start of computing an instance's features."""

    def features_ended(self, record: InstanceRecord) -> None:
        """Handle features that were computed and stored before anything was decided."""

    def run_started(self, record: InstanceRecord, solver: str, budget: float) -> None:
        """Handle the start of a solver on an instance, with its budget in seconds."""

    def run_ended(self, record: InstanceRecord, run: RunRecord) -> None:
        """Handle the end of a run, which is in the journal."""

    def extra_started(self, record: InstanceRecord, solver: str, budget: float) -> None:
        """Handle the start of an extra run that measures an instance."""

    def extra_ended(self, record: InstanceRecord, run: RunRecord) -> None:
        """Handle the end of an extra run."""

    def instance_over(self, record: InstanceRecord) -> None:
        """Handle a completed instance, solved or not; its line is in the file of answers."""
