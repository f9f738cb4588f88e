"""How a program hears what happens in a stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailcut.journal.warm_project import WarmStart
from tailcut.live.instance_record import InstanceRecord, RunRecord

if TYPE_CHECKING:
    from tailcut.live.totals import Totals


class StreamObserver:
    """Is called when something happens in a stream: override what you want to know, the rest does nothing.

    All methods are called by the thread that runs the stream, which waits for them.
    """

    def solver_added(self, solver: str) -> None:
        """Hear that the portfolio has a solver that the state file did not have."""

    def solver_removed(self, solver: str) -> None:
        """Hear that a solver of the state file is no longer in the portfolio."""

    def solver_put_aside(self, solver: str, words: str) -> None:
        """Hear that a solver is not used, from now on or since an earlier call, and why."""

    def instance_again(self, instance: str, words: str) -> None:
        """Hear that an instance that was over without an answer is run again, and why."""

    def warm_started(self, report: WarmStart) -> None:
        """Hear what was learned about recorded runs before the stream began, and what was left over."""

    def instance_changed(self, instance: str) -> None:
        """Hear that the file of an instance that was over has changed: it is run again."""

    def stream_started(self, totals: Totals, n_instances: int | None) -> None:
        """Hear what was done before, and how many instances there will be in all; None if that is open.

        The stream keeps the totals up to date, each time before it calls a method of this class.
        """

    def outputs_missing(self, count: int, folder: Path) -> None:
        """Hear that so many instances were answered before without keeping what the solver printed."""

    def features_started(self, record: InstanceRecord) -> None:
        """Hear that the features of an instance are being computed."""

    def features_ended(self, record: InstanceRecord) -> None:
        """Hear that the features of an instance were computed and kept before anything was decided."""

    def run_started(self, record: InstanceRecord, solver: str, budget: float) -> None:
        """Hear that a solver was started on an instance, with so many seconds."""

    def run_ended(self, record: InstanceRecord, run: RunRecord) -> None:
        """Hear how a run ended; everything about it is in the journal."""

    def extra_started(self, record: InstanceRecord, solver: str, budget: float) -> None:
        """Hear that a further solver was started on an instance that is measured."""

    def extra_ended(self, record: InstanceRecord, run: RunRecord) -> None:
        """Hear how such a run ended."""

    def lesson_started(self, record: InstanceRecord, solver: str, budget: float) -> None:
        """Hear that a solver was started on an instance that is over, to learn from it."""

    def lesson_ended(self, record: InstanceRecord, run: RunRecord, *, learned: bool) -> None:
        """Hear how such a run ended, and whether it was learned; if not, it was given up too early."""

    def instance_over(self, record: InstanceRecord) -> None:
        """Hear that an instance is over, solved or not; its line is in the file of answers."""
